"""Reference layers, losses and searches in NumPy float64, written from the equations.

They process one sentence at a time, without batches, padding or masks; the library must
give the same results with them. Kernels are `(inputs, outputs)`; the gates of a recurrent
cell are concatenated along the last axis.
"""

import itertools
from typing import NamedTuple

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def log_softmax(x):
    return np.log(softmax(x))


class Attention(NamedTuple):
    W: np.ndarray
    U: np.ndarray
    v: np.ndarray


def additive_scores(query, values, weights):
    """e_j = v^T tanh(W s + U h_j)      (Bahdanau et al. 2015, appendix A.1.2)."""
    W, U, v = weights
    return np.array([np.tanh(query @ W + h @ U) @ v for h in values])


def attention(query, values, weights):
    """Return context and weights of one query over `values`, which has a row per source token."""
    if len(values) == 0:
        return np.zeros(values.shape[-1]), np.zeros(0)
    alpha = softmax(additive_scores(query, values, weights))
    return sum(a * h for a, h in zip(alpha, values, strict=True)), alpha


class GRU(NamedTuple):
    """GRU with gates in the order update, reset, candidate; `c` is added before the reset."""

    W: np.ndarray
    U: np.ndarray
    b: np.ndarray
    c: np.ndarray

    def first(self):
        return (np.zeros(len(self.U)),)

    def __call__(self, x, state):
        """One step (Cho et al. 2014, with z and 1 - z swapped and the reset after the product)."""
        (h,) = state
        x_z, x_r, x_g = np.split(x @ self.W + self.b, 3)
        u_z, u_r, u_g = np.split(h @ self.U + self.c, 3)
        z, r = sigmoid(x_z + u_z), sigmoid(x_r + u_r)
        return (z * h + (1 - z) * np.tanh(x_g + r * u_g),)


class LSTM(NamedTuple):
    """LSTM with gates in the order input, forget, candidate, output."""

    W: np.ndarray
    U: np.ndarray
    b: np.ndarray

    def first(self):
        return np.zeros(len(self.U)), np.zeros(len(self.U))

    def __call__(self, x, state):
        """One step (Gers et al. 2000)."""
        h, c = state
        i, f, g, o = np.split(x @ self.W + h @ self.U + self.b, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c


def bidirectional(inputs, forward, backward):
    """h_j = [forward_j; backward_j] for `inputs`, which has a row per token."""

    def read(cell, rows):
        state, said = cell.first(), []
        for x in rows:
            state = cell(x, state)
            said.append(state[0])
        return said

    ahead = read(forward, inputs)
    back = read(backward, inputs[::-1])[::-1]
    return np.array([np.concatenate(pair) for pair in zip(ahead, back, strict=True)])


def encoder(ids, embedding, layers):
    """Return values (a row per token) and summary; `layers` are pairs of cells, bottom first."""
    values = embedding[list(ids)]
    for forward, backward in layers:
        values = bidirectional(values, forward, backward)
    return values, values.mean(axis=0)


class Decoder(NamedTuple):
    """Weights of a decoder; `cell` reads [y_{i-1}; c_i], and `output` is a (kernel, bias) pair."""

    embedding: np.ndarray
    attention: Attention
    cell: GRU | LSTM
    bridge: tuple
    readout: tuple
    output: tuple


def initial_state(summary, weights):
    """s_0 = tanh(W summary + b), split into both states of an LSTM."""
    kernel, bias = weights.bridge
    return tuple(np.split(np.tanh(summary @ kernel + bias), len(weights.cell.first())))


def decoder_step(y, state, values, weights):
    """Return (state, context, alpha) of one target step for the embedded token `y`."""
    context, alpha = attention(state[0], values, weights.attention)
    return weights.cell(np.concatenate([y, context]), state), context, alpha


def decoder(ids, values, summary, weights):
    """Return logits and alignment, with a row per token of `ids`; the first is the start token."""
    state, logits, alignment = initial_state(summary, weights), [], []
    for y in weights.embedding[list(ids)]:
        state, context, alpha = decoder_step(y, state, values, weights)
        kernel, bias = weights.readout
        read = np.tanh(np.concatenate([state[0], context, y]) @ kernel + bias)
        kernel, bias = weights.output
        logits.append(read @ kernel + bias)
        alignment.append(alpha)
    return np.array(logits), np.array(alignment)


def token_loss(token, logits, smoothing=0.0):
    """Cross-entropy with (1 - smoothing) on the token and smoothing spread evenly over all."""
    target = np.full(len(logits), smoothing / len(logits))
    target[token] += 1 - smoothing
    return -target @ log_softmax(logits)


def perplexity(losses):
    return np.exp(np.mean(losses))


class Hypothesis(NamedTuple):
    tokens: tuple
    log_prob: float
    finished: bool

    def score(self, exponent):
        return self.log_prob / max(len(self.tokens), 1) ** exponent


def children(hypothesis, log_probs_after, end):
    """Yield the extensions of a hypothesis, one for each token."""
    for token, log_prob in enumerate(log_probs_after(hypothesis.tokens)):
        yield Hypothesis((*hypothesis.tokens, token), hypothesis.log_prob + log_prob, token == end)


def best_first(hypotheses, exponent):
    """Sort hypotheses: finished ones before truncated ones, then by score."""
    return sorted(hypotheses, key=lambda h: (not h.finished, -h.score(exponent)))


def greedy_search(log_probs_after, limit, end):
    """Return the hypothesis that consists of the most probable token at each step."""
    found = Hypothesis((), 0.0, limit == 0)
    while len(found.tokens) < limit and not found.finished:
        found = max(children(found, log_probs_after, end), key=lambda child: child.log_prob)
    return found


def beam_search(log_probs_after, limit, end, width, exponent):
    """Keep the `width` best at each step; finished hypotheses compete without being extended."""
    beam = [Hypothesis((), 0.0, limit == 0)]
    for _ in range(limit):
        grown = [
            [hypothesis] if hypothesis.finished else children(hypothesis, log_probs_after, end)
            for hypothesis in beam
        ]
        ranked = sorted(itertools.chain(*grown), key=lambda h: -h.score(exponent))
        beam = ranked[:width]
    return best_first(beam, exponent)


def exhaustive_search(log_probs_after, limit, end, vocabulary, exponent):
    """Return every possible hypothesis, best first."""

    def log_prob(tokens):
        return sum(log_probs_after(tokens[:t])[token] for t, token in enumerate(tokens))

    found = [Hypothesis((), 0.0, True)] if limit == 0 else []
    for length in range(1, limit + 1):
        for tokens in itertools.product(range(vocabulary), repeat=length):
            finished = tokens[-1] == end
            if end not in tokens[:-1] and (finished or length == limit):
                found.append(Hypothesis(tokens, log_prob(tokens), finished))
    return best_first(found, exponent)
