"""Constraints on hypotheses: the tokens that are allowed next, and the maximum length.

A constraint is a class with two methods. `first(batch)` returns its initial state, a structure of
tensors `(batch, ...)`. `constraint(tokens, state, vocabulary)` returns the tokens that are allowed
next, bool `(batch, [beam,] vocabulary)`, and the next state. These states are part of the state of
the step, so they move with their hypotheses. `docs/adding_one.md` lists the other files to change
when you add a constraint.
"""

import math

import numpy as np
from keras import ops

from keras_bahdanau.layers.distribution import FORBIDDEN, as_distribution
from keras_bahdanau.search.stepping import map_step


def constraints_of(options, *, end, time, prefix=None, symbols=()):
    """Return the constraints that `SearchOptions` request, the strongest first."""
    constraints = []
    if prefix is not None:
        constraints.append(ForcedPrefix(prefix))
    if len(symbols) and not options.write_symbols:
        constraints.append(NoSymbols(symbols))
    if options.min_length > 1:
        constraints.append(MinLength(options.min_length, end))
    if options.no_repeat_ngram:
        constraints.append(NoRepeatedNgram(options.no_repeat_ngram, end, time))
    return constraints


def apply_constraints(step, state, constraints, batch, unwritten=()):
    """Apply a list of constraints to a step function.

    Returns (step, initial state). Forbidden tokens get log p = -1e30. In each step, a constraint
    that would leave no token is ignored. `unwritten` tokens are forbidden in every step but count
    in its entropy.
    """
    if not constraints:
        return map_step(lambda step, rows: _without(step, unwritten), step), state
    first = (state, tuple(constraint.first(batch) for constraint in constraints))
    return map_step(lambda step, rows: _constrained_step(step, constraints, unwritten), step), first


def _constrained_step(step, constraints, unwritten):
    def constrained_step(tokens, state):
        inner, states = state
        output, weights, inner = step(tokens, inner)
        log_probs = as_distribution(output).log_probs
        vocabulary = log_probs.shape[-1]
        allowed, after = ops.ones((vocabulary,), "bool"), []
        for constraint, constraint_state in zip(constraints, states, strict=True):
            next_allowed, constraint_state = constraint(tokens, constraint_state, vocabulary)
            allowed = _both(allowed, next_allowed)  # -> (batch, [beam,] vocabulary)
            after.append(constraint_state)
        distribution = as_distribution(ops.where(allowed, log_probs, FORBIDDEN))
        if len(unwritten):
            written = _both(allowed, ops.convert_to_tensor(~_are(unwritten, vocabulary)))
            logits = ops.where(written, distribution.logits, FORBIDDEN)
            distribution = distribution._replace(logits=logits)
        return distribution, weights, (inner, tuple(after))

    return constrained_step


def _without(step, unwritten):
    """Return a step that never chooses `unwritten`, for searches without other constraints."""

    def step_without(tokens, state):
        output, weights, state = step(tokens, state)
        distribution = as_distribution(output)._replace(unwritten=tuple(unwritten))
        return distribution, weights, state

    return step_without


def _are(tokens, vocabulary):
    """Return bool `(vocabulary,)`, which is True at `tokens`."""
    return np.isin(np.arange(vocabulary), [*tokens])


def _both(allowed, next_allowed):
    """Return the tokens that both masks allow, or the first mask if these have none in common."""
    common = ops.logical_and(allowed, next_allowed)
    return ops.where(ops.any(common, axis=-1, keepdims=True), common, allowed)


class ForcedPrefix:
    """Constraint that each hypothesis begins with a prefix.

    `prefix` is int32 `(batch, prefix_time)`, in which 0 allows any token.
    """

    def __init__(self, prefix):
        self.prefix = prefix

    def first(self, batch):
        # -> (batch, prefix_time + 1)
        return ops.concatenate([self.prefix, ops.zeros((batch, 1), "int32")], axis=1)

    def __call__(self, tokens, coming, vocabulary):
        first = coming[..., :1]
        # (batch, [beam,] 1) against (vocabulary,)
        allowed = ops.logical_or(ops.equal(first, 0), ops.equal(first, ops.arange(vocabulary)))
        return allowed, ops.concatenate([coming[..., 1:], ops.zeros_like(first)], axis=-1)


