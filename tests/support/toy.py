"""A language model of a toy alphabet in which each token depends on all previous tokens."""

import functools

import numpy as np
import reference
from keras import ops
from row_steps import by_rows

VOCABULARY, END, START = 3, 2, -1  # -1 isn't a token of the vocabulary
LONGEST = 4
HISTORIES = (VOCABULARY + 1) ** (LONGEST + 1)


class Language:
    """Random log-probabilities for each (row, tokens so far); the state holds both.

    The attention weights of a step are its row, a code of the tokens so far and their number, so
    that an alignment identifies its hypothesis.
    """

    source_time = 3

    def __init__(self, rows, seed=0, contrast=1.0):
        random = np.random.default_rng(seed)
        logits = contrast * random.normal(size=(rows, HISTORIES, VOCABULARY))
        self.log_probs = reference.log_softmax(logits)
        self.rows = rows

    def state(self, rows=None):
        """Return the initial state of rows: row, code of the tokens so far, and their number."""
        rows = np.arange(self.rows, dtype="int32") if rows is None else np.array(rows, "int32")
        return {"row": rows, "history": (0 * rows, 0 * rows)}

    def step(self, tokens, state):
        code, count = state["history"]
        code = code * (VOCABULARY + 1) + tokens + 1
        index = state["row"] * HISTORIES + ops.minimum(code, HISTORIES - 1)
        table = ops.reshape(ops.cast(self.log_probs, "float32"), (-1, VOCABULARY))
        weights = ops.stack([state["row"], code, count], axis=-1)
        state = {"row": state["row"], "history": (code, count + 1)}
        return ops.take(table, index, axis=0), ops.cast(weights, "float32"), state

    def after(self, row):
        """Return the log-probabilities of a row as a function of tokens, for `reference`."""
        return lambda tokens: self.log_probs[row, code_of(tokens)]

    def alignment(self, row, tokens):
        """Return the attention weights of `step` for each token of a hypothesis."""
        return [[row, code_of(tokens[:t]), t] for t in range(len(tokens))]


def code_of(tokens):
    code = 0
    for token in tokens:
        code = code * (VOCABULARY + 1) + token + 1
    return code


def run_search(run, search, language, limits, options, rows=None, time=None):
    """Run `search` over a `Language`; return the result as arrays."""
    function = searching(search, options, time)
    return run(function, language.log_probs, language.state(rows), np.array(limits, "int32"))


@functools.cache
def searching(search, options, time):
    """Return the search as a function of the language, so that all languages share a graph."""

    def function(log_probs, state, limits):
        language = Language(0)
        language.log_probs = log_probs
        return search(
            by_rows(language, state["row"]),
            state,
            limits,
            options,
            start=START,
            end=END,
            time=ops.max(limits) if time is None else time,
            source_time=language.source_time,
        )

    return function


def assert_found(result, row, rank, language, hypothesis, exponent, number=None):
    """Assert that `[row, rank]` of a result is a reference hypothesis, followed by zeros."""
    length = len(hypothesis.tokens)
    assert result.lengths[row, rank] == length
    assert tuple(result.ids[row, rank, :length]) == hypothesis.tokens
    assert not result.ids[row, rank, length:].any()
    np.testing.assert_allclose(result.scores[row, rank], hypothesis.score(exponent), rtol=1e-5)
    assert result.finished[row, rank] == hypothesis.finished
    number = row if number is None else number
    expected = np.array(language.alignment(number, hypothesis.tokens)).reshape(-1, 3)
    np.testing.assert_array_equal(result.alignment[row, rank, :length], expected)
    assert not result.alignment[row, rank, length:].any()
    after = language.after(number)
    expected = [after(hypothesis.tokens[:t]) for t in range(length)]  # (length, vocabulary)
    gained = [
        log_probs[token] for log_probs, token in zip(expected, hypothesis.tokens, strict=True)
    ]
    entropies = [-(np.exp(log_probs) * log_probs).sum() for log_probs in expected]
    for field, values in ((result.token_log_probs, gained), (result.token_entropies, entropies)):
        np.testing.assert_allclose(field[row, rank, :length], values, rtol=1e-5, atol=1e-6)
        assert not field[row, rank, length:].any()
    np.testing.assert_allclose(sum(gained), hypothesis.log_prob, rtol=1e-9)


def assert_same_rows(whole, rows, other):
    """Assert that rows of a result equal another result, whose buffers may be shorter.

    They must be bitwise equal, except entropies: the rounding of exp depends on the position in a
    vector.
    """
    time = other.ids.shape[2]
    for name, field, found in zip(whole._fields, whole, other, strict=True):
        expected = (field[:, :, :time] if field.ndim > 2 else field)[rows]
        rounding = 1e-6 if name == "token_entropies" else 0
        np.testing.assert_allclose(found, expected, rtol=0, atol=rounding, err_msg=name)
