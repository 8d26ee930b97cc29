"""Beam search: the best few hypotheses side by side, the finished ones frozen."""

from typing import Any, NamedTuple

from keras import ops, tree

from keras_bahdanau.layers.distribution import distribution_of
from keras_bahdanau.search.result import (
    SearchResult,
    finished_first,
    normalized,
    spread,
    take_beams,
    write_row,
)
from keras_bahdanau.search.stepping import rows_of, run_steps, step_of
from keras_bahdanau.search.top_k import best_tokens

IMPOSSIBLE = -1e9


class BeamState(NamedTuple):
    """State of the loop.

    Attributes:
        t: Int32 scalar, the step.
        tokens: Int32 `(batch, beam)`, chosen last.
        alive: Bool `(batch, beam)`, still going on.
        finished: Bool `(batch, beam)`, ended by the end token.
        lengths: Int32 `(batch, beam)`.
        log_probs: Float32 `(batch, beam)`, of the whole hypothesis.
        ids: Int32 `(time, batch, beam)`, the token of each step.
        parents: Int32 `(time, batch, beam)`, the beam it came from.
        alignment: Float32 `(time, batch, beam, source_time)`, its weights.
        of_tokens: Float32 `(time, batch, beam, 2)`: what it added to log p, and the entropy of
            what it was chosen from.
        model: The step function's own state.
    """

    t: Any
    tokens: Any
    alive: Any
    finished: Any
    lengths: Any
    log_probs: Any
    ids: Any
    parents: Any
    alignment: Any
    of_tokens: Any
    model: Any


def beam_search(step, state, limits, options, *, start, end, time, source_time, visit=None):
    """Keep the `options.beam_width` best hypotheses of each sentence.

    A hypothesis that ends stands in the beam with its score until better ones
    push it out; the search is over when nothing in any beam goes on.

    Args:
        step: Function `(tokens, state) -> (log_probs, weights, state)` with
            tokens `(batch, beam)`, log_probs `(batch, beam, vocabulary)` and
            weights `(batch, beam, source_time)`; or a `RowStep`.
        state: Its first state: a structure of tensors `(batch, ...)`.
        limits: Int32 tensor `(batch,)`: the most tokens of each row; 0 where
            there is nothing to translate.
        options: `SearchOptions`.
        start: Integer, the token that every target begins after.
        end: Integer, the token that ends a hypothesis.
        time: Integer or int32 scalar, length of the buffers: `max(limits)` or more.
        source_time: Integer or int32 scalar, last axis of the weights.
        visit: Function that is given the `BeamState` after each step, such as a `TreeRecorder`;
            the search then runs eagerly. None for one loop, which a graph can hold.

    Returns:
        `SearchResult` with a beam axis of `options.beam_width`. Where fewer
        hypotheses exist than that, the rest are empty, with scores of -1e9.
    """
    first = _first(state, limits, options.beam_width, start, time, source_time)
    limit_at = ops.expand_dims(limits, axis=1)

    def advance_of(rows):
        own, own_limits = step_of(step, rows), rows_of(limit_at, rows)
        return lambda loop: _advance(own, loop, own_limits, options, end)

    if visit is None:
        return _finish(run_steps(advance_of, first, time, step), options)
    loop, advance = first, advance_of(None)
    while loop.t < time and ops.any(loop.alive):
        loop = advance(loop)
        visit(loop)
    return _finish(loop, options)


def _first(state, limits, beam, start, time, source_time):
    """One real hypothesis a sentence; the other places wait, frozen, for its children."""
    batch = ops.shape(limits)[0]
    below_limit = ops.expand_dims(ops.greater(limits, 0), axis=1)  # -> (batch, 1)
    identity = ops.arange(beam, dtype="int32")
    real = ops.equal(identity, 0)
    rows = ops.zeros((batch, beam), "int32")
    return BeamState(
        t=ops.zeros((), "int32"),
        tokens=rows + start,
        alive=ops.logical_and(below_limit, real),  # (batch, 1) and (beam,)
        finished=ops.repeat(ops.logical_not(below_limit), beam, axis=1),
        lengths=rows,
        # (batch, beam) + (beam,)
        log_probs=ops.cast(rows, "float32") + ops.where(real, 0.0, IMPOSSIBLE),
        ids=ops.zeros((time, batch, beam), "int32"),
        parents=ops.zeros((time, batch, beam), "int32") + identity,
        alignment=ops.zeros((time, batch, beam, source_time), "float32"),
        of_tokens=ops.zeros((time, batch, beam, 2), "float32"),
        model=spread(state, beam),  # (batch, ...) -> (batch, beam, ...)
    )


