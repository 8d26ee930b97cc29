"""Random splitting of sentences into subwords, which a seed makes reproducible in any process."""

import bisect
import functools
import heapq
import itertools
import math
import random
import re
from collections.abc import Iterable

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from keras_bahdanau.text.vocabulary import PAD, UNKNOWN

WORDS_CACHED, LONGEST_CACHED = 2**14, 32  # words that a sampler caches, longest one in characters
# in SentencePiece, the score of an unknown character is this far below the lowest score of a piece
_UNKNOWN_PENALTY = 10.0


class SubwordSampler:
    """Sampler that draws one of the many ways in which a model can split each sentence.

    A BPE model skips each merge with probability `alpha`, as in BPE-dropout (Provilkov et al.
    2020). A unigram model draws from all segmentations, with probabilities raised to the power
    `alpha` (Kudo 2018). `alpha` is above 0 and below 1. Other types of model raise ValueError.
    """

    def __init__(self, model: bytes, alpha: float):
        proto = sentencepiece_model_pb2.ModelProto.FromString(model)
        kind = proto.trainer_spec.ModelType.Name(proto.trainer_spec.model_type).lower()
        kinds = {"bpe": BpeDropout, "unigram": UnigramDraws}
        if kind not in kinds:
            raise ValueError(
                "Only BPE and unigram vocabularies can be sampled. "
                f"Received: a model of type {kind!r}. Use another vocabulary, or don't sample."
            )
        self.alpha = alpha
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self._ids = {piece.piece: number for number, piece in enumerate(proto.pieces)}
        self._has_bytes = proto.trainer_spec.byte_fallback
        scores = {piece.piece: piece.score for piece in proto.pieces if piece.type == piece.NORMAL}
        symbols = {piece.piece for piece in proto.pieces if piece.type == piece.USER_DEFINED}
        self._draws = kinds[kind](scores, alpha)
        self._parts = _parts(scores, symbols)
        self._known = scores.keys() | symbols
        self._symbols = symbols

    def sample(self, sentences, seed) -> list:
        """Draw a list of ids, without the end token, for each sentence.

        Each list depends only on its sentence and the seed.
        """
        seed = [int(part) for part in seed] if isinstance(seed, Iterable) else int(seed)
        return [self._row(text, seed) for text in self._processor.normalize(list(sentences))]

    def _row(self, text, seed):
        """Draw the ids of a normalized sentence; its parts are split separately."""
        # seeded with a string, Python's random numbers are the same in every process and version
        split = self._draws.splitter(random.Random(f"{seed} {text}").random)
        row = []
        for part in self._parts.findall(text):
            for piece in [part] if part in self._symbols else split(part):
                if piece in self._known:
                    row.append(self._ids[piece])
                else:
                    row += self._unknown(piece)
        if UNKNOWN in row and not self._has_bytes:  # merge each run of unknown characters
            pairs = itertools.pairwise([PAD, *row])
            row = [token for last, token in pairs if (last, token) != (UNKNOWN, UNKNOWN)]
        return row

    def _unknown(self, character):
        if self._has_bytes:
            return [self._ids[f"<0x{byte:02X}>"] for byte in character.encode()]
        return [UNKNOWN]


def _parts(pieces, symbols):
    """Return a pattern for the parts of a text that no piece crosses: symbols and words."""
    crossing = any("▁" in piece[1:] for piece in pieces)
    # longest first, as SentencePiece matches them
    alternatives = [re.escape(symbol) for symbol in sorted(symbols, key=len, reverse=True)]
    inside = "." if crossing else "[^▁]"
    until = f"(?:(?!{'|'.join(alternatives)}){inside})" if symbols else inside
    return re.compile("|".join([*alternatives, f".{until}*"]), re.DOTALL)


