"""Search with a model: applies constraints to its step, a search method, and final penalties."""

from keras import ops

from keras_bahdanau.search.beam import beam_search
from keras_bahdanau.search.constraints import apply_constraints, constraints_of, limits_of
from keras_bahdanau.search.ctc import add_ctc
from keras_bahdanau.search.result import add_coverage, best_first
from keras_bahdanau.search.search_options import require_ctc
from keras_bahdanau.search.sequential import greedy_search, sample
from keras_bahdanau.search.stepping import RowStep, take_rows


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

    `model` is a `StepModel`, such as a `Seq2Seq`, and `features` is its input: for text, int32
    `(batch, source_time)`, right-padded with 0. The options limit the length of each target, based
    on the length of its source. Pass `time` to get buffers of a static size. With `drop_ended`,
    steps skip sources whose hypotheses have all ended, in a graph with a dynamic batch size. This
    is faster, but the rounding of a row then depends on the other rows. See `search` for the other
    arguments and the result.
    """
    require_ctc(model, options)
    prepared = model.encode(features)
    mask = prepared.mask  # (batch, source_time)
    limits = limits_of(ops.sum(ops.cast(mask, "int32"), axis=1), options, prefix, time)
    if time is None:
        time = ops.max(limits, initial=0)
    read = prepared._replace(ctc_log_probs=())  # the fields that a step reads

    def for_rows(rows):
        row_prepared = take_rows(read, rows)
        return lambda tokens, state: model.decode_step(tokens, state, row_prepared)

    return search(
        RowStep(for_rows) if drop_ended else for_rows(None),
        model.initial_state(prepared, time),
        limits,
        options,
        start=start,
        end=end,
        time=time,
        source_time=ops.shape(mask)[1],
        source_mask=mask,
        prefix=prefix,
        uniforms=uniforms,
        ctc_log_probs=prepared.ctc_log_probs if options.ctc_weight else None,
        symbols=symbols,
        unwritten=unwritten,
        visit=visit,
    )


def search(
    step,
    state,
    limits,
    options,
    *,
    start,
    end,
    time,
    source_time,
    source_mask=None,
    prefix=None,
    uniforms=None,
    ctc_log_probs=None,
    symbols=(),
    unwritten=(),
    visit=None,
):
    """Search for the best hypotheses, or draw them at random, depending on the options.

    Returns a `SearchResult` with `options.beam_width` hypotheses per source.

    Args:
        step: Function `(tokens, state) -> (log_probs, weights, state)` with
            tokens `(batch, [beam])`, log_probs `(batch, [beam,] vocabulary)`
            and weights `(batch, [beam,] source_time)`.
        state: Initial state of `step`: a structure of tensors `(batch, ...)`.
        limits: Int32 tensor `(batch,)`, maximum number of tokens in each row; 0 for an empty
            source.
        options: `SearchOptions`.
        start: Integer, the token before every target.
        end: Integer, the token that ends a hypothesis.
        time: Integer or int32 scalar, length of the buffers; at least `max(limits)`.
        source_time: Integer or int32 scalar, size of the last axis of the weights.
        source_mask: Bool tensor `(batch, source_time)`, True for real source tokens; used by the
            coverage penalty. By default, all tokens are real.
        prefix: Int32 tensor `(batch, prefix_time)`, right-padded with 0: the beginning of each
            hypothesis.
        uniforms: Float tensor `(batch, options.beam_width, time)`, or longer, of random numbers in
            [0, 1) for draws. By default, they are generated from `options.seed`.
        ctc_log_probs: Float32 tensor `(batch, source_time, vocabulary)` of CTC log-probabilities,
            with id 0 for the blank. Required for `options.ctc_weight`.
        symbols: Sequence of integers, tokens that are allowed only with `options.write_symbols`.
        unwritten: Sequence of integers, tokens that are forbidden outside a prefix, such as
            padding.
        visit: Function as in `beam_search`, which is then also used for a beam of 1. Ignored for
            random draws.
    """
    if options.ctc_weight:
        step, state = add_ctc(step, state, ctc_log_probs, source_mask, options.ctc_weight, end)
    tokens = {"prefix": prefix, "symbols": symbols}
    constraints = constraints_of(options, end=end, time=time, **tokens)
    if constraints or len(unwritten):
        batch = ops.shape(limits)[0]
        step, state = apply_constraints(step, state, constraints, batch, unwritten)
    shared = {"start": start, "end": end, "time": time, "source_time": source_time}
    if options.random:
        result = sample(step, state, limits, options, uniforms=uniforms, **shared)
    elif options.beam_width == 1 and visit is None:
        result = greedy_search(step, state, limits, options, **shared)
    else:
        result = beam_search(step, state, limits, options, visit=visit, **shared)
    if options.coverage_penalty:
        result = add_coverage(result, options.coverage_penalty, source_mask)
        result = result if options.random else best_first(result)
    return result
