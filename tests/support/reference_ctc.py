"""CTC by its definition: every path of symbols, one sentence at a time, in NumPy float64."""

import itertools
from collections import defaultdict

import numpy as np


def text_of(path):
    """The labels of a path: without repetitions, and then without blanks, which are 0."""
    return tuple(label for label, _ in itertools.groupby(path) if label != 0)


def texts(probs):
    """The probability of each text, from `probs` `(source_time, vocabulary)`."""
    found = defaultdict(float)
    for path in itertools.product(range(probs.shape[1]), repeat=len(probs)):
        found[text_of(path)] += np.prod(
            [row[symbol] for row, symbol in zip(probs, path, strict=True)]
        )
    return found


def starting_with(texts, prefix):
    """The probability of all texts that begin with a prefix."""
    return sum(p for text, p in texts.items() if text[: len(prefix)] == tuple(prefix))


def log_prob(texts, tokens, end):
    """Log p of a target, which is whole if its last token is the end token."""
    tokens = tuple(tokens)
    if tokens and tokens[-1] == end:
        return np.log(texts.get(tokens[:-1], 0))
    return np.log(starting_with(texts, tokens))