class NoSymbols:
    """Constraint that no hypothesis contains `symbols`, tokens that occur only in sources."""

    def __init__(self, symbols):
        self.symbols = sorted({int(symbol) for symbol in symbols})

    def first(self, batch):
        return ()

    def __call__(self, tokens, state, vocabulary):
        return ops.convert_to_tensor(~_are(self.symbols, vocabulary)), state


class MinLength:
    """Constraint that each hypothesis has at least `fewest` tokens, including the end token."""

    def __init__(self, fewest, end):
        self.fewest = fewest
        self.end = end

    def first(self, batch):
        return ops.zeros((batch,), "int32")

    def __call__(self, tokens, count, vocabulary):
        count = count + 1
        # -> (batch, [beam,] 1)
        enough = ops.expand_dims(ops.greater_equal(count, self.fewest), axis=-1)
        return ops.logical_or(enough, ops.not_equal(ops.arange(vocabulary), self.end)), count


class NoRepeatedNgram:
    """Constraint that no hypothesis repeats an n-gram of `size` tokens (Paulus et al. 2018).

    The end token is always allowed.
    """

    def __init__(self, size, end, time):
        self.size = size
        self.end = end
        self.time = time

    def first(self, batch):
        """Return the initial state, -1 for each previous token; the latest token is the last."""
        return ops.full((batch, self.time + self.size), -1, "int32")

    def __call__(self, tokens, before, vocabulary):
        # shift left and append the new token: still (batch, [beam,] time + size)
        before = ops.concatenate([before[..., 1:], ops.expand_dims(tokens, axis=-1)], axis=-1)
        context = self.size - 1
        followers = before[..., context:]  # -> (batch, [beam,] time + 1)
        met = ops.ones_like(followers, "bool")  # True where the context equals the current one
        for step in range(context):
            now = before[..., step - context :][..., :1]  # -> (batch, [beam,] 1)
            met = ops.logical_and(met, ops.equal(before[..., step : step - context], now))
        repeated = _among(followers, met, vocabulary)  # -> (batch, [beam,] vocabulary)
        ends = ops.equal(ops.arange(vocabulary), self.end)
        return ops.logical_or(ends, ops.logical_not(repeated)), before


def _among(tokens, counted, vocabulary):
    """Return bool `(..., vocabulary)`, True for the `tokens` `(..., n)` at which `counted` is True.

    It is computed as a product of two one-hot matrices.
    """
    base = math.isqrt(vocabulary - 1) + 1
    rows = ops.one_hot(tokens // base, base, dtype="float32")  # -> (..., n, base)
    rows = rows * ops.expand_dims(ops.cast(counted, "float32"), axis=-1)
    columns = ops.one_hot(tokens % base, base, dtype="float32")  # -> (..., n, base)
    counts = ops.matmul(ops.swapaxes(rows, -1, -2), columns)  # -> (..., base, base)
    # -> (..., base * base), one count per token
    counts = ops.reshape(counts, (*ops.shape(tokens)[:-1], base * base))
    return ops.greater(counts[..., :vocabulary], 0)


def limits_of(lengths, options, prefix=None, time=None):
    """Return the maximum number of tokens of each translation, int32 `(batch,)`.

    It is 0 for a sentence without tokens. Otherwise it allows at least `options.min_length` tokens,
    and a prefix followed by the end token, as far as `max_length` and `time` permit.
    """
    limits = ops.cast(ops.cast(lengths, "float32") * options.max_length_ratio, "int32")
    limits = ops.maximum(limits + int(options.max_length_offset), options.min_length)
    if prefix is not None:
        forced = ops.sum(ops.cast(ops.not_equal(prefix, 0), "int32"), axis=1)
        limits = ops.maximum(limits, forced + 1)
    longest = options.max_length if time is None else min(time, options.max_length)
    return ops.where(ops.greater(lengths, 0), ops.minimum(limits, longest), 0)
