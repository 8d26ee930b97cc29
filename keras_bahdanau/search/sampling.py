"""Sampling: each token is drawn at random, from a distribution with its tail cut off."""

import keras
from keras import ops

from keras_bahdanau.layers.attention.normalizers import first_marked
from keras_bahdanau.layers.distribution import FORBIDDEN
from keras_bahdanau.search.result import SearchResult, normalized, spread
from keras_bahdanau.search.sequential import sequential_search
from keras_bahdanau.search.stepping import rows_of


def sample(step, state, limits, options, *, start, end, time, source_time, uniforms=None):
    """Draw `options.beam_width` translations of each sentence, one without the others.

    They come as they are drawn, not best first, and their scores are those
    that the model gives them: `temperature`, `top_k` and `top_p` decide what
    is drawn, and change no score.

    Args:
        step: Function `(tokens, state) -> (log_probs, weights, state)` with
            tokens `(batch, beam)`, log_probs `(batch, beam, vocabulary)` and
            weights `(batch, beam, source_time)`.
        state: Its first state: a structure of tensors `(batch, ...)`.
        limits: Int32 tensor `(batch,)`: the most tokens of each row; 0 where
            there is nothing to translate.
        options: `SearchOptions`.
        start: Integer, the token that every target begins after.
        end: Integer, the token that ends a hypothesis.
        time: Integer or int32 scalar, length of the buffers: `max(limits)` or more.
        source_time: Integer or int32 scalar, last axis of the weights.
        uniforms: Float tensor `(batch, options.beam_width, time)` in [0, 1), or
            longer: one number for each draw. From `options.seed` if left out.

    Returns:
        `SearchResult` with a beam axis of `options.beam_width`.
    """
    draws = options.beam_width
    if uniforms is None:
        uniforms = keras.random.uniform((ops.shape(limits)[0], draws, time), seed=options.seed)
    uniforms = ops.transpose(uniforms, (2, 0, 1))  # -> (time, batch, draws)

    def choose(distribution, t, rows):
        now = ops.reshape(ops.take(uniforms, t, axis=0), (-1, draws))  # -> (batch, draws)
        return draw(distribution.log_probs, rows_of(now, rows), options)

    of_draws = ops.repeat(ops.expand_dims(limits, axis=1), draws, axis=1)  # -> (batch, draws)
    places = {"start": start, "end": end, "time": time, "source_time": source_time}
    result = sequential_search(step, choose, spread(state, draws), of_draws, **places)
    of_tokens = ops.transpose(result.of_tokens, (1, 2, 0, 3))  # -> (batch, draws, time, 2)
    return SearchResult(
        ids=ops.transpose(result.ids, (1, 2, 0)),  # -> (batch, draws, time)
        lengths=result.lengths,
        scores=normalized(result.log_probs, result.lengths, options),
        alignment=ops.transpose(result.alignment, (1, 2, 0, 3)),
        finished=result.finished,
        token_log_probs=of_tokens[..., 0],
        token_entropies=of_tokens[..., 1],
    )


def draw(log_probs, uniforms, options):
    """Draw one token from each distribution.

    Args:
        log_probs: Float32 tensor `(..., vocabulary)`.
        uniforms: Float tensor `(...)` in [0, 1): the share of probability, most
            probable token first, that lies before what is drawn.
        options: `SearchOptions`.

    Returns:
        (tokens int32 `(...)`, their `log_probs` `(...)`).
    """
    # (..., ranks); tokens (vocabulary,) where nothing is cut
    ranked, tokens = _ranked(log_probs, options)
    odds = _tempered(ranked, options.temperature or 1.0)
    if options.top_p is not None:
        odds = _nucleus(odds, options.top_p)
    chosen = _drawn(odds, uniforms)  # bool (..., ranks), True at one
    tokens = ops.sum(ops.where(chosen, ops.cast(tokens, "int32"), 0), axis=-1)  # -> (...)
    return tokens, ops.sum(ops.where(chosen, ranked, 0.0), axis=-1)


def _ranked(log_probs, options):
    """The `top_k` most probable tokens in order, or all; in any order if no option needs one."""
    vocabulary = log_probs.shape[-1]
    if options.top_k is None and options.top_p is None:
        return log_probs, ops.arange(vocabulary, dtype="int32")
    return ops.top_k(log_probs, min(options.top_k or vocabulary, vocabulary))


def _tempered(log_probs, temperature):
    """p^(1/temperature) in parts of the highest; 0 for what a constraint forbids."""
    highest = ops.max(log_probs, axis=-1, keepdims=True)
    odds = ops.exp((log_probs - highest) / temperature)
    return ops.where(ops.greater(log_probs, FORBIDDEN / 2), odds, 0.0)


def _nucleus(odds, share):
    """The fewest of the odds, which fall, that hold a share of their sum; 0 for the others."""
    heights = ops.cumsum(odds, axis=-1)
    # the sum of those before, against a share (..., 1) of the whole sum
    return ops.where(ops.less(heights - odds, share * heights[..., -1:]), odds, 0.0)


def _drawn(odds, uniforms):
    """Bool like `odds`, True at the first that lifts their sum above the share `uniforms` of it."""
    heights = ops.cumsum(odds, axis=-1)  # -> (..., vocabulary), rising
    level = ops.expand_dims(uniforms, axis=-1) * heights[..., -1:]  # -> (..., 1)
    passed = ops.logical_and(ops.greater(heights, level), ops.greater(odds, 0))
    first = ops.cast(first_marked(passed), "bool")
    # the most probable one, should rounding have let none pass
    _, place = ops.top_k(odds, 1)  # -> (..., 1)
    likeliest = ops.equal(ops.arange(odds.shape[-1]), place)
    return ops.where(ops.any(passed, axis=-1, keepdims=True), first, likeliest)
