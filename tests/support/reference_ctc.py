"""CTC by its definition as a sum over all paths of symbols, in NumPy float64 without batches."""

import itertools
from collections import defaultdict

import numpy as np


def text_of(path):
    """Return the labels of a path: first repetitions are removed, then blanks, which are 0."""
    return tuple(label for label, _ in itertools.groupby(path) if label != 0)


def texts(probs):
    """Return the probability of each text, given `probs` `(source_time, vocabulary)`."""
    found = defaultdict(float)
    for path in itertools.product(range(probs.shape[1]), repeat=len(probs)):
        found[text_of(path)] += np.prod(
            [row[symbol] for row, symbol in zip(probs, path, strict=True)]
        )
    return found


def starting_with(texts, prefix):
    """Return the total probability of the texts that begin with a prefix."""
    return sum(p for text, p in texts.items() if text[: len(prefix)] == tuple(prefix))


def log_prob(texts, tokens, end):
    """Return log p of a target; without an end token, the target is a prefix."""
    tokens = tuple(tokens)
    if tokens and tokens[-1] == end:
        return np.log(texts.get(tokens[:-1], 0))
    return np.log(starting_with(texts, tokens))
