"""Search of a model: from the features of a source to hypotheses, all of ids."""

from keras import ops

from keras_bahdanau.search.constraints import limits_of
from keras_bahdanau.search.dispatch import search


def search_model(
    model,
    features,
    options,
    *,
    start,
    end,
    time=None,
    prefix=None,
    uniforms=None,
    symbols=(),
    visit=None,
):
    """Search for the targets of a model that has no vocabulary, such as a migrated one.

    ```python
    options = kb.SearchOptions(beam_width=5, max_length=50)
    result = kb.search.search_model(model, source, options, start=1, end=2)
    print(result.ids[:, 0], result.scores[:, 0])  # the best hypothesis of each source
    ```

    Args:
        model: `Seq2Seq`, or another of its step protocol.
        features: What the model's encoder takes: of text int32 `(batch, source_time)`, ids that
            are right-padded with 0.
        options: `SearchOptions`, whose lengths bound each target by its own source.
        start: Integer, the token that every target begins after.
        end: Integer, the token that ends a hypothesis.
        time: Integer, the length of the buffers where it must be static.
        prefix: Int32 tensor `(batch, prefix_time)`, right-padded with 0: the beginning of each
            hypothesis.
        uniforms: Float tensor `(batch, beam_width, max_length)` in [0, 1): the source of draws at
            random; the seed's when left out.
        symbols: As in `search`.
        visit: Function of each state of a beam search, outside of a graph: see `beam_search`.

    Returns:
        `SearchResult` with a beam axis of `options.beam_width`.
    """
    prepared = model.encode(features)
    mask = model.source_mask(prepared)  # (batch, source_time)
    limits = limits_of(mask, options, prefix, time)

    def step(tokens, state):
        return model.decode_step(tokens, state, prepared)

    return search(
        step,
        model.initial_state(prepared),
        limits,
        options,
        start=start,
        end=end,
        time=ops.max(limits, initial=0) if time is None else time,
        source_time=ops.shape(mask)[1],
        source_mask=mask,
        prefix=prefix,
        uniforms=uniforms,
        ctc_log_probs=model.ctc_log_probs(prepared) if options.ctc_weight else None,
        symbols=symbols,
        visit=visit,
    )
