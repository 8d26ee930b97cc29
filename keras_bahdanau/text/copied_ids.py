"""Tokens that two vocabularies have in common, for models that copy."""

import numpy as np

from keras_bahdanau.text.vocabulary import END

_SPACE = "\u2581"  # ▁, as SentencePiece writes a space


def copied_ids(source, target):
    """Ids of a target as which the tokens of a source can be copied.

    A token is copied as the one that is written alike. Between characters and symbols with spaces
    between, such as phonemes, the mark `▁` counts for nothing: a word model writes it before each
    symbol, whatever the text, so that the letter "a" is copied as the symbol "▁a". In all other
    vocabularies the mark is part of the token: BPE's "hat" ends a word, and "▁hat" begins one.

    Args:
        source: `Subwords`.
        target: `Subwords`.

    Returns:
        List of `source.vocabulary_size` integers, -1 where the target has no such token.

    Example:
        >>> letters = Subwords.train(["ab"], 6, model_type="char", exact=False)
        >>> sounds = Subwords.train(["b x"], 6, model_type="word", exact=False)
        >>> sounds.tokens([one for one in copied_ids(letters, sounds) if one > 3])
        array(['▁b'], dtype=object)
    """
    own, others = (one.tokens(np.arange(one.vocabulary_size)).tolist() for one in (source, target))
    id_of = {token: number for number, token in enumerate(others) if token}  # "" is padding
    ids = [id_of.get(token, -1) for token in own]
    if {source.model_type, target.model_type} != {"char", "word"}:
        return ids
    # special tokens are no text: "<unk>" is not the symbol "▁<unk>"
    id_of = {
        other.removeprefix(_SPACE): number
        for number, other in enumerate(others)
        if number > END and other != _SPACE
    }
    return [
        id_of.get(token.removeprefix(_SPACE), -1) if number > END and found < 0 else found
        for number, (token, found) in enumerate(zip(own, ids, strict=True))
    ]
