"""Words split by a unigram language model: one of all segmentations, drawn by its probability."""

import bisect
import functools
import itertools
import math

WORDS_CACHED, LONGEST_CACHED = 2**14, 32  # words, characters: what a sampler keeps in memory
_UNKNOWN_PENALTY = 10.0  # of SentencePiece: what an unknown character scores below all pieces


class UnigramDraws:
    """Segmentations x of a word with p(x) ~ exp(alpha * sum of the scores of its pieces).

    The sums over all ways to split the first characters are made once a word, from the
    beginning; the pieces are drawn from the end (forward filtering, backward sampling).
    (Kudo 2018.)

    Args:
        scores: Dictionary from a piece to its score, a log-probability.
        alpha: Float above 0 and below 1.
    """

    def __init__(self, scores, alpha):
        self._scores = {piece: alpha * score for piece, score in scores.items()}
        self._unknown = alpha * (min(scores.values()) - _UNKNOWN_PENALTY)
        self._longest = max(map(len, scores))
        self._cached = functools.lru_cache(WORDS_CACHED)(self._lattice)

    def splitter(self, random):
        """Function from a word to the list of its pieces.

        Args:
            random: Function that draws a float from [0, 1).
        """

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
        """For each end of a piece: where it can begin, and the bounds between their shares."""
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
