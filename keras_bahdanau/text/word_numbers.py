"""Numbers of the words of tokens, in a TensorFlow graph."""

import numpy as np

from keras_bahdanau.text.alignments import END, UNKNOWN, WORD_START
from keras_bahdanau.text.vocabulary import UNKNOWN as UNKNOWN_ID

# Part that a token has in the words of a text:
BETWEEN = 0  # none by itself: a mark alone, the end, padding
INSIDE = 1  # goes on with the word before, if there is one
FIRST = 2  # begins a word
ALONE = 3  # begins a word and ends it
LAST = 4  # ends a word


def word_parts(tokens):
    """Part of each token of a vocabulary in words: int8 array `(vocabulary_size,)`.

    Args:
        tokens: Sequence of strings, as `Subwords.tokens` gives them.
    """
    return np.array([_part(token) for token in tokens], np.int8)


def graph_word_numbers(ids, parts, copies=None):
    """Number of the word of each token, by operations that LiteRT has, too.

    Words are those of `Translation.words`: a mark `▁` alone belongs to the word behind
    it. With copies they are those of the text: letters behind a copy are of the same word, and a
    copy of several words has the number of its first one.

    Args:
        ids: Int32 tensor `(..., time)`, right-padded with 0.
        parts: Int8 array, from `word_parts`.
        copies: String tensor `(..., time)`, the words of the text for unknown tokens,
            from `graph_attended_words`; None where it has none.

    Returns:
        Int32 tensor `(..., time)`: 0 for the tokens of the first word, 1 for those of the next,
        and -1 for those of none, which are the end token, padding, and marks without a word.
    """
    import tensorflow as tf

    part = tf.cast(tf.gather(parts, ids), tf.int32)
    if copies is not None:
        part = tf.where(ids == UNKNOWN_ID, FIRST, part)
    ends = (part == BETWEEN) | (part >= ALONE)
    edges = [[0, 0]] * (len(part.shape) - 1) + [[1, 0]]
    after_end = tf.pad(tf.cast(ends, tf.int32), edges, constant_values=1)[..., :-1]
    begins = (part == FIRST) | (part == ALONE) | (after_end == 1)
    written = part != BETWEEN
    started = tf.cumsum(tf.cast(written & begins, tf.int32), axis=-1)  # -> (..., time)
    words = tf.reduce_max(started, axis=-1, keepdims=True)  # -> (..., 1)
    # of its own word, or of the next one
    numbers = started - tf.cast(written, tf.int32)
    inside = numbers < words
    if copies is not None:  # further words of the copies before
        spaces = tf.strings.length(tf.strings.regex_replace(copies, "[^ ]+", ""))
        more = tf.where(ids == UNKNOWN_ID, spaces, 0)  # -> (..., time)
        numbers += tf.cumsum(more, axis=-1, exclusive=True)
    return tf.where(inside, numbers, -1)


def _part(token):
    """The part of one token: see `join_subwords`."""
    if token == END or not token.replace(WORD_START, ""):
        return BETWEEN
    begins = token == UNKNOWN or token.startswith(WORD_START)
    ends = token == UNKNOWN or token.endswith(WORD_START)
    return (INSIDE, FIRST, LAST, ALONE)[begins + 2 * ends]
