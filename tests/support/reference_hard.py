"""Exact hard attention in NumPy float64, by enumerating all alignments."""

import itertools
from typing import NamedTuple

import extract
import numpy as np
import reference


class Hard(NamedTuple):
    """Weights of a `HardDecoder` with an additive score."""

    embedding: np.ndarray
    cell: reference.GRU
    bridge: tuple
    score: reference.Attention
    jumps: tuple
    emission: tuple
    output: tuple


def weights_of(decoder):
    """Return the weights of a `HardDecoder` as arrays, for `chain`."""
    (embedding,) = extract.arrays(decoder.embedding)
    attention, readout = decoder.cell.attention, decoder.readout
    tied = decoder.output_layer is None
    return Hard(
        embedding,
        extract.cell(decoder.cell.stack.cells[0]),
        tuple(extract.arrays(decoder.cell.bridge.projection)),
        extract.attention(attention),
        tuple(extract.arrays(attention.jumps)) if attention.order else (),
        (*extract.arrays(readout.projection), *extract.arrays(readout.value_projection)),
        (embedding.T, np.zeros(len(embedding)))
        if tied
        else tuple(extract.arrays(decoder.output_layer)),
    )


class Chain(NamedTuple):
    """The factors of a target's probability at each step.

    Attributes:
        transitions: `(time, S, S)`, p(a_i = j | a_{i-1} = j') in row j'.
        emissions: `(time, S, vocabulary)`, p(y_i = k | a_i = j, y_<i).
    """

    transitions: np.ndarray
    emissions: np.ndarray


def chain(ids, values, summary, weights, monotonic=False, reach=5):
    """Return the `Chain` for target tokens and a single source without padding."""
    (state,), transitions, emissions = reference.initial_state(summary, weights), [], []
    places = range(len(values))
    for y in weights.embedding[list(ids)]:
        (state,) = weights.cell(y, (state,))
        scores = reference.additive_scores(state, values, weights.score)
        transitions.append(
            [_transition(before, scores, state, weights, monotonic, reach) for before in places]
        )
        W, b, V = weights.emission
        hidden = np.tanh(np.concatenate([state, y]) @ W + b + values @ V)
        kernel, bias = weights.output
        emissions.append(reference.softmax(hidden @ kernel + bias))
    return Chain(np.array(transitions), np.array(emissions))


def _transition(before, scores, state, weights, monotonic, reach):
    """Return p(a_i = j | a_{i-1} = before) for all j."""
    powers = np.zeros(len(scores))
    for place, score in enumerate(scores):
        if weights.jumps:
            U, u = weights.jumps
            jump = max(-reach, min(reach, place - before))
            score += (state @ U + u)[jump + (0 if monotonic and jump >= 0 else reach)]
        powers[place] = 0 if monotonic and place < before else np.exp(score)
    return powers / powers.sum()


def likelihoods(chain, targets):
    """Return log p(y_i = k | y_<i) and p(a_i = j | y_<i) as sums over all alignments of y_<i."""
    log_probs, priors = [], []
    for time in range(1, len(targets) + 1):
        joint = np.zeros_like(chain.emissions[0])  # p(y_<i, a_i = j, y_i = k)
        prior = np.zeros(len(joint))  # p(y_<i, a_i = j)
        for places in itertools.product(range(len(joint)), repeat=time):
            product, before = 1.0, 0
            for step, place in enumerate(places):
                product *= chain.transitions[step][before, place]
                if step < time - 1:
                    product *= chain.emissions[step][place, targets[step]]
                before = place
            prior[before] += product
            joint[before] += product * chain.emissions[time - 1][before]
        log_probs.append(np.log(joint.sum(axis=0)) - np.log(prior.sum()))
        priors.append(prior / prior.sum())
    return np.array(log_probs), np.array(priors)
