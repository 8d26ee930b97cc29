"""The loop of greedy search and of sampling: one token after the other."""

import functools
from typing import Any, NamedTuple

from keras import ops

from keras_bahdanau.layers.distribution import distribution_of
from keras_bahdanau.search.result import write_row
from keras_bahdanau.search.stepping import rows_of, run_steps, step_of


class SequentialState(NamedTuple):
    """State of the loop.

    Its hypotheses know nothing of each other: there is one in each row of
    the batch, or `draws` with an axis of their own behind it.

    Attributes:
        t: Int32 scalar, the step.
        tokens: Int32 `(batch, [draws])`, chosen last.
        alive: Bool `(batch, [draws])`, still going on.
        finished: Bool `(batch, [draws])`, ended by the end token.
        lengths: Int32 `(batch, [draws])`.
        log_probs: Float32 `(batch, [draws])`, of the whole hypothesis.
        ids: Int32 `(time, batch, [draws])`.
        alignment: Float32 `(time, batch, [draws,] source_time)`.
        of_tokens: Float32 `(time, batch, [draws,] 2)`: what each token added to log p, and the
            entropy of what it was chosen from.
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
    of_tokens: Any
    model: Any


def sequential_search(step, choose, state, limits, *, start, end, time, source_time):
    """Choose a token at each step, until every hypothesis has ended or is cut.

    Args:
        step: Function `(tokens, state) -> (log_probs, weights, state)`, or a `RowStep`.
        choose: Function `(distribution, t, rows) -> (tokens, gained)`: the tokens for
            step t, and their log-probabilities; rows are those of the batch, int32 `(n,)`, or
            None for all.
        state: The step's first state.
        limits: Int32 tensor `(batch, [draws])`: the most tokens of each hypothesis.
        start: Integer, the token that every target begins after.
        end: Integer, the token that ends a hypothesis.
        time: Integer or int32 scalar, length of the buffers: `max(limits)` or more.
        source_time: Integer or int32 scalar, last axis of the weights.

    Returns:
        The last `SequentialState`.
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
        of_tokens=ops.zeros((time, *shape, 2), "float32"),
        model=state,
    )

    def advance_of(rows):
        own = step_of(step, rows), functools.partial(choose, rows=rows), rows_of(limits, rows)
        return lambda here: _advance(*own, here, end)

    return run_steps(advance_of, first, time, step)


def _advance(step, choose, limits, here, end):
    """One token further, in the hypotheses that are still alive."""
    # found of (batch, [draws,] vocabulary), weights (batch, [draws,] source_time)
    found, weights, model = step(here.tokens, here.model)
    found = distribution_of(found)
    real, counts = ops.cast(here.alive, "int32"), ops.cast(here.alive, "float32")
    tokens, gained = choose(found, here.t)
    tokens, gained = tokens * real, gained * counts
    ended = ops.logical_and(here.alive, ops.equal(tokens, end))
    below_limit = ops.less(here.t + 1, limits)
    # by (batch, [draws,] 1)
    weights = weights * ops.expand_dims(counts, axis=-1)
    of_token = ops.stack([gained, found.entropy * counts], axis=-1)
    return SequentialState(
        t=here.t + 1,
        tokens=tokens,
        alive=ops.logical_and(ops.logical_and(here.alive, below_limit), ops.logical_not(ended)),
        finished=ops.logical_or(here.finished, ended),
        lengths=here.lengths + real,
        log_probs=here.log_probs + gained,
        ids=write_row(here.ids, here.t, tokens),
        alignment=write_row(here.alignment, here.t, weights),
        of_tokens=write_row(here.of_tokens, here.t, of_token),
        model=model,
    )
