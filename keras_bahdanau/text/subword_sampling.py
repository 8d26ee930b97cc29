"""Sentences split into subwords at random, reproducibly in every process for one seed."""

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

WORDS_CACHED, LONGEST_CACHED = 2**14, 32  # most words and characters that a sampler caches
_UNKNOWN_PENALTY = 10.0  # SentencePiece's distance of an unknown character's score below all pieces


class SubwordSampler:
    """Draw one of the many ways in which a model can split each sentence.

    A BPE model leaves out each merge with the probability `alpha`, as in BPE-dropout (Provilkov et
    al. 2020); a unigram model draws among all segmentations, with probabilities to the power of
    `alpha` (Kudo 2018). `alpha` is above 0 and below 1; other types of models raise ValueError.
    """

    def __init__(self, model: bytes, alpha: float):
        proto = sentencepiece_model_pb2.ModelProto.FromString(model)
        kind = proto.trainer_spec.ModelType.Name(proto.trainer_spec.model_type).lower()
        kinds = {"bpe": BpeDropout, "unigram": UnigramDraws}
        if kind not in kinds:
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
        self._draws = kinds[kind](scores, alpha)
        self._parts = _parts(scores, symbols)
        self._known = scores.keys() | symbols
        self._symbols = symbols

    def sample(self, sentences, seed) -> list:
        """Lists of ids, without end tokens; each depends only on its sentence and the seed."""
        seed = [int(part) for part in seed] if isinstance(seed, Iterable) else int(seed)
        return [self._row(text, seed) for text in self._processor.normalize(list(sentences))]

    def _row(self, text, seed):
        """Ids of a normalized sentence, whose parts are split separately."""
        # seeded by a string, Python's numbers are the same in every process and version
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
        if self._has_bytes:
            return [self._ids[f"<0x{byte:02X}>"] for byte in character.encode()]
        return [UNKNOWN]


def _parts(pieces, symbols):
    """Pattern of the parts of a text that no piece crosses: symbols, and words."""
    crossing = any("▁" in piece[1:] for piece in pieces)
    # longest first, as SentencePiece finds them
    alternatives = [re.escape(symbol) for symbol in sorted(symbols, key=len, reverse=True)]
    inside = "." if crossing else "[^▁]"
    until = f"(?:(?!{'|'.join(alternatives)}){inside})" if symbols else inside
    return re.compile("|".join([*alternatives, f".{until}*"]), re.DOTALL)


class BpeDropout:
    """BPE-dropout (Provilkov et al. 2020): the neighbours with the highest score merge first."""

    def __init__(self, scores, alpha):
        self._scores = scores
        self._log_retained = math.log1p(-alpha)
        self._cached = functools.lru_cache(WORDS_CACHED)(self._merged)

    def splitter(self, random):
        """Function from a word to its pieces, which draws from `random()`, a float in [0, 1)."""

        def gap():
            """Number of merges until the next one is dropped: geometric, by inversion."""
            return int(min(math.log(1 - random()) / self._log_retained, 2**62))

        remaining = gap()  # counts over the merges of all words: most merges draw no number

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
        """The pieces of a word: list of strings."""
        # by position in the word: the end of the piece that starts there, and the reverse
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
                continue  # one of the two was merged with another piece, or the merge is dropped
            ends[begin], ends[middle], begins[end] = end, None, begin
            if begin:
                add(begins[begin], begin, end)
            if end < len(word):
                add(begin, end, ends[end])
        starts = [begin for begin, end in enumerate(ends) if end is not None]
        return [word[begin : ends[begin]] for begin in starts]


class UnigramDraws:
    """Segmentations x of a word with p(x) ~ exp(alpha * sum of the scores of its pieces).

    Forward filtering, backward sampling (Kudo 2018): sums over all splits of a prefix, once per
    word; then pieces are drawn from the end.
    """

    def __init__(self, scores, alpha):
        self._scores = {piece: alpha * score for piece, score in scores.items()}
        self._unknown = alpha * (min(scores.values()) - _UNKNOWN_PENALTY)
        self._longest = max(map(len, scores))
        self._cached = functools.lru_cache(WORDS_CACHED)(self._lattice)

    def splitter(self, random):
        """Function from a word to its pieces, which draws from `random()`, a float in [0, 1)."""

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
        """For each end of a piece: its possible starts, and the bounds between their shares."""
        total, lattice = [0.0], [([], [])]  # total: log of the sum over all ways to get there
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
