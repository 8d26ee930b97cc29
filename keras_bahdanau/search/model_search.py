"""Search of a model: from the features of a source to hypotheses, all of ids."""

from keras import ops

from keras_bahdanau.search.constraints import limits_of
from keras_bahdanau.search.dispatch import search
from keras_bahdanau.search.search_options import require_ctc
from keras_bahdanau.search.stepping import RowStep, rows_of


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
    unwritten=(),
    visit=None,
    drop_ended=False,
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
        unwritten: Likewise.
        visit: Function of each state of a beam search, outside of a graph: see `beam_search`.
        drop_ended: Bool. True if sources that have ended take no part in further steps, in a
            graph for batches of any size: faster, but how a row is rounded depends on the others.

    Returns:
        `SearchResult` with a beam axis of `options.beam_width`.
    """
    prepared = model.encode(features)
    mask = model.source_mask(prepared)  # (batch, source_time)
    source_lengths = ops.sum(ops.cast(mask, "int32"), axis=1)
    limits = limits_of(source_lengths, options, prefix, time)
    return _search_prepared(
        model,
        prepared,
        limits,
        options=options,
        start=start,
        end=end,
        time=ops.max(limits, initial=0) if time is None else time,
        source_time=ops.shape(mask)[1],
        source_mask=mask,
        prefix=prefix,
        uniforms=uniforms,
        symbols=symbols,
        unwritten=unwritten,
        visit=visit,
        drop_ended=drop_ended,
    )


def _search_prepared(model, prepared, limits, *, options, drop_ended, **settings):
    """Search with the steps of a model."""

    def of_rows(rows):
        memory = rows_of(prepared, rows)
        return lambda tokens, state: model.decode_distribution(tokens, state, memory)

    require_ctc(model, options)
    of_ctc = model.ctc_log_probs(prepared) if options.ctc_weight else None
    state = model.initial_state(prepared)
    if hasattr(model, "shortened"):  # another model of the protocol may have nothing to shorten
        state = model.shortened(state, settings["time"])
    step = RowStep(of_rows) if drop_ended else of_rows(None)
    return search(step, state, limits, options, ctc_log_probs=of_ctc, **settings)
