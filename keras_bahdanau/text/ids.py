"""Ids, bytes and words of sentences: validate, pad, cut and number them, also in a graph."""

import numpy as np

from keras_bahdanau.text.alignments import END as END_TOKEN
from keras_bahdanau.text.alignments import UNKNOWN as UNKNOWN_TOKEN
from keras_bahdanau.text.alignments import WORD_START
from keras_bahdanau.text.vocabulary import END, PAD, START, UNKNOWN

WORD = 512  # most bytes of a copied source word, which may be copied once per token

# Role of a token in the words of a text:
BETWEEN = 0  # none: a bare mark, the end, padding
INSIDE = 1  # continues the previous word, if there is one
FIRST = 2  # begins a word
ALONE = 3  # is a whole word
LAST = 4  # ends a word


def byte_limit(tokens):
    """The most bytes of a text of so many tokens, and of a copied word, which may be one token."""
    return max(32 * tokens, WORD)


def text_limits(longest):
    """Dictionary for the card of an artefact: how long a text of so many tokens may be."""
    return {"max_source_length": longest, "max_source_bytes": byte_limit(longest)}


def cut_to_bytes(text, most):
    """Cut a text, string or bytes, after `most` >= 4 bytes of UTF-8, not inside a character."""
    content = text.encode() if isinstance(text, str) else text
    if len(content) <= most:
        return text
    inside = 0  # bytes of a character that starts before the limit
    while inside < 4 and content[most - inside] & 0xC0 == 0x80:
        inside += 1
    content = content[: most - inside % 4]
    return content.decode() if isinstance(text, str) else content


def graph_cut_to_bytes(text, most):
    """As `cut_to_bytes`, for strings `(batch,)`, and bool `(batch,)`: which were longer."""
    import tensorflow as tf

    longer = tf.strings.length(text) > most
    first = tf.where(longer, most - 3, 0)
    # (batch, 4), the last bytes up to the first one left out, in reverse
    window = tf.strings.substr(text, first, tf.fill(tf.shape(first), 4))
    bytes = tf.io.decode_raw(window, tf.uint8, fixed_length=4)[:, ::-1]
    within = tf.cast((bytes >= 0x80) & (bytes < 0xC0), tf.int32)
    # -> (batch,), how many bytes of a character precede the limit
    inside = tf.reduce_sum(tf.math.cumprod(within, axis=1), axis=1) % 4
    length = tf.where(longer, most - inside, tf.strings.length(text))
    return tf.strings.substr(text, tf.zeros_like(length), length), longer


def is_text(ids) -> np.ndarray:
    """True for ids `(..., time)` of text: before the end token, neither padding nor start token."""
    return (np.cumsum(ids == END, axis=-1) == 0) & (ids != PAD) & (ids != START)


def known_ids(ids, vocabulary_size):
    """Ids as int32; ids outside the vocabulary become the unknown token."""
    import tensorflow as tf

    ids = tf.convert_to_tensor(ids)
    inside = (ids >= 0) & (ids < tf.cast(vocabulary_size, ids.dtype))
    return tf.cast(tf.where(inside, ids, tf.cast(UNKNOWN, ids.dtype)), tf.int32)


def graph_is_text(ids):
    """As `is_text`, for an int32 tensor `(..., time)`."""
    import tensorflow as tf

    before_end = tf.cumsum(tf.cast(ids == END, tf.int32), axis=-1) == 0
    return before_end & (ids != PAD) & (ids != START)


def at_least_one(ids):
    """Ids `(batch, time)`, padded to at least one column."""
    import tensorflow as tf

    missing = tf.maximum(1 - tf.shape(ids)[1], 0)
    return tf.pad(ids, [[0, 0], [0, missing]], constant_values=PAD)


def requested_ids(ids, lengths, vocabulary_size):
    """Ids of a request `(batch, time)`, with 0 where a server pads: after the first `lengths`."""
    import tensorflow as tf

    ids = known_ids(at_least_one(ids), vocabulary_size)
    return tf.where(tf.sequence_mask(lengths, tf.shape(ids)[1]), ids, PAD)


def graph_cut_ids(ids, longest):
    """Cut ids `(batch, time)` to `longest`, with an end token: (ids, longer bool `(batch,)`)."""
    import tensorflow as tf

    longer = tf.reduce_any(ids[:, longest:] != PAD, axis=1)
    ids = ids[:, :longest]
    last = tf.range(tf.shape(ids)[1]) == longest - 1
    return tf.where(longer[:, tf.newaxis] & last, END, ids), longer


def word_parts(tokens):
    """Role of each token, a string, in words: int8 array `(vocabulary_size,)`."""
    return np.array([_part(token) for token in tokens], np.int8)


def graph_word_numbers(ids, parts, copies=None):
    """Number of each token's word, int32 `(..., time)`, by operations that LiteRT also has.

    Words are those of `Translation.words`: a bare mark `▁` belongs to the word after it. Letters
    after a copy are of the same word, and a copy of several words has the number of its first one.
    The end token, padding, and marks without a word have -1. `parts` is int8, from `word_parts`.
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
    # of its own word, or of the next one
    numbers = started - tf.cast(written, tf.int32)
    inside = numbers < words
    if copies is not None:  # additional words of earlier copies
        spaces = tf.strings.length(tf.strings.regex_replace(copies, "[^ ]+", ""))
        more = tf.where(ids == UNKNOWN, spaces, 0)  # -> (..., time)
        numbers += tf.cumsum(more, axis=-1, exclusive=True)
    return tf.where(inside, numbers, -1)


def _part(token):
    """The role of one token: see `join_subwords`."""
    if token == END_TOKEN or not token.replace(WORD_START, ""):
        return BETWEEN
    begins = token == UNKNOWN_TOKEN or token.startswith(WORD_START)
    ends = token == UNKNOWN_TOKEN or token.endswith(WORD_START)
    return (INSIDE, FIRST, LAST, ALONE)[begins + 2 * ends]
