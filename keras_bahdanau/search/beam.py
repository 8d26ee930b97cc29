"""Beam search: the best hypotheses grow in parallel, and finished ones are frozen."""

from typing import Any, NamedTuple

from keras import ops, tree

from keras_bahdanau.layers.distribution import as_distribution
from keras_bahdanau.search.result import (
    SearchResult,
    best_tokens,
    finished_first,
    normalized,
    spread,
    take_beams,
    write_row,
)
from keras_bahdanau.search.stepping import for_rows, run_steps, take_rows

IMPOSSIBLE = -1e9


class BeamState(NamedTuple):
    """State of the search loop."""

    t: Any  # int32 scalar, the step
    tokens: Any  # int32 (batch, beam), the last token
    alive: Any  # bool (batch, beam), still growing
    finished: Any  # bool (batch, beam), ended by the end token
    lengths: Any  # int32 (batch, beam)
    log_probs: Any  # float32 (batch, beam), log p of the whole hypothesis
    ids: Any  # int32 (time, batch, beam), the token of each step
    parents: Any  # int32 (time, batch, beam), the beam from which each token came
    alignment: Any  # float32 (time, batch, beam, source_time), the weights of each token
    token_stats: Any  # float32 (time, batch, beam, 2): log p of a token, entropy of its step
    model: Any  # the step function's own state


def beam_search(step, state, limits, options, *, start, end, time, source_time, visit=None):
    """Search for the `options.beam_width` best hypotheses of each sentence.

    Returns a `SearchResult`. A hypothesis that has ended stays in the beam with its score until
    better ones push it out. If there are fewer hypotheses than the beam is wide, the remaining ones
    are empty and have a score of -1e9. `visit` is called with the `BeamState` after each step (see
    `TreeRecorder`); the search then runs eagerly. `step` may be a `RowStep`. See `search` for the
    other arguments.
    """
    first = _first(state, limits, options.beam_width, start, time, source_time)
    limit_at = ops.expand_dims(limits, axis=1)

    def make_advance(rows):
        row_step, row_limits = for_rows(step, rows), take_rows(limit_at, rows)
        return lambda state: _advance(row_step, state, row_limits, options, end)

    if visit is None:
        return _finish(run_steps(make_advance, first, time, step), options)
    beam, advance = first, make_advance(None)
    while beam.t < time and ops.any(beam.alive):
        beam = advance(beam)
        visit(beam)
    return _finish(beam, options)


def _first(state, limits, beam, start, time, source_time):
    """Return the initial state: one real hypothesis per sentence, in an otherwise frozen beam."""
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
        token_stats=ops.zeros((time, batch, beam, 2), "float32"),
        model=spread(state, beam),  # (batch, ...) -> (batch, beam, ...)
    )


def _advance(step, state, limit_at, options, end):
    """Extend every hypothesis by its best tokens, and keep the `beam` best results."""
    # output (batch, beam, vocabulary), weights (batch, beam, source_time)
    output, weights, model = step(state.tokens, state.model)
    distribution = as_distribution(output)
    beam = state.tokens.shape[1]
    # at most `beam` children of one hypothesis can be among the `beam` best of all
    children = min(beam, distribution.logits.shape[-1])
    token_log_probs, tokens = best_tokens(distribution, children)  # -> (batch, beam, children)

    # a frozen hypothesis has one child: itself with padding, at no cost
    alive = ops.expand_dims(state.alive, axis=-1)  # -> (batch, beam, 1)
    # -> (batch, beam, children)
    is_candidate = ops.logical_or(alive, ops.equal(ops.arange(children), 0))
    token_log_probs = ops.where(alive, token_log_probs, 0.0)
    # log p of parent and child: (batch, beam, 1) + (batch, beam, children)
    candidate_log_probs = ops.expand_dims(state.log_probs, axis=-1) + token_log_probs
    tokens = ops.where(alive, tokens, 0)
    lengths = state.lengths + ops.cast(state.alive, "int32")
    scores = normalized(candidate_log_probs, ops.expand_dims(lengths, axis=-1), options)
    scores = ops.where(is_candidate, scores, 2 * IMPOSSIBLE)
    _, best = ops.top_k(ops.reshape(scores, (-1, beam * children)), beam)  # -> (batch, beam)
    best = ops.cast(best, "int32")
    parents = best // children  # -> (batch, beam)
    # from all children of a sentence, (batch, beam * children) -> (batch, beam)
    tokens, chosen, token_log_probs = (
        take_beams(ops.reshape(candidates, (-1, beam * children)), best)
        for candidates in (tokens, candidate_log_probs, token_log_probs)
    )

    was_alive = take_beams(state.alive, parents)
    ended = ops.logical_and(was_alive, ops.equal(tokens, end))
    below_limit = ops.less(state.t + 1, limit_at)
    weights = take_beams(weights, parents)
    weights = weights * ops.expand_dims(ops.cast(was_alive, "float32"), axis=-1)
    entropies = ops.where(state.alive, distribution.entropy, 0.0)  # -> (batch, beam)
    token_stat = ops.stack([token_log_probs, take_beams(entropies, parents)], axis=-1)
    return BeamState(
        t=state.t + 1,
        tokens=tokens,
        alive=ops.logical_and(ops.logical_and(was_alive, below_limit), ops.logical_not(ended)),
        finished=ops.logical_or(take_beams(state.finished, parents), ended),
        lengths=take_beams(lengths, parents),
        log_probs=chosen,
        ids=write_row(state.ids, state.t, tokens),
        parents=write_row(state.parents, state.t, parents),
        alignment=write_row(state.alignment, state.t, weights),
        token_stats=write_row(state.token_stats, state.t, token_stat),
        model=tree.map_structure(lambda leaf: take_beams(leaf, parents), model),
    )


def _finish(state, options):
    """Trace the hypotheses back along their parents; finished ones come first, best first."""
    scores = normalized(state.log_probs, state.lengths, options)
    order = finished_first(state.finished)  # the beam is already sorted by score

    def body(t, beams, path):
        t = t - 1
        parents = ops.take(state.parents, t, axis=0)  # -> (batch, beam)
        return t, take_beams(parents, beams), write_row(path, t, beams)

    _, _, path = ops.while_loop(
        lambda t, *_: ops.greater(t, 0),
        body,
        (state.t, order, ops.zeros_like(state.parents)),
        maximum_iterations=ops.shape(state.parents)[0],
    )
    ids, alignment, token_stats = (
        _along(path, steps) for steps in (state.ids, state.alignment, state.token_stats)
    )
    token_stats = ops.transpose(token_stats, (1, 2, 0, 3))  # -> (batch, beam, time, 2)
    return SearchResult(
        ids=ops.transpose(ids, (1, 2, 0)),  # -> (batch, beam, time)
        lengths=take_beams(state.lengths, order),
        scores=take_beams(scores, order),
        alignment=ops.transpose(alignment, (1, 2, 0, 3)),
        finished=take_beams(state.finished, order),
        token_log_probs=token_stats[..., 0],
        token_entropies=token_stats[..., 1],
    )


def _along(path, steps):
    """Return the part of `steps` `(time, batch, beam, ...)` on the path of each hypothesis."""
    time, batch, beam, *inner = ops.shape(steps)
    # one row per step and sentence; with -1, the number of rows of an empty tensor is ambiguous
    rows = ops.reshape(steps, (time * batch, beam, *inner))
    rows = take_beams(rows, ops.reshape(path, (time * batch, beam)))
    return ops.reshape(rows, (time, batch, beam, *inner))
