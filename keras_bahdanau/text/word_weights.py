"""Attention weights between words: from one model's tokens, to another model's tokens."""

import re

import numpy as np

SMALLEST = 0.001  # smaller weights are not written
MOST_WEIGHTS = 10**8  # most weights of a line: 400 MB, two texts of 10,000 words


def word_weights(source_words, target_words, alignment):
    """Weights between words, float `(target words + 1, source words + 1)`, from tokens' weights.

    a_ts = 1/|t| sum_{i in t} sum_{j in s} alpha_ij: summed over the tokens of a source word, since
    these share its attention, and averaged over the tokens of a target word.

    Args:
        source_words: Int array `(source_time, 2)`, the first and the last word that each token
            covers, with the end token's as the last row: see `Subwords.words`.
        target_words: Int array `(target_time, 2)`, the same for the target.
        alignment: Float array `(target_time, source_time)`; it may lack the row or the column of an
            end token that was not written.

    Example:
        >>> two, one = [[0, 0], [0, 0], [1, 1]], [[0, 0], [1, 1]]  # a word of two tokens, of one
        >>> word_weights(two, one, [[0.4, 0.5, 0.1], [0.0, 0.0, 1.0]])
        array([[0.9, 0.1],
               [0. , 1. ]])
    """
    source, target = _members(source_words), _members(target_words)
    weights = np.zeros((len(target), len(source)))  # (target_time, source_time)
    weights[: len(alignment), : np.shape(alignment)[1]] = alignment
    # the weight of a token of several words is split among the words
    source = source / source.sum(axis=1, keepdims=True)
    return _mean(target.T) @ weights @ source


def token_weights(weights, source_words, target_words):
    """Spread weights between words over tokens, for training.

    A source word's weight is split evenly among its tokens; each token of a target word has the
    word's weights. A row of the result, float32 `(target_time, source_time)`, sums to 1,
    or is all zero if its word attends to nothing. ValueError for weights of other words.
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
    """Raise ValueError unless weights, called `name`, fit the numbers of words, or are empty."""
    wanted = tuple(int(words[-1][1]) + 1 for words in (target_words, source_words) if len(words))
    if weights.size and weights.shape != wanted:
        raise ValueError(
            f"`{name}` must have a row for each target word and a column for each source word, "
            f"and one more for each end: {wanted}. Received: shape={weights.shape}. "
            "Give the weights of the same sentences."
        )


def _members(words):
    """Float array `(tokens, words + 1)`: 1 where a token covers a word, or the end."""
    spans = np.reshape(np.asarray(words, np.int64), (-1, 2))
    numbers = np.arange(spans[-1, 1] + 1)
    return ((spans[:, :1] <= numbers) & (numbers <= spans[:, 1:])).astype(float)


def _mean(members):
    """Rows of members normalized to a sum of 1; zeros for a row without members."""
    return members / np.maximum(members.sum(axis=1, keepdims=True), 1)


def format_weights(weights):
    """Write weights in a line, `SOURCE-TARGET:WEIGHT`, both ends last: "0-0:0.900 1-1:1.000"."""
    if not weights.size:
        return ""
    last = weights.shape[0] - 1, weights.shape[1] - 1
    cells = [*map(tuple, np.argwhere(weights >= SMALLEST))]
    cells = [*cells, *({last} - {*cells})]
    return " ".join(f"{column}-{row}:{weights[row, column]:.3f}" for row, column in cells)


def parse_weights(line):
    """Read the line of `format_weights`: float32 `(target words + 1, source words + 1)`."""
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
        "Weights must be written SOURCE-TARGET:WEIGHT, those of both ends last, for at most "
        f"{MOST_WEIGHTS:,} pairs of words. Received: line={line[:80]!r}."
    )
