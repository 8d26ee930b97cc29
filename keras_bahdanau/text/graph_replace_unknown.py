"""Unknown tokens of a translation, replaced by source words, inside of a TensorFlow graph."""

import tensorflow as tf

from keras_bahdanau.text.byte_limit import WORD
from keras_bahdanau.text.graph_byte_limit import graph_cut_to_bytes
from keras_bahdanau.text.graph_ids import graph_is_text
from keras_bahdanau.text.vocabulary import NO_WORD, PAD, UNKNOWN

_SPACE = r"[▁\t\n\f\r\p{Z}]"


def graph_texts(target, ids, copies, characters=False):
    """Text of target ids with a given copy in place of each unknown token.

    Args:
        target: `GraphSubwords`.
        ids: Int32 tensor `(batch, beam, target_time)`.
        copies: String tensor `(batch, beam, target_time)`, from `graph_attended_words`.
        characters: Bool, as in `decode_copying`.

    Returns:
        String tensor `(batch, beam)`.
    """
    kept = graph_is_text(ids)  # (batch, beam, target_time)
    unknown = kept & (ids == UNKNOWN)
    pieces = tf.where(unknown, copies if characters else "▁" + copies, target.tokens(ids))
    joined = tf.strings.reduce_join(tf.where(kept, pieces, ""), axis=-1)  # -> (batch, beam)
    joined = target.composed(tf.strings.strip(tf.strings.regex_replace(joined, "▁+", " ")))
    batch, beam, time = tf.unstack(tf.shape(ids))
    rows = tf.reshape(ids, (batch * beam, time))
    plain = tf.reshape(target.detokenize(rows), (batch, beam))
    return tf.where(tf.reduce_any(unknown, axis=-1), joined, plain)


def graph_attended_words(source, text, alignment, characters=False):
    """The source word, or character, that each target token attends to: see `attended_words`.

    Args:
        source: `GraphSubwords`.
        text: String tensor `(batch,)`, the source sentences.
        alignment: Float32 tensor `(batch, beam, target_time, source_time)`, at least one
            source token wide.
        characters: Bool, as there.

    Returns:
        String tensor `(batch, beam, target_time)`.
    """
    words, together = _words(source, text, *tf.unstack(tf.shape(alignment))[::3], characters)
    # -> (batch, beam, target_time, source_time), for each token what its whole word got
    weights = tf.matmul(alignment, tf.expand_dims(together, axis=1))
    place = tf.argmax(weights, axis=-1, output_type=tf.int32)  # -> (batch, beam, target_time)
    found = tf.gather(words, place, batch_dims=1)
    return tf.where((tf.reduce_max(weights, axis=-1) > 0) & (found != ""), found, NO_WORD)


def _words(source, text, batch, source_time, characters):
    """The word `(batch, source_time)` of each source token, and the tokens that share one.

    Tokens share a word where `together`, float32 `(batch, source_time, source_time)`,
    is 1. What stands for no word, such as the end token, has "", and is with none. Nothing is 1
    for a character that must not be copied.
    """
    ids, begins, ends = source.tokenize_with_offsets(text)  # ragged (batch, source_time)
    shape = tf.stack([batch, source_time])
    # -> (batch, source_time), False from the end token on, behind which a cut sentence goes on
    lengths = tf.minimum(tf.cast(ids.row_lengths(), tf.int32), source_time - 1)
    real = tf.sequence_mask(lengths, source_time)
    # in bytes of the text: ragged -> (batch, source_time)
    begins, ends = (
        tf.cast(offsets, tf.int32).to_tensor(0, shape=shape) for offsets in (begins, ends)
    )
    # (batch,) -> (batch, source_time)
    text = tf.repeat(tf.expand_dims(text, axis=1), source_time, axis=1)
    ids = ids.to_tensor(PAD, shape=shape)
    pieces = source.tokens(ids)
    surfaces = tf.strings.substr(text, begins, ends - begins)
    # an unknown piece has no mark, but the text shows the space before it
    starts = _begins_word(pieces) | _begins_word(surfaces) | characters
    # (batch, source_time), the number of each token's word
    number = tf.cumsum(tf.cast(starts, tf.int32), axis=1)
    # -> (batch, source_time, source_time)
    same = tf.expand_dims(number, axis=2) == tf.expand_dims(number, axis=1)
    same &= tf.expand_dims(real, axis=2) & tf.expand_dims(real, axis=1)
    # -> (batch, source_time), where the token's word begins, and ends
    first = tf.reduce_min(tf.where(same, tf.expand_dims(begins, axis=1), tf.int32.max), axis=2)
    last = tf.reduce_max(tf.where(same, tf.expand_dims(ends, axis=1), 0), axis=2)
    first = tf.minimum(first, last)
    # one byte more than is kept, which shows that there is more
    words = tf.strings.substr(text, first, tf.minimum(last - first, WORD + 1))
    words = tf.reshape(graph_cut_to_bytes(tf.reshape(words, [-1]), WORD)[0], shape)
    words = tf.strings.unicode_transcode(words, "UTF-8", "UTF-8")  # any bytes may have come
    words = tf.strings.strip(tf.strings.regex_replace(words, f"{_SPACE}+", " "))
    if characters:
        unknown = real & (ids == UNKNOWN)  # (batch, source_time)
        all_known = ~tf.reduce_any(unknown, axis=1, keepdims=True)  # (batch, 1)
        same &= tf.expand_dims(unknown | all_known, axis=1)
    return words, tf.cast(same, tf.float32)


def _begins_word(strings):
    return tf.strings.regex_replace(strings, f"^{_SPACE}", "") != strings
