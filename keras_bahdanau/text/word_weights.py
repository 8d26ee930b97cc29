"""Conversion of attention weights between tokens to weights between words, and back."""

import re

import numpy as np

SMALLEST = 0.001  # smaller weights are not written
MOST_WEIGHTS = 10**8  # maximum weights in a line: 400 MB, for two texts of 10,000 words


def word_weights(source_words, target_words, alignment):
    """Compute weights between words from weights between tokens.

    a_ts = 1/|t| sum_{i in t} sum_{j in s} alpha_ij

    The weights are summed over the tokens of a source word, because its attention is divided among
    them, and averaged over the tokens of a target word. Returns float
    `(target words + 1, source words + 1)`, with the end tokens last.

    Args:
        source_words: Int array `(source_time, 2)`, the first and last word that each token covers;
            the last row is for the end token (see `Subwords.words`).
        target_words: Int array `(target_time, 2)`, the same for the target.
        alignment: Float array `(target_time, source_time)`. The row or column of an end token that
            was not written may be missing.

    Example:
        >>> two, one = [[0, 0], [0, 0], [1, 1]], [[0, 0], [1, 1]]  # words of two tokens and of one
        >>> word_weights(two, one, [[0.4, 0.5, 0.1], [0.0, 0.0, 1.0]])
        array([[0.9, 0.1],
               [0. , 1. ]])
    """
    source, target = _members(source_words), _members(target_words)
    weights = np.zeros((len(target), len(source)))  # (target_time, source_time)
    weights[: len(alignment), : np.shape(alignment)[1]] = alignment
    # the weight of a token that covers several words is divided among them
    source = source / source.sum(axis=1, keepdims=True)
    return _mean(target.T) @ weights @ source


def token_weights(weights, source_words, target_words):
    """Convert weights between words to weights between tokens, for training.

    The weight of a source word is divided evenly among its tokens; each token of a target word gets
    the weights of the word. Returns float32 `(target_time, source_time)`, in which each row sums to
    1, or is all zero if its word attends to nothing. Raises ValueError if the shape of `weights`
    does not match the words.
    """
    check_words(weights, source_words, target_words)
    if not weights.size:
        return np.zeros((len(target_words), len(source_words)), np.float32)
    source, target = _members(source_words), _members(target_words)
    # -> (target_time, source_time)
    spread = target @ weights @ _mean(source.T)
    sums = spread.sum(axis=1, keepdims=True)
    return np.divide(spread, sums, out=np.zeros_like(spread), where=sums > 0).astype(np.float32)


def check_words(weights, source_words, target_words, name="alignment"):
    """Raise ValueError unless weights, called `name`, are empty or match the numbers of words."""
    wanted = tuple(int(words[-1][1]) + 1 for words in (target_words, source_words) if len(words))
    if weights.size and weights.shape != wanted:
        raise ValueError(
            f"`{name}` must have a row for each target word and a column for each source word, "
            f"and one more of each for the end: {wanted}. Received: shape={weights.shape}. "
            "Pass the weights for the same sentences."
        )


def _members(words):
    """Return a float array `(tokens, words + 1)`, 1 where a token covers a word or the end."""
    spans = np.reshape(np.asarray(words, np.int64), (-1, 2))
    numbers = np.arange(spans[-1, 1] + 1)
    return ((spans[:, :1] <= numbers) & (numbers <= spans[:, 1:])).astype(float)


def _mean(members):
    """Normalize each row of members to a sum of 1; a row without members stays zero."""
    return members / np.maximum(members.sum(axis=1, keepdims=True), 1)


def format_weights(weights):
    """Format weights as a line "0-0:0.900 1-1:1.000", with the item for the two ends last."""
    if not weights.size:
        return ""
    last = weights.shape[0] - 1, weights.shape[1] - 1
    cells = [*map(tuple, np.argwhere(weights >= SMALLEST))]
    cells = [*cells, *({last} - {*cells})]
    return " ".join(f"{column}-{row}:{weights[row, column]:.3f}" for row, column in cells)


def parse_weights(line):
    """Parse a line from `format_weights` into float32 `(target words + 1, source words + 1)`."""
    if not line:
        return np.zeros((0, 0), np.float32)
    items = [re.fullmatch(r"(\d{1,6})-(\d{1,6}):(\d(?:\.\d+)?)", item) for item in line.split(" ")]
    if None not in items:
        columns, rows, values = zip(*(item.groups() for item in items), strict=True)
        rows, columns = np.array(rows, np.int64), np.array(columns, np.int64)
        shape = rows[-1] + 1, columns[-1] + 1
        if rows.max() < shape[0] and columns.max() < shape[1] and np.prod(shape) <= MOST_WEIGHTS:
            weights = np.zeros(shape, np.float32)
            weights[rows, columns] = np.array(values, np.float32)
            return weights
    raise ValueError(
        "Weights must be written SOURCE-TARGET:WEIGHT, with the two ends last, for at most "
        f"{MOST_WEIGHTS:,} pairs of words. Received: line={line[:80]!r}."
    )
