"""Greedy search: the most probable next token, until the end token."""

from typing import Any, NamedTuple

from keras import ops

from keras_bahdanau.search.result import SearchResult, normalized, write_row


class GreedyState(NamedTuple):
    """What the loop carries from step to step.

    Attributes:
        t: Int32 scalar, the step.
        tokens: Int32 `(batch,)`, chosen last.
        alive: Bool `(batch,)`, still going on.
        finished: Bool `(batch,)`, ended by the end token.
        lengths: Int32 `(batch,)`.
        log_probs: Float32 `(batch,)`, of the whole hypothesis.
        ids: Int32 `(time, batch)`.
        alignment: Float32 `(time, batch, source_time)`.
        model: The step function's own state.
    """

    t: Any
    tokens: Any
    alive: Any
    finished: Any
    lengths: Any
    log_probs: Any
    ids: Any
    alignment: Any
    model: Any


def greedy_search(step, state, limits, options, *, start, end, time, source_time):
    """Takes the most probable token at each step.

    Args:
        step: Function `(tokens, state) -> (log_probs, weights, state)` with
            tokens `(batch,)`, log_probs `(batch, vocabulary)` and weights
            `(batch, source_time)`.
        state: Its first state: a structure of tensors `(batch, ...)`.
        limits: Int32 tensor `(batch,)`: the most tokens of each row; 0 where
            there is nothing to translate.
        options: `SearchOptions`; greedy search reads `length_normalization`.
        start: Integer, the token that every target begins after.
        end: Integer, the token that ends a hypothesis.
        time: Integer or int32 scalar, length of the buffers: `max(limits)` or more.
        source_time: Integer or int32 scalar, last axis of the weights.

    Returns:
        `SearchResult` with a beam axis of 1.
    """
    batch = ops.shape(limits)[0]
    alive = ops.greater(limits, 0)
    first = GreedyState(
        t=ops.zeros((), "int32"),
        tokens=ops.full((batch,), start, "int32"),
        alive=alive,
        finished=ops.logical_not(alive),
        lengths=ops.zeros((batch,), "int32"),
        log_probs=ops.zeros((batch,), "float32"),
        ids=ops.zeros((time, batch), "int32"),
        alignment=ops.zeros((time, batch, source_time), "float32"),
        model=state,
    )

    def go_on(*fields):
        loop = GreedyState(*fields)
        return ops.logical_and(ops.less(loop.t, time), ops.any(loop.alive))

    def body(*fields):
        return _advance(step, GreedyState(*fields), limits, end)

    loop = GreedyState(*ops.while_loop(go_on, body, tuple(first)))
    scores = normalized(loop.log_probs, loop.lengths, options.length_normalization)
    return SearchResult(
        ids=ops.expand_dims(ops.transpose(loop.ids), axis=1),
        lengths=ops.expand_dims(loop.lengths, axis=1),
        scores=ops.expand_dims(scores, axis=1),
        alignment=ops.expand_dims(ops.transpose(loop.alignment, (1, 0, 2)), axis=1),
        finished=ops.expand_dims(loop.finished, axis=1),
    )


def _advance(step, loop, limits, end):
    """One token further, in the rows that are still alive."""
    log_probs, weights, model = step(loop.tokens, loop.model)
    real = ops.cast(loop.alive, "int32")
    best, tokens = ops.top_k(log_probs, 1)  # `ops.argmax` compares bits, which LiteRT can't
    tokens = ops.cast(ops.squeeze(tokens, axis=-1), "int32") * real
    gained = ops.squeeze(best, axis=-1) * ops.cast(loop.alive, "float32")
    ended = ops.logical_and(loop.alive, ops.equal(tokens, end))
    room = ops.less(loop.t + 1, limits)
    weights = weights * ops.expand_dims(ops.cast(loop.alive, "float32"), axis=-1)
    return GreedyState(
        t=loop.t + 1,
        tokens=tokens,
        alive=ops.logical_and(ops.logical_and(loop.alive, room), ops.logical_not(ended)),
        finished=ops.logical_or(loop.finished, ended),
        lengths=loop.lengths + real,
        log_probs=loop.log_probs + gained,
        ids=write_row(loop.ids, loop.t, tokens),
        alignment=write_row(loop.alignment, loop.t, weights),
        model=model,
    )
