"""A language model of four tokens; the next one depends on the row, the step and the last one."""

import functools
from typing import NamedTuple

import numpy as np
import reference
from keras import ops
from row_steps import by_rows

VOCABULARY, END, START = 4, 3, -1  # -1 isn't a token of the vocabulary
LONGEST, SOURCE_TIME = 6, 3


class Chain:
    """Random log-probabilities and attention weights that depend on (row, step, last token)."""

    def __init__(self, rows, seed=0, contrast=1.0):
        random = np.random.default_rng(seed)
        shape = (rows, LONGEST, VOCABULARY + 1)
        self.log_probs = reference.log_softmax(contrast * random.normal(size=(*shape, VOCABULARY)))
        self.weights = reference.softmax(3 * random.normal(size=(*shape, SOURCE_TIME)))
        self.rows = rows

    def state(self, rows=None):
        rows = np.arange(self.rows, dtype="int32") if rows is None else np.array(rows, "int32")
        return {"row": rows, "t": 0 * rows}

    def step(self, tokens, state):
        place = state["row"] * LONGEST + ops.minimum(state["t"], LONGEST - 1)
        place = place * (VOCABULARY + 1) + tokens + 1
        log_probs, weights = (
            ops.take(ops.reshape(ops.cast(table, "float32"), (-1, table.shape[-1])), place, axis=0)
            for table in (self.log_probs, self.weights)
        )
        return log_probs, weights, {"row": state["row"], "t": state["t"] + 1}

    def after(self, row):
        """Return the log-probabilities of a row as a function of tokens, for `reference_search`."""
        return lambda tokens: self.log_probs[row, len(tokens), (START, *tokens)[-1] + 1]

    def alignment(self, row, tokens):
        """Return the attention weights of a hypothesis, with a row per token."""
        before = (START, *tokens)
        rows = [self.weights[row, t, before[t] + 1] for t in range(len(tokens))]
        return np.array(rows).reshape(-1, SOURCE_TIME)


class Given(NamedTuple):
    """The arguments of a search other than its options."""

    limits: np.ndarray
    source_mask: np.ndarray | None = None
    prefix: np.ndarray | None = None
    uniforms: np.ndarray | None = None


def run_chain(run, search, chain, options, given, rows=None, time=None):
    """Run `search` over a `Chain`; return the result as arrays."""
    given = {name: value for name, value in given._asdict().items() if value is not None}
    function = searching(search, options, time)
    return run(function, (chain.log_probs, chain.weights), chain.state(rows), given)


@functools.cache
def searching(search, options, time):
    """Return the search as a function of the chain, so that all chains share a graph."""

    def function(tables, state, given):
        chain = Chain(0)
        chain.log_probs, chain.weights = tables
        limits = given["limits"]
        extras = {name: value for name, value in given.items() if name != "limits"}
        return search(
            by_rows(chain, state["row"]),
            state,
            limits,
            options,
            start=START,
            end=END,
            time=ops.max(limits) if time is None else time,
            source_time=SOURCE_TIME,
            **extras,
        )

    return function
