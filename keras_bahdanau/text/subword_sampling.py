"""Sentences split into subwords by chance, the same in every process for the same seed.

SentencePiece's own generator can't be used: since 0.2.3 it mixes its seed with a number that
each process draws anew.
"""

import itertools
import random
import re
from collections.abc import Iterable

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from keras_bahdanau.text.bpe_dropout import BpeDropout
from keras_bahdanau.text.unigram_draws import UnigramDraws
from keras_bahdanau.text.vocabulary import PAD, UNKNOWN

_KINDS = {"bpe": BpeDropout, "unigram": UnigramDraws}


class SubwordSampler:
    """Draw one of the many ways in which a model can split each sentence.

    Of a BPE model each merge is left out with the probability `alpha`, as in BPE-dropout
    (Provilkov et al. 2020); a unigram model draws among all segmentations, with probabilities
    to the power of `alpha` (Kudo 2018).

    Args:
        model: Bytes of a serialized SentencePiece model.
        alpha: Float above 0 and below 1.

    Attributes:
        alpha: Float, as given.

    Raises:
        ValueError: If the model is of another type.

    Example:
        >>> SubwordSampler(subwords.model, 0.1).sample(["a man"], seed=7)
        [[5, 17, 4]]
    """

    def __init__(self, model: bytes, alpha: float):
        proto = sentencepiece_model_pb2.ModelProto.FromString(model)
        kind = proto.trainer_spec.ModelType.Name(proto.trainer_spec.model_type).lower()
        if kind not in _KINDS:
            raise ValueError(
                "Only the tokens of BPE and of unigram can be sampled. "
                f"Received: a model of the type {kind!r}. Sample another vocabulary, or none."
            )
        self.alpha = alpha
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self._ids = {piece.piece: number for number, piece in enumerate(proto.pieces)}
        self._has_bytes = proto.trainer_spec.byte_fallback
        scores = {piece.piece: piece.score for piece in proto.pieces if piece.type == piece.NORMAL}
        symbols = {piece.piece for piece in proto.pieces if piece.type == piece.USER_DEFINED}
        self._draws = _KINDS[kind](scores, alpha)
        self._parts = _parts(scores, symbols)
        self._known = scores.keys() | symbols
        self._symbols = symbols

    def sample(self, sentences, seed) -> list:
        """Lists of ids, without an end token: of each sentence by itself and the seed alone.

        Args:
            sentences: List of strings.
            seed: Non-negative integer, or a sequence of them.
        """
        seed = [int(one) for one in seed] if isinstance(seed, Iterable) else int(seed)
        return [self._row(text, seed) for text in self._processor.normalize(list(sentences))]

    def _row(self, text, seed):
        """Ids of a normalized sentence, each of whose parts is split on its own."""
        # of a string, Python promises the same numbers in every process and version
        split = self._draws.splitter(random.Random(f"{seed} {text}").random)
        row = []
        for part in self._parts.findall(text):
            for piece in [part] if part in self._symbols else split(part):
                if piece in self._known:
                    row.append(self._ids[piece])
                else:
                    row += self._unknown(piece)
        if UNKNOWN in row and not self._has_bytes:  # a run of unknown characters is one token
            pairs = itertools.pairwise([PAD, *row])
            row = [token for last, token in pairs if (last, token) != (UNKNOWN, UNKNOWN)]
        return row

    def _unknown(self, character):
        """The ids of a character that is no piece."""
        if self._has_bytes:
            return [self._ids[f"<0x{byte:02X}>"] for byte in character.encode()]
        return [UNKNOWN]


def _parts(pieces, symbols):
    """Pattern of the parts of a text that no piece goes beyond: symbols, and words."""
    crossing = any("▁" in piece[1:] for piece in pieces)
    # longest first, as SentencePiece finds them
    alternatives = [re.escape(one) for one in sorted(symbols, key=len, reverse=True)]
    inside = "." if crossing else "[^▁]"
    until = f"(?:(?!{'|'.join(alternatives)}){inside})" if symbols else inside
    return re.compile("|".join([*alternatives, f".{until}*"]), re.DOTALL)
