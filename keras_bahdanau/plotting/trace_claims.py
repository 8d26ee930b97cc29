"""Claims that a picture makes of a trace: each is true of some mechanisms alone."""

import numpy as np


def attends(trace):
    """True if any source token has a weight."""
    return bool(trace.weights.any())


def is_softmax(trace):
    """True if the weights are the softmax of the scores."""
    scores = trace.scores - trace.scores.max(axis=-1, keepdims=True, initial=-np.inf)
    scores = np.exp(scores)
    return np.allclose(scores / scores.sum(axis=-1, keepdims=True), trace.weights, atol=1e-4)


def is_sum(trace):
    """True if c_i = sum_j alpha_ij h_j."""
    # (T, S) @ (S, values_units)
    return trace.context.shape[1:] == trace.values.shape[1:] and np.allclose(
        trace.weights @ trace.values, trace.context, atol=1e-2
    )


def query_state(trace, step):
    """Number i of the state s_i that the query of a step is; None if it is none of its two."""
    before = trace.state[step - 1] if step else trace.initial_state
    for number, state in ((step, before), (step + 1, trace.state[step])):
        if np.array_equal(trace.query[step], state):
            return number
    return None
