"""Copying of source words or characters in place of unknown tokens, on the host or in a graph."""

import re

import numpy as np

from keras_bahdanau.text.alignments import UNKNOWN as NAME
from keras_bahdanau.text.alignments import WORD_START
from keras_bahdanau.text.ids import WORD, cut_to_bytes, graph_cut_to_bytes, graph_is_text, is_text
from keras_bahdanau.text.vocabulary import END, NO_WORD, PAD, UNKNOWN

# characters that mark the start of a word: SentencePiece's mark and Unicode separators
_SPACES = re.compile("[▁\t\n\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_ASCII_SPACE = " \t\n\v\f\r"
_GRAPH_SPACE = r"[▁\t\n\f\r\p{Z}]"


def are_characters(source, target):
    """Return True if both are character vocabularies, so that characters are copied, not words."""
    return source.model_type == target.model_type == "char"


def are_plain_characters(source, target):
    """Like `are_characters`, but False for vocabularies that decompose characters (Hangul)."""
    return are_characters(source, target) and not target.composes


def decode_copying(target, ids, copies, characters=False):
    """Decode target ids `(target_time,)` with `copies` in place of unknown tokens."""
    real = is_text(ids)
    unknown = real & (ids == UNKNOWN)
    if not unknown.any():
        return target.decode([ids])[0]
    # an object array, since NumPy string arrays drop a trailing NUL
    copies = np.array(copies, dtype=object)
    pieces = np.where(unknown, copies if characters else "▁" + copies, target.tokens(ids))
    return target.composed(re.sub("▁+", " ", "".join(pieces[real])).strip(_ASCII_SPACE))


def copied_tokens(tokens, copies, characters=False):
    """Replace unknown tokens with copies: "<unk>" becomes "▁Zorblax▁Qux" for "Zorblax Qux"."""
    pairs = zip(tokens, copies, strict=True)
    mark = "" if characters else "▁"
    return [f"{mark}{copy}".replace(" ", "▁") if token == NAME else token for token, copy in pairs]


def attended_words(source, sentence, alignment, characters=False):
    """Return the source word that each target token attends to most.

    The result is an object array `(target_time,)`. A word is copied from the source sentence with
    all of its tokens (Jean et al. 2015, section 3.3; Luong et al. 2015), up to 512 bytes; a token
    without an attended word gets "⁇". A run of unknown words or characters is a single token and is
    copied as a whole. If `characters` is set and the sentence contains unknown characters, only
    those are copied, since the model can write all other characters itself. `alignment` is float
    `(target_time, source_time)`.
    """
    words, together = _words(source, sentence, alignment.shape[1], characters)
    # -> (target_time, source_time): for each source token, the weight of its whole word
    weights = alignment @ together
    attended = words[np.argmax(weights, axis=1)]  # -> (target_time,)
    return np.where((weights.max(axis=1) > 0) & (attended != ""), attended, NO_WORD)


def _words(source, sentence, source_time, characters):
    """Return the word of each source token, `(source_time,)`, and which tokens share a word.

    `together`, float32 `(source_time, source_time)`, is 1 where two tokens share a word. It is 0
    for the end token, padding, and characters that must not be copied.
    """
    content = sentence if isinstance(sentence, bytes) else sentence.encode()
    pieces = source.pieces(sentence)[: source_time - 1]  # the end token follows them
    tokens = source.tokens([piece.id for piece in pieces])
    surfaces = [content[piece.begin : piece.end].decode(errors="replace") for piece in pieces]
    # an unknown piece has no mark, but the text shows the space before it
    starts = [
        characters or bool(_SPACES.match(token) or _SPACES.match(surface))
        for token, surface in zip(tokens, surfaces, strict=True)
    ]
    number = np.cumsum(starts, dtype=np.int32)  # (pieces,), the number of each token's word
    together = np.zeros((source_time, source_time), np.float32)
    together[: len(pieces), : len(pieces)] = number[:, None] == number
    unknown = np.array([piece.id == UNKNOWN for piece in pieces], bool)  # (pieces,)
    if characters and unknown.any():
        together[:, : len(pieces)] *= unknown
    words = np.full(source_time, "", dtype=object)
    for index in range(len(pieces)):
        group = [pieces[token] for token in np.flatnonzero(number == number[index])]
        first, last = group[0].begin, max(piece.end for piece in group)
        word = cut_to_bytes(content[first:last], WORD).decode(errors="replace")
        words[index] = _SPACES.sub(" ", word).strip(_ASCII_SPACE)
    return words, together


def graph_texts(target, ids, copies, characters=False):
    """Return `decode_copying` in a graph for ids `(batch, beam, target_time)`: `(batch, beam)`."""
    import tensorflow as tf

    real = graph_is_text(ids)  # (batch, beam, target_time)
    unknown = real & (ids == UNKNOWN)
    pieces = tf.where(unknown, copies if characters else "▁" + copies, target.tokens(ids))
    joined = tf.strings.reduce_join(tf.where(real, pieces, ""), axis=-1)  # -> (batch, beam)
    joined = target.composed(tf.strings.strip(tf.strings.regex_replace(joined, "▁+", " ")))
    batch, beam, time = tf.unstack(tf.shape(ids))
    rows = tf.reshape(ids, (batch * beam, time))
    plain = tf.reshape(target.detokenize(rows), (batch, beam))
    return tf.where(tf.reduce_any(unknown, axis=-1), joined, plain)


def graph_attended_words(source, text, alignment, characters=False):
    """Return `attended_words` of `text` `(batch,)` in a graph: `(batch, beam, target_time)`."""
    import tensorflow as tf

    words, together = _graph_words(source, text, *tf.unstack(tf.shape(alignment))[::3], characters)
    # -> (batch, beam, target_time, source_time): for each token, the weight of its whole word
    weights = tf.matmul(alignment, tf.expand_dims(together, axis=1))
    token = tf.argmax(weights, axis=-1, output_type=tf.int32)  # -> (batch, beam, target_time)
    attended = tf.gather(words, token, batch_dims=1)
    return tf.where((tf.reduce_max(weights, axis=-1) > 0) & (attended != ""), attended, NO_WORD)


def _graph_words(source, text, batch, source_time, characters):
    """Graph version of `_words`.

    Returns (strings `(batch, source_time)`, float32 `(batch, source_time, source_time)`).
    """
    import tensorflow as tf

    ids, begins, ends = source.tokenize_with_offsets(text)  # ragged (batch, source_time)
    shape = tf.stack([batch, source_time])
    # -> (batch, source_time), False from the end token on; a truncated sentence has more tokens
    lengths = tf.minimum(tf.cast(ids.row_lengths(), tf.int32), source_time - 1)
    real = tf.sequence_mask(lengths, source_time)
    # byte offsets in the text: ragged -> (batch, source_time)
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
    together = tf.expand_dims(number, axis=2) == tf.expand_dims(number, axis=1)
    together &= tf.expand_dims(real, axis=2) & tf.expand_dims(real, axis=1)
    # -> (batch, source_time), where each token's word begins and ends
    first = tf.reduce_min(tf.where(together, tf.expand_dims(begins, axis=1), tf.int32.max), axis=2)
    last = tf.reduce_max(tf.where(together, tf.expand_dims(ends, axis=1), 0), axis=2)
    first = tf.minimum(first, last)
    # one byte more than the limit shows that the word is longer
    words = tf.strings.substr(text, first, tf.minimum(last - first, WORD + 1))
    words = tf.reshape(graph_cut_to_bytes(tf.reshape(words, [-1]), WORD)[0], shape)
    words = tf.strings.unicode_transcode(words, "UTF-8", "UTF-8")  # the bytes may be invalid
    words = tf.strings.strip(tf.strings.regex_replace(words, f"{_GRAPH_SPACE}+", " "))
    if characters:
        unknown = real & (ids == UNKNOWN)  # (batch, source_time)
        all_known = ~tf.reduce_any(unknown, axis=1, keepdims=True)  # (batch, 1)
        together &= tf.expand_dims(unknown | all_known, axis=1)
    return words, tf.cast(together, tf.float32)


def graph_copied_from(ids, alignment, source, lengths):
    """Return the source position from which each unknown character is copied, -1 for none.

    It is the position with the highest weight before the end token. If the source contains unknown
    characters, only their positions count. The result is int32 with the shape of `ids`, which is
    int32 `(batch, [beam,] target_time)`. `alignment` is float
    `(batch, [beam,] target_time, source_time)`, and `source` is int32 `(batch, source_time)`, with
    the real length of each row in `lengths`, int32 `(batch,)`.
    """
    import tensorflow as tf

    real = tf.range(tf.shape(source)[1]) < tf.expand_dims(lengths - 1, axis=1)
    unknown = real & (source == UNKNOWN)  # (batch, source_time)
    copyable = tf.where(tf.reduce_any(unknown, axis=1, keepdims=True), unknown, real)
    for _ in alignment.shape[1:-1]:
        copyable = tf.expand_dims(copyable, axis=1)
    weights = alignment * tf.cast(copyable, alignment.dtype)
    position = tf.argmax(weights, axis=-1, output_type=tf.int32)
    copied = (ids == UNKNOWN) & (tf.reduce_max(weights, axis=-1) > 0)
    return tf.where(copied, position, -1)


def _begins_word(strings):
    import tensorflow as tf

    return tf.strings.regex_replace(strings, f"^{_GRAPH_SPACE}", "") != strings


def copied_ids(source, target):
    """Return, for each source id, the target id of the same token, or -1 if there is none.

    The result is a list of `source.vocabulary_size` integers. Between a character vocabulary and a
    word vocabulary, such as letters and phonemes, the mark `▁` is ignored: the letter "a" is copied
    as the symbol "▁a". For all other vocabularies, the mark is part of the token: in BPE, "hat"
    continues a word and "▁hat" begins one.
    """
    tokens, targets = (
        side.tokens(np.arange(side.vocabulary_size)).tolist() for side in (source, target)
    )
    id_of = {token: number for number, token in enumerate(targets) if token}  # "" is padding
    ids = [id_of.get(token, -1) for token in tokens]
    if {source.model_type, target.model_type} != {"char", "word"}:
        return ids
    # special tokens are not text: "<unk>" is not the symbol "▁<unk>"
    id_of = {
        token.removeprefix(WORD_START): number
        for number, token in enumerate(targets)
        if number > END and token != WORD_START
    }
    return [
        id_of.get(token.removeprefix(WORD_START), -1) if number > END and copy < 0 else copy
        for number, (token, copy) in enumerate(zip(tokens, ids, strict=True))
    ]
