"""Greedy search and sampling, which choose one token after the other."""

import functools
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bahdanau.layers.attention.normalizers import first_marked
from keras_bahdanau.layers.distribution import FORBIDDEN, as_distribution
from keras_bahdanau.search.result import SearchResult, best_tokens, normalized, spread, write_row
from keras_bahdanau.search.stepping import for_rows, run_steps, take_rows


class SequentialState(NamedTuple):
    """State of the loop over independent hypotheses `(batch,)` or draws `(batch, draws)`."""

    t: Any  # int32 scalar, the step
    tokens: Any  # int32 (batch, [draws]), the last token
    alive: Any  # bool (batch, [draws]), still growing
    finished: Any  # bool (batch, [draws]), ended by the end token
    lengths: Any  # int32 (batch, [draws])
    log_probs: Any  # float32 (batch, [draws]), log p of the whole hypothesis
    ids: Any  # int32 (time, batch, [draws])
    alignment: Any  # float32 (time, batch, [draws,] source_time)
    token_stats: Any  # float32 (time, batch, [draws,] 2): log p of a token, entropy of its step
    model: Any  # the step function's own state


def sequential_search(step, choose, state, limits, *, start, end, time, source_time):
    """Run steps until every hypothesis has ended or reached its limit.

    Returns the last `SequentialState`. `limits` is int32 `(batch, [draws])`. `choose` is a function
    `(distribution, t, rows) -> (tokens, log_probs)` for step t, with `rows` as in `RowStep`.
    """
    shape = ops.shape(limits)
    alive = ops.greater(limits, 0)
    first = SequentialState(
        t=ops.zeros((), "int32"),
        tokens=ops.full(shape, start, "int32"),
        alive=alive,
        finished=ops.logical_not(alive),
        lengths=ops.zeros(shape, "int32"),
        log_probs=ops.zeros(shape, "float32"),
        ids=ops.zeros((time, *shape), "int32"),
        alignment=ops.zeros((time, *shape, source_time), "float32"),
        token_stats=ops.zeros((time, *shape, 2), "float32"),
        model=state,
    )

    def make_advance(rows):
        row_step, row_limits = for_rows(step, rows), take_rows(limits, rows)
        row_choose = functools.partial(choose, rows=rows)
        return lambda state: _advance(row_step, row_choose, row_limits, state, end)

    return run_steps(make_advance, first, time, step)


def _advance(step, choose, limits, state, end):
    """Extend the hypotheses that are still alive by one token."""
    # output (batch, [draws,] vocabulary), weights (batch, [draws,] source_time)
    output, weights, model = step(state.tokens, state.model)
    distribution = as_distribution(output)
    real, counts = ops.cast(state.alive, "int32"), ops.cast(state.alive, "float32")
    tokens, log_probs = choose(distribution, state.t)
    tokens, log_probs = tokens * real, log_probs * counts
    ended = ops.logical_and(state.alive, ops.equal(tokens, end))
    below_limit = ops.less(state.t + 1, limits)
    # times (batch, [draws,] 1)
    weights = weights * ops.expand_dims(counts, axis=-1)
    token_stat = ops.stack([log_probs, distribution.entropy * counts], axis=-1)
    return SequentialState(
        t=state.t + 1,
        tokens=tokens,
        alive=ops.logical_and(ops.logical_and(state.alive, below_limit), ops.logical_not(ended)),
        finished=ops.logical_or(state.finished, ended),
        lengths=state.lengths + real,
        log_probs=state.log_probs + log_probs,
        ids=write_row(state.ids, state.t, tokens),
        alignment=write_row(state.alignment, state.t, weights),
        token_stats=write_row(state.token_stats, state.t, token_stat),
        model=model,
    )


def greedy_search(step, state, limits, options, *, start, end, time, source_time):
    """Choose the most probable token at each step: a `SearchResult` with a beam of 1."""
    shared = {"start": start, "end": end, "time": time, "source_time": source_time}
    result = sequential_search(step, _most_probable, state, limits, **shared)
    scores = normalized(result.log_probs, result.lengths, options)
    # (time, batch, 2) -> (batch, 1, time, 2)
    token_stats = ops.expand_dims(ops.transpose(result.token_stats, (1, 0, 2)), axis=1)
    return SearchResult(
        ids=ops.expand_dims(ops.transpose(result.ids), axis=1),  # (time, batch) -> (batch, 1, time)
        lengths=ops.expand_dims(result.lengths, axis=1),
        scores=ops.expand_dims(scores, axis=1),
        # (time, batch, source_time) -> (batch, 1, time, source_time)
        alignment=ops.expand_dims(ops.transpose(result.alignment, (1, 0, 2)), axis=1),
        finished=ops.expand_dims(result.finished, axis=1),
        token_log_probs=token_stats[..., 0],
        token_entropies=token_stats[..., 1],
    )


