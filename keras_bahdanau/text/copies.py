"""Copies of source words or characters in place of unknown tokens, on the host and in a graph."""

import re

import numpy as np

from keras_bahdanau.text.alignments import UNKNOWN as NAME
from keras_bahdanau.text.alignments import WORD_START
from keras_bahdanau.text.ids import WORD, cut_to_bytes, graph_cut_to_bytes, graph_is_text, is_text
from keras_bahdanau.text.vocabulary import END, NO_WORD, PAD, UNKNOWN

# the marks of a word's beginning: SentencePiece's own, and Unicode's separators
_SPACES = re.compile("[▁\t\n\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_ASCII_SPACE = " \t\n\v\f\r"
_GRAPH_SPACE = r"[▁\t\n\f\r\p{Z}]"


def are_characters(source, target):
    """True if two `Subwords` are of characters: then single characters are copied, not words."""
    return source.model_type == target.model_type == "char"


def are_plain_characters(source, target):
    """As `are_characters`, but False for vocabularies of decomposed letters, such as Hangul."""
    return are_characters(source, target) and not target.composes


def decode_copying(target, ids, copies, characters=False):
    """Text of target ids `(target_time,)` with `copies` in place of unknown tokens."""
    real = is_text(ids)
    unknown = real & (ids == UNKNOWN)
    if not unknown.any():
        return target.decode([ids])[0]
    # as objects: NumPy's strings lose a trailing NUL
    copies = np.array(copies, dtype=object)
    pieces = np.where(unknown, copies if characters else "▁" + copies, target.tokens(ids))
    return target.composed(re.sub("▁+", " ", "".join(pieces[real])).strip(_ASCII_SPACE))


def copied_tokens(tokens, copies, characters=False):
    """Tokens with copies of unknown ones: "<unk>" and "Zorblax Qux" give "▁Zorblax▁Qux"."""
    pairs = zip(tokens, copies, strict=True)
    mark = "" if characters else "▁"
    return [f"{mark}{copy}".replace(" ", "▁") if token == NAME else token for token, copy in pairs]


def attended_words(source, sentence, alignment, characters=False):
    """The source word that each target token attends to most: object array `(target_time,)`.

    The word is taken from the source sentence, all of its tokens together (Jean et al. 2015,
    section 3.3; Luong et al. 2015), at most 512 bytes; "⁇" for none. A run of unknown words or
    characters is one token and copied as a whole. If the sentence has unknown characters, only
    these are copied: the model can write the others itself. `alignment` is float
    `(target_time, source_time)`.
    """
    words, together = _words(source, sentence, alignment.shape[1], characters)
    weights = alignment @ together  # -> (target_time, source_time), for each token its whole word's
    attended = words[np.argmax(weights, axis=1)]  # -> (target_time,)
    return np.where((weights.max(axis=1) > 0) & (attended != ""), attended, NO_WORD)


def _words(source, sentence, source_time, characters):
    """The word `(source_time,)` of each source token, and the tokens that share one.

    Tokens share a word where `together`, float32 `(source_time, source_time)`, is 1; the end token,
    padding, and characters that must not be copied share none.
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
    """As `decode_copying`, for a batch: `(batch, beam, target_time)` -> `(batch, beam)`."""
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
    """As `attended_words`, for `text` `(batch,)`: strings `(batch, beam, target_time)`."""
    import tensorflow as tf

    words, together = _graph_words(source, text, *tf.unstack(tf.shape(alignment))[::3], characters)
    # -> (batch, beam, target_time, source_time), for each token the weight of its whole word
    weights = tf.matmul(alignment, tf.expand_dims(together, axis=1))
    token = tf.argmax(weights, axis=-1, output_type=tf.int32)  # -> (batch, beam, target_time)
    attended = tf.gather(words, token, batch_dims=1)
    return tf.where((tf.reduce_max(weights, axis=-1) > 0) & (attended != ""), attended, NO_WORD)


def _graph_words(source, text, batch, source_time, characters):
    """As `_words`: strings `(batch, source_time)`, float32 `(batch, source_time, source_time)`."""
    import tensorflow as tf

    ids, begins, ends = source.tokenize_with_offsets(text)  # ragged (batch, source_time)
    shape = tf.stack([batch, source_time])
    # -> (batch, source_time), False from the end token on, after which a cut sentence goes on
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
    together = tf.expand_dims(number, axis=2) == tf.expand_dims(number, axis=1)
    together &= tf.expand_dims(real, axis=2) & tf.expand_dims(real, axis=1)
    # -> (batch, source_time), where the token's word begins, and ends
    first = tf.reduce_min(tf.where(together, tf.expand_dims(begins, axis=1), tf.int32.max), axis=2)
    last = tf.reduce_max(tf.where(together, tf.expand_dims(ends, axis=1), 0), axis=2)
    first = tf.minimum(first, last)
    # one byte more than the limit shows that there is more
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
    """The source position that each unknown character copies, -1 for none: int32 as `ids`.

    It is the position before the end token with the highest weight: one of an unknown character, if
    the source has any. `ids` int32 `(batch, [beam,] target_time)`, `alignment` float
    `(batch, [beam,] target_time, source_time)`, `source` int32 `(batch, source_time)`, of which
    `lengths` int32 `(batch,)` count.
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
    """Target ids of the equal tokens of a source, -1 for none: `source.vocabulary_size` integers.

    From characters to symbols separated by spaces, such as phonemes, the mark `▁` is
    ignored: the letter "a" is copied as the symbol "▁a". In all other vocabularies the mark is part
    of the token: BPE's "hat" ends a word, and "▁hat" begins one.
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
