"""Validation, padding, cutting and numbering of ids, bytes and words, on the host or in a graph."""

import numpy as np

from keras_bahdanau.text.alignments import END as END_TOKEN
from keras_bahdanau.text.alignments import UNKNOWN as UNKNOWN_TOKEN
from keras_bahdanau.text.alignments import WORD_START
from keras_bahdanau.text.vocabulary import END, PAD, START, UNKNOWN

WORD = 512  # largest size in bytes of a copied source word, which each token may copy

# Role of a token in the words of a text:
BETWEEN = 0  # in no word: a bare mark, the end token, padding
INSIDE = 1  # continues the previous word, if there is one
FIRST = 2  # begins a word
ALONE = 3  # is a whole word
LAST = 4  # ends a word


def byte_limit(tokens):
    """Return the largest number of bytes that a text of `tokens` tokens may have.

    It is at least `WORD`, since a copied word may be a single token.
    """
    return max(32 * tokens, WORD)


def text_limits(longest):
    """Return the length limits of a text, in tokens and bytes, for an artefact's card."""
    return {"max_source_length": longest, "max_source_bytes": byte_limit(longest)}


def cut_to_bytes(text, most):
    """Cut a text, a string or bytes, to at most `most` bytes of UTF-8, not inside a character.

    `most` must be at least 4.
    """
    content = text.encode() if isinstance(text, str) else text
    if len(content) <= most:
        return text
    inside = 0  # bytes before the limit that belong to a character crossing it
    while inside < 4 and content[most - inside] & 0xC0 == 0x80:
        inside += 1
    content = content[: most - inside % 4]
    return content.decode() if isinstance(text, str) else content


def graph_cut_to_bytes(text, most):
    """Graph version of `cut_to_bytes` for strings `(batch,)`.

    Returns (strings `(batch,)`, bool `(batch,)` that is True where a string was longer).
    """
    import tensorflow as tf

    longer = tf.strings.length(text) > most
    first = tf.where(longer, most - 3, 0)
    # (batch, 4), the bytes up to and including the first one that is cut off, in reverse
    window = tf.strings.substr(text, first, tf.fill(tf.shape(first), 4))
    bytes = tf.io.decode_raw(window, tf.uint8, fixed_length=4)[:, ::-1]
    within = tf.cast((bytes >= 0x80) & (bytes < 0xC0), tf.int32)
    # -> (batch,), number of bytes before the limit that belong to a character crossing it
    inside = tf.reduce_sum(tf.math.cumprod(within, axis=1), axis=1) % 4
    length = tf.where(longer, most - inside, tf.strings.length(text))
    return tf.strings.substr(text, tf.zeros_like(length), length), longer


def is_text(ids) -> np.ndarray:
    """Return True for ids `(..., time)` of text: before the end, and not padding or the start."""
    return (np.cumsum(ids == END, axis=-1) == 0) & (ids != PAD) & (ids != START)


def known_ids(ids, vocabulary_size):
    """Return ids as int32; ids outside the vocabulary become the unknown token."""
    import tensorflow as tf

    ids = tf.convert_to_tensor(ids)
    inside = (ids >= 0) & (ids < tf.cast(vocabulary_size, ids.dtype))
    return tf.cast(tf.where(inside, ids, tf.cast(UNKNOWN, ids.dtype)), tf.int32)


def graph_is_text(ids):
    """Graph version of `is_text` for an int32 tensor `(..., time)`."""
    import tensorflow as tf

    before_end = tf.cumsum(tf.cast(ids == END, tf.int32), axis=-1) == 0
    return before_end & (ids != PAD) & (ids != START)


def at_least_one(ids):
    """Pad ids `(batch, time)` to at least one column."""
    import tensorflow as tf

    missing = tf.maximum(1 - tf.shape(ids)[1], 0)
    return tf.pad(ids, [[0, 0], [0, missing]], constant_values=PAD)


def requested_ids(ids, lengths, vocabulary_size):
    """Return the ids of a request `(batch, time)`, with padding after the first `lengths` ids.

    A server may pad rows with any id.
    """
    import tensorflow as tf

    ids = known_ids(at_least_one(ids), vocabulary_size)
    return tf.where(tf.sequence_mask(lengths, tf.shape(ids)[1]), ids, PAD)


def graph_cut_ids(ids, longest):
    """Cut ids `(batch, time)` to `longest` columns, with an end token in cut rows.

    Returns (ids, bool `(batch,)` that is True for rows that were longer).
    """
    import tensorflow as tf

    longer = tf.reduce_any(ids[:, longest:] != PAD, axis=1)
    ids = ids[:, :longest]
    last = tf.range(tf.shape(ids)[1]) == longest - 1
    return tf.where(longer[:, tf.newaxis] & last, END, ids), longer


def word_parts(tokens):
    """Return the role of each token, a string, within words: int8 array `(vocabulary_size,)`."""
    return np.array([_part(token) for token in tokens], np.int8)


def graph_word_numbers(ids, parts, copies=None):
    """Return the number of each token's word, int32 `(..., time)`.

    Uses only operations that LiteRT supports. Words are defined as in `Translation.words`: a bare
    mark `▁` belongs to the word after it. Letters after a copy belong to the same word, and a copy
    of several words has the number of the first. The end token, padding, and marks without a word
    have -1. `parts` is int8, from `word_parts`.
    """
    import tensorflow as tf

    part = tf.cast(tf.gather(parts, ids), tf.int32)
    if copies is not None:
        part = tf.where(ids == UNKNOWN, FIRST, part)
    ends = (part == BETWEEN) | (part >= ALONE)
    edges = [[0, 0]] * (len(part.shape) - 1) + [[1, 0]]
    after_end = tf.pad(tf.cast(ends, tf.int32), edges, constant_values=1)[..., :-1]
    begins = (part == FIRST) | (part == ALONE) | (after_end == 1)
    written = part != BETWEEN
    started = tf.cumsum(tf.cast(written & begins, tf.int32), axis=-1)  # -> (..., time)
    words = tf.reduce_max(started, axis=-1, keepdims=True)  # -> (..., 1)
    # the number of the token's word; for a bare mark, that of the next word
    numbers = started - tf.cast(written, tf.int32)
    inside = numbers < words
    if copies is not None:  # earlier copies may have added words
        spaces = tf.strings.length(tf.strings.regex_replace(copies, "[^ ]+", ""))
        more = tf.where(ids == UNKNOWN, spaces, 0)  # -> (..., time)
        numbers += tf.cumsum(more, axis=-1, exclusive=True)
    return tf.where(inside, numbers, -1)


def _part(token):
    """Return the role of one token within words (see `join_subwords`)."""
    if token == END_TOKEN or not token.replace(WORD_START, ""):
        return BETWEEN
    begins = token == UNKNOWN_TOKEN or token.startswith(WORD_START)
    ends = token == UNKNOWN_TOKEN or token.endswith(WORD_START)
    return (INSIDE, FIRST, LAST, ALONE)[begins + 2 * ends]
