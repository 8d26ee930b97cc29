"""One search for all options: constraints around the step, a method, penalties at the end."""

from keras import ops

from keras_bahdanau.search.beam import beam_search
from keras_bahdanau.search.constraints import constrained, constraints_of
from keras_bahdanau.search.ctc import with_ctc
from keras_bahdanau.search.greedy import greedy_search
from keras_bahdanau.search.result import add_coverage, best_first
from keras_bahdanau.search.sampling import sample


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
    """Search, or draw at random, as the options ask.

    Args:
        step: Function `(tokens, state) -> (log_probs, weights, state)` with
            tokens `(batch, [beam])`, log_probs `(batch, [beam,] vocabulary)`
            and weights `(batch, [beam,] source_time)`.
        state: Its first state: a structure of tensors `(batch, ...)`.
        limits: Int32 tensor `(batch,)`: the most tokens of each row; 0 where
            there is nothing to translate.
        options: `SearchOptions`.
        start: Integer, the token that every target begins after.
        end: Integer, the token that ends a hypothesis.
        time: Integer or int32 scalar, length of the buffers: `max(limits)` or more.
        source_time: Integer or int32 scalar, last axis of the weights.
        source_mask: Bool tensor `(batch, source_time)`, which source tokens
            are real: all, for the coverage penalty, if left out.
        prefix: Int32 tensor `(batch, prefix_time)`, right-padded with 0: what
            each hypothesis begins with.
        uniforms: Float tensor `(batch, options.beam_width, time)` in [0, 1), or
            longer: what draws come from. From `options.seed` if left out.
        ctc_log_probs: Float32 tensor `(batch, source_time, vocabulary)`: log-probabilities of
            CTC, whose blank is id 0, for `options.ctc_weight`.
        symbols: Sequence of integers, the tokens that are allowed with
            `options.write_symbols` alone.
        unwritten: Sequence of integers, tokens that no hypothesis has, such as those of padding
            and start, unless it begins with them.
        visit: As in `beam_search`, which then runs for a beam of 1, too; draws at random do not
            call it.

    Returns:
        `SearchResult` with a beam axis of `options.beam_width`.
    """
    if options.ctc_weight:
        step, state = with_ctc(step, state, ctc_log_probs, source_mask, options.ctc_weight, end)
    tokens = {"prefix": prefix, "symbols": symbols}
    constraints = constraints_of(options, end=end, time=time, **tokens)
    if constraints or len(unwritten):
        batch = ops.shape(limits)[0]
        step, state = constrained(step, state, constraints, batch, unwritten)
    places = {"start": start, "end": end, "time": time, "source_time": source_time}
    if options.random:
        result = sample(step, state, limits, options, uniforms=uniforms, **places)
    elif options.beam_width == 1 and visit is None:
        result = greedy_search(step, state, limits, options, **places)
    else:
        result = beam_search(step, state, limits, options, visit=visit, **places)
    if options.coverage_penalty:
        result = add_coverage(result, options.coverage_penalty, source_mask)
        result = result if options.random else best_first(result)
    return result