class BpeDropout:
    """BPE-dropout (Provilkov et al. 2020); the pair with the highest score is merged first."""

    def __init__(self, scores, alpha):
        self._scores = scores
        self._log_retained = math.log1p(-alpha)
        self._cached = functools.lru_cache(WORDS_CACHED)(self._merged)

    def splitter(self, random):
        """Return a function that splits a word, drawing from `random()`, a float in [0, 1)."""

        def gap():
            """Draw the number of merges before the next dropped one, which is geometric."""
            return int(min(math.log(1 - random()) / self._log_retained, 2**62))

        remaining = gap()  # counts down over all words, so most merges need no random number

        def leave_out():
            nonlocal remaining
            remaining -= 1
            if remaining >= 0:
                return False
            remaining = gap()
            return True

        def split(word):
            nonlocal remaining
            pieces = (self._cached if len(word) <= LONGEST_CACHED else self._merged)(word)
            merges = len(word) - len(pieces)
            if merges > remaining:
                return self._merged(word, leave_out)
            remaining -= merges
            return pieces

        return split

    def _merged(self, word, leave_out=lambda: False):
        """Return the pieces of a word as a list of strings."""
        # for each position in the word: the end of the piece that starts there, and vice versa
        ends, begins = [*range(1, len(word) + 1)], [*range(-1, len(word))]
        pairs = []

        def add(begin, middle, end):
            score = self._scores.get(word[begin:end])
            if score is not None:
                heapq.heappush(pairs, (-score, begin, middle, end))

        for middle in range(1, len(word)):
            add(middle - 1, middle, middle + 1)
        while pairs:
            _, begin, middle, end = heapq.heappop(pairs)
            if ends[begin] != middle or ends[middle] != end or leave_out():
                continue  # either piece was merged with another one, or the merge is dropped
            ends[begin], ends[middle], begins[end] = end, None, begin
            if begin:
                add(begins[begin], begin, end)
            if end < len(word):
                add(begin, end, ends[end])
        starts = [begin for begin, end in enumerate(ends) if end is not None]
        return [word[begin : ends[begin]] for begin in starts]


class UnigramDraws:
    """Random segmentations x of a word with p(x) ~ exp(alpha * sum of the scores of its pieces).

    Uses forward filtering and backward sampling (Kudo 2018): the sums over all splits of each
    prefix are computed once per word, and then the pieces are drawn from the end.
    """

    def __init__(self, scores, alpha):
        self._scores = {piece: alpha * score for piece, score in scores.items()}
        self._unknown = alpha * (min(scores.values()) - _UNKNOWN_PENALTY)
        self._longest = max(map(len, scores))
        self._cached = functools.lru_cache(WORDS_CACHED)(self._lattice)

    def splitter(self, random):
        """Return a function that splits a word, drawing from `random()`, a float in [0, 1)."""

        def split(word):
            lattice = (self._cached if len(word) <= LONGEST_CACHED else self._lattice)(word)
            pieces, end = [], len(word)
            while end:
                begins, until = lattice[end]
                begin = begins[bisect.bisect(until, random())] if until else begins[0]
                pieces.append(word[begin:end])
                end = begin
            return pieces[::-1]

        return split

    def _lattice(self, word):
        """Return a list of (starts, bounds) for each position where a piece can end.

        `starts` are the positions where the piece can start, and `bounds` are their cumulative
        probabilities without the last, which is 1.
        """
        total, lattice = [0.0], [([], [])]  # total: log of the sum over all splits of a prefix
        for end in range(1, len(word) + 1):
            begins, weights = [], []
            for begin in range(max(0, end - self._longest), end):
                score = self._scores.get(word[begin:end])
                if score is None and begin == end - 1:
                    score = self._unknown
                if score is not None:
                    begins.append(begin)
                    weights.append(total[begin] + score)
            highest = max(weights)
            sums = list(itertools.accumulate(math.exp(weight - highest) for weight in weights))
            total.append(highest + math.log(sums[-1]))
            lattice.append((begins, [until / sums[-1] for until in sums[:-1]]))
        return lattice
