"""Unknown tokens of a translation, replaced by what the model attends to: words, or characters."""

import re

import numpy as np

from keras_bahdanau.text.alignments import UNKNOWN as NAME
from keras_bahdanau.text.byte_limit import WORD, cut_to_bytes
from keras_bahdanau.text.subwords import is_text
from keras_bahdanau.text.vocabulary import NO_WORD, UNKNOWN

# the marks of a word's beginning: SentencePiece's own, and Unicode's separators
_SPACE = re.compile("[▁\t\n\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_ASCII_SPACE = " \t\n\v\f\r"


def are_characters(source, target):
    """True if two `Subwords` are of characters: what is copied is then one of them, and no word."""
    return source.model_type == target.model_type == "char"


def are_plain_characters(source, target):
    """As `are_characters`, where a copy may also stand between pieces that are only joined.

    That is not so where letters are decomposed, such as those of Hangul syllables.
    """
    return are_characters(source, target) and not target.composes


def decode_copying(target, ids, copies, characters=False):
    """Text of target ids with a given copy in place of each unknown token.

    Args:
        target: `Subwords`.
        ids: Int array `(target_time,)`.
        copies: Sequence of as many strings, from `attended_words`.
        characters: Bool. True for copies of characters, which need no space before them.

    Returns:
        String.
    """
    kept = is_text(ids)
    unknown = kept & (ids == UNKNOWN)
    if not unknown.any():
        return target.decode([ids])[0]
    # as objects: NumPy's own strings lose a NUL at their end
    copies = np.array(copies, dtype=object)
    pieces = np.where(unknown, copies if characters else "▁" + copies, target.tokens(ids))
    return target.composed(re.sub("▁+", " ", "".join(pieces[kept])).strip(_ASCII_SPACE))


def copied_tokens(tokens, copies, characters=False):
    """Tokens with copies in the place of unknown ones, whose words are those of the text.

    Args:
        tokens: List of strings, the target's pieces.
        copies: Sequence of as many strings, from `attended_words`.
        characters: Bool, as in `decode_copying`.

    Example:
        >>> copied_tokens(["▁eins", "<unk>", "</s>"], ["one", "Zorblax Qux", "⁇"])
        ['▁eins', '▁Zorblax▁Qux', '</s>']
    """
    pairs = zip(tokens, copies, strict=True)
    mark = "" if characters else "▁"
    return [f"{mark}{copy}".replace(" ", "▁") if one == NAME else one for one, copy in pairs]


def attended_words(source, sentence, alignment, characters=False):
    """The source word, or character, that each target token attends to most.

    The word is taken as it stands in the source sentence, all of its tokens together (Jean et
    al. 2015, section 3.3; Luong et al. 2015). A run of unknown words or characters, which is one
    token, is taken as a whole. Of either no more than 512 bytes are taken. Of characters only
    unknown ones are taken where the sentence has any, since a model can write the others itself.

    Args:
        source: `Subwords`.
        sentence: String, or bytes.
        alignment: Float array `(target_time, source_time)`, at least one source token wide.
        characters: Bool. True for the character of a token: see `are_characters`.

    Returns:
        Object array `(target_time,)` of strings; "⁇", as SentencePiece writes an unknown token,
        where a target token attends to no word.
    """
    words, together = _words(source, sentence, alignment.shape[1], characters)
    weights = alignment @ together  # -> (target_time, source_time), for each token its whole word's
    found = words[np.argmax(weights, axis=1)]  # -> (target_time,)
    return np.where((weights.max(axis=1) > 0) & (found != ""), found, NO_WORD)


def _words(source, sentence, source_time, characters):
    """The word `(source_time,)` of each source token, and the tokens that share one.

    Each character is a word of its own.

    Tokens share a word where `together`, float32 `(source_time, source_time)`, is 1. The end
    token and padding have "", and share with none. Nothing is 1 for a character that must not be
    copied.
    """
    content = sentence if isinstance(sentence, bytes) else sentence.encode()
    pieces = source.pieces(sentence)[: source_time - 1]  # the end token stands behind them
    tokens = source.tokens([piece.id for piece in pieces])
    surfaces = [content[piece.begin : piece.end].decode(errors="replace") for piece in pieces]
    # an unknown piece has no mark, but the text shows the space before it
    starts = [
        characters or bool(_SPACE.match(token) or _SPACE.match(surface))
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
        of_word = [pieces[other] for other in np.flatnonzero(number == number[index])]
        first, last = of_word[0].begin, max(piece.end for piece in of_word)
        word = cut_to_bytes(content[first:last], WORD).decode(errors="replace")
        words[index] = _SPACE.sub(" ", word).strip(_ASCII_SPACE)
    return words, together