def _advance(step, loop, limit_at, options, end):
    """Every hypothesis grows by its best tokens; the best `beam` of all live on."""
    # found of (batch, beam, vocabulary), weights (batch, beam, source_time)
    found, weights, model = step(loop.tokens, loop.model)
    found = distribution_of(found)
    beam = loop.tokens.shape[1]
    # no more than `beam` children of one hypothesis can be among the best `beam` of all
    children = min(beam, found.logits.shape[-1])
    gained, tokens = best_tokens(found, children)  # -> (batch, beam, children)

    # a frozen hypothesis has one child, itself: padding, at no cost
    alive = ops.expand_dims(loop.alive, axis=-1)  # -> (batch, beam, 1)
    born = ops.logical_or(alive, ops.equal(ops.arange(children), 0))  # -> (batch, beam, children)
    gained = ops.where(alive, gained, 0.0)
    # log p of parent and child: (batch, beam, 1) + (batch, beam, children)
    totals = ops.expand_dims(loop.log_probs, axis=-1) + gained
    tokens = ops.where(alive, tokens, 0)
    lengths = loop.lengths + ops.cast(loop.alive, "int32")
    scores = normalized(totals, ops.expand_dims(lengths, axis=-1), options)
    scores = ops.where(born, scores, 2 * IMPOSSIBLE)
    _, best = ops.top_k(ops.reshape(scores, (-1, beam * children)), beam)  # -> (batch, beam)
    best = ops.cast(best, "int32")
    parents = best // children  # -> (batch, beam)
    # of all children of a sentence, (batch, beam * children) -> (batch, beam)
    tokens, chosen, gained = (
        take_beams(ops.reshape(each, (-1, beam * children)), best)
        for each in (tokens, totals, gained)
    )

    was_alive = take_beams(loop.alive, parents)
    ended = ops.logical_and(was_alive, ops.equal(tokens, end))
    below_limit = ops.less(loop.t + 1, limit_at)
    weights = take_beams(weights, parents)
    weights = weights * ops.expand_dims(ops.cast(was_alive, "float32"), axis=-1)
    entropies = ops.where(loop.alive, found.entropy, 0.0)  # -> (batch, beam)
    of_token = ops.stack([gained, take_beams(entropies, parents)], axis=-1)
    return BeamState(
        t=loop.t + 1,
        tokens=tokens,
        alive=ops.logical_and(ops.logical_and(was_alive, below_limit), ops.logical_not(ended)),
        finished=ops.logical_or(take_beams(loop.finished, parents), ended),
        lengths=take_beams(lengths, parents),
        log_probs=chosen,
        ids=write_row(loop.ids, loop.t, tokens),
        parents=write_row(loop.parents, loop.t, parents),
        alignment=write_row(loop.alignment, loop.t, weights),
        of_tokens=write_row(loop.of_tokens, loop.t, of_token),
        model=tree.map_structure(lambda leaf: take_beams(leaf, parents), model),
    )


def _finish(loop, options):
    """Finished hypotheses first, best first, each read back along its parents."""
    scores = normalized(loop.log_probs, loop.lengths, options)
    order = finished_first(loop.finished)  # the beam is sorted by score already

    def body(t, beams, path):
        t = t - 1
        parents = ops.take(loop.parents, t, axis=0)  # -> (batch, beam)
        return t, take_beams(parents, beams), write_row(path, t, beams)

    _, _, path = ops.while_loop(
        lambda t, *_: ops.greater(t, 0),
        body,
        (loop.t, order, ops.zeros_like(loop.parents)),
        maximum_iterations=ops.shape(loop.parents)[0],
    )
    ids, alignment, of_tokens = (
        _along(path, steps) for steps in (loop.ids, loop.alignment, loop.of_tokens)
    )
    of_tokens = ops.transpose(of_tokens, (1, 2, 0, 3))  # -> (batch, beam, time, 2)
    return SearchResult(
        ids=ops.transpose(ids, (1, 2, 0)),  # -> (batch, beam, time)
        lengths=take_beams(loop.lengths, order),
        scores=take_beams(scores, order),
        alignment=ops.transpose(alignment, (1, 2, 0, 3)),
        finished=take_beams(loop.finished, order),
        token_log_probs=of_tokens[..., 0],
        token_entropies=of_tokens[..., 1],
    )


def _along(path, steps):
    """The part of `steps` `(time, batch, beam, ...)` on the path of each hypothesis."""
    time, batch, beam, *rest = ops.shape(steps)
    # a row for each step of each sentence; -1 would be any number of rows if there is no element
    rows = ops.reshape(steps, (time * batch, beam, *rest))
    rows = take_beams(rows, ops.reshape(path, (time * batch, beam)))
    return ops.reshape(rows, (time, batch, beam, *rest))
