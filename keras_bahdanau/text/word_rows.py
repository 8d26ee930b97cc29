"""Ids of many sentences from the ids of their different words, which are few."""

import functools
from itertools import chain

import numpy as np

from keras_bahdanau.text.id_rows import IdRows
from keras_bahdanau.text.vocabulary import END

_SPACE = "\u2581"  # ▁, as SentencePiece writes a space


def rows_by_word(subwords, sentences, end_of_empty=True):
    """`IdRows.encoded`, several times as fast for BPE: each different word is split once.

    BPE merges two neighbours wherever they stand, and no token has a space inside, so that what
    stands between two spaces has the same ids in every sentence. The sums of a unigram model
    are rounded along a whole sentence: of such and other models, sentences are split.

    Args:
        subwords: `Subwords`.
        sentences: List of strings, such as those of one shard.
        end_of_empty: Bool, as in `Subwords.encode`.

    Returns:
        `IdRows`, the same as those of `IdRows.encoded`.
    """
    if not sentences or not _splits_words(subwords.model):
        return IdRows.encoded(subwords, sentences, end_of_empty)
    # ▁ in a text is no space to the normalization, and one to BPE
    whole = np.fromiter((_SPACE in one for one in sentences), bool, len(sentences))
    words = [one.split(" ") for one in sentences]  # [""] of an empty one
    rows = _joined(subwords, words, end_of_empty)
    if not whole.any():
        return rows
    others = [one if alone else "" for one, alone in zip(sentences, whole, strict=True)]
    return rows.replaced(whole, IdRows.encoded(subwords, others, end_of_empty))


def _joined(subwords, words, end_of_empty):
    """Rows of lists of words, from rows of the different words."""
    different = dict.fromkeys(chain.from_iterable(words))
    rows = IdRows.encoded(subwords, [*different], end_of_empty=False)
    contents = np.maximum(rows.lengths - 1, 0)  # (different words,): without the end token
    starts = np.cumsum(rows.lengths) - rows.lengths
    place_of = dict(zip(different, range(len(different)), strict=True))
    counts = np.fromiter(map(len, words), np.int64, len(words))
    places = map(place_of.__getitem__, chain.from_iterable(words))
    places = np.fromiter(places, np.int64, int(counts.sum()))
    # (sentences,): ids of a sentence, of which each has a word, be it an empty one
    lengths = np.add.reduceat(contents[places], np.cumsum(counts) - counts)
    ids = IdRows(rows.flat(), contents[places], starts[places]).flat()
    ended = (lengths > 0) | end_of_empty
    ids = np.insert(ids, np.cumsum(lengths)[ended], END)
    return IdRows(ids, lengths + ended)


@functools.lru_cache(8)
def _splits_words(model):
    """True for a model by which a word has the same ids in every sentence."""
    from sentencepiece import sentencepiece_model_pb2  # which takes its time

    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    trainer, normalizer = proto.trainer_spec, proto.normalizer_spec
    tokens = {one.piece for one in proto.pieces}
    return (
        trainer.model_type == trainer.BPE
        and normalizer.add_dummy_prefix
        and normalizer.remove_extra_whitespaces
        and normalizer.escape_whitespaces
        and _SPACE in tokens
        and all(_SPACE not in one[1:] and " " not in one for one in tokens)
    )
