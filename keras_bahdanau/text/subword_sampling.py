"""Sentences split into subwords by chance, each time otherwise."""

import threading

import numpy as np
import sentencepiece
from sentencepiece import sentencepiece_model_pb2

_ONE_GENERATOR = threading.Lock()  # SentencePiece has one seed for the whole process


class SubwordSampler:
    """Draw one of the many ways in which a model can split each sentence.

    Of a BPE model each merge is left out with the probability `alpha`, as in BPE-dropout
    (Provilkov et al. 2020); a unigram model draws among all segmentations, with probabilities
    to the power of `alpha` (Kudo 2018).

    Args:
        model: Bytes of a serialized SentencePiece model.
        alpha: Float above 0 and below 1.

    Raises:
        ValueError: If the model is of another type.

    Example:
        >>> SubwordSampler(subwords.model, 0.1).sample(["a man"], seed=7)
        [[5, 17, 4]]
    """

    def __init__(self, model: bytes, alpha: float):
        proto = sentencepiece_model_pb2.ModelProto.FromString(model)
        kind = proto.trainer_spec.ModelType.Name(proto.trainer_spec.model_type).lower()
        if kind not in ("bpe", "unigram"):
            raise ValueError(
                "Only the tokens of BPE and of unigram can be sampled. "
                f"Received: a model of the type {kind!r}. Sample another vocabulary, or none."
            )
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self._symbols = _symbols(proto.pieces)
        self._settings = {"enable_sampling": True, "alpha": alpha, "nbest_size": -1}

    def sample(self, sentences, seed) -> list:
        """Lists of ids, without an end token; always the same for the same seed.

        Args:
            sentences: List of strings.
            seed: Non-negative integer, or a sequence of them.
        """
        state = np.random.SeedSequence(seed).generate_state(1)
        with _ONE_GENERATOR:
            sentencepiece.set_random_generator_seed(int(state[0]))
            rows = self._processor.encode(
                sentences,
                out_type=int,
                num_threads=1,  # or chance would also lie in the threads' order
                **self._settings,
            )
        return [self._with_whole_symbols(row) for row in rows] if self._symbols else rows

    def _with_whole_symbols(self, row):
        """A row in which no symbol stands apart from the mark that a word begins with."""
        whole = []
        for token in row:
            if whole and (whole[-1], token) in self._symbols:
                token = self._symbols[whole.pop(), token]
            whole.append(token)
        return whole


def _symbols(pieces):
    """{(id of the mark, id of a symbol inside of a word): its id where a word begins}."""
    ids = {piece.piece: number for number, piece in enumerate(pieces)}
    mark = ids.get("▁")
    return {
        (mark, ids[piece.piece]): ids[f"▁{piece.piece}"]
        for piece in pieces
        if piece.type == piece.USER_DEFINED and mark is not None and f"▁{piece.piece}" in ids
    }