def _most_probable(distribution, t, rows):
    best, tokens = best_tokens(distribution, 1)  # `ops.argmax` compares bits, which LiteRT can't
    return ops.squeeze(tokens, axis=-1), ops.squeeze(best, axis=-1)  # (batch, 1) -> (batch,), each


def sample(step, state, limits, options, *, start, end, time, source_time, uniforms=None):
    """Draw `options.beam_width` independent translations of each sentence.

    Returns a `SearchResult`. `temperature`, `top_k` and `top_p` change the draws, but not the
    scores. See `search` for the arguments.
    """
    draws = options.beam_width
    if uniforms is None:
        uniforms = keras.random.uniform((ops.shape(limits)[0], draws, time), seed=options.seed)
    uniforms = ops.transpose(uniforms, (2, 0, 1))  # -> (time, batch, draws)

    def choose(distribution, t, rows):
        now = ops.reshape(ops.take(uniforms, t, axis=0), (-1, draws))  # -> (batch, draws)
        return draw(distribution.log_probs, take_rows(now, rows), options)

    draw_limits = ops.repeat(ops.expand_dims(limits, axis=1), draws, axis=1)  # -> (batch, draws)
    shared = {"start": start, "end": end, "time": time, "source_time": source_time}
    result = sequential_search(step, choose, spread(state, draws), draw_limits, **shared)
    token_stats = ops.transpose(result.token_stats, (1, 2, 0, 3))  # -> (batch, draws, time, 2)
    return SearchResult(
        ids=ops.transpose(result.ids, (1, 2, 0)),  # -> (batch, draws, time)
        lengths=result.lengths,
        scores=normalized(result.log_probs, result.lengths, options),
        alignment=ops.transpose(result.alignment, (1, 2, 0, 3)),
        finished=result.finished,
        token_log_probs=token_stats[..., 0],
        token_entropies=token_stats[..., 1],
    )


def draw(log_probs, uniforms, options):
    """Draw a token from each distribution by inversion of its cumulative probabilities.

    `uniforms` are random numbers in [0, 1). Returns (int32 tokens `(...)`, log-probabilities).
    """
    # (..., ranks); tokens is (vocabulary,) if no token is excluded
    ranked, tokens = _ranked(log_probs, options)
    odds = _tempered(ranked, options.temperature or 1.0)
    if options.top_p is not None:
        odds = _nucleus(odds, options.top_p)
    chosen = _drawn(odds, uniforms)  # bool (..., ranks), True at one token
    tokens = ops.sum(ops.where(chosen, ops.cast(tokens, "int32"), 0), axis=-1)  # -> (...)
    return tokens, ops.sum(ops.where(chosen, ranked, 0.0), axis=-1)


def _ranked(log_probs, options):
    """Return the `top_k` most probable tokens, or all, as (log-probabilities, tokens).

    They are sorted, most probable first, only if `top_k` or `top_p` is set.
    """
    vocabulary = log_probs.shape[-1]
    if options.top_k is None and options.top_p is None:
        return log_probs, ops.arange(vocabulary, dtype="int32")
    return ops.top_k(log_probs, min(options.top_k or vocabulary, vocabulary))


def _tempered(log_probs, temperature):
    """Return p^(1/temperature) relative to its maximum; 0 for tokens that a constraint forbids."""
    highest = ops.max(log_probs, axis=-1, keepdims=True)
    odds = ops.exp((log_probs - highest) / temperature)
    return ops.where(ops.greater(log_probs, FORBIDDEN / 2), odds, 0.0)


def _nucleus(odds, share):
    """Apply a nucleus (top-p) filter to sorted odds.

    Keeps the shortest prefix that sums to the fraction `share`, and sets the rest to 0.
    """
    heights = ops.cumsum(odds, axis=-1)
    # compare the sum of the preceding odds with a fraction (..., 1) of the total
    return ops.where(ops.less(heights - odds, share * heights[..., -1:]), odds, 0.0)


def _drawn(odds, uniforms):
    """Return bool like `odds`, True where the cumulative sum first exceeds `uniforms` * total."""
    heights = ops.cumsum(odds, axis=-1)  # -> (..., vocabulary), rising
    level = ops.expand_dims(uniforms, axis=-1) * heights[..., -1:]  # -> (..., 1)
    passed = ops.logical_and(ops.greater(heights, level), ops.greater(odds, 0))
    first = ops.cast(first_marked(passed), "bool")
    # use the most probable token if rounding makes none exceed the level
    _, token = ops.top_k(odds, 1)  # -> (..., 1)
    likeliest = ops.equal(ops.arange(odds.shape[-1]), token)
    return ops.where(ops.any(passed, axis=-1, keepdims=True), first, likeliest)
