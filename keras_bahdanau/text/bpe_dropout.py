"""Words merged by BPE, with some of the merges left out by chance."""

import functools
import heapq
import math

from keras_bahdanau.text.unigram_draws import LONGEST_CACHED, WORDS_CACHED


class BpeDropout:
    """BPE-dropout as SentencePiece has it.

    The pair of neighbours with the highest score is merged, again and again. Each merge is left
    out with a probability `alpha`; that pair is then never merged. (Provilkov et al. 2020.)

    Args:
        scores: Dictionary from a piece to its score.
        alpha: Float above 0 and below 1.
    """

    def __init__(self, scores, alpha):
        self._scores = scores
        self._log_of_kept = math.log1p(-alpha)
        self._cached = functools.lru_cache(WORDS_CACHED)(self._merged)

    def splitter(self, random):
        """Function from a word to the list of its pieces.

        Args:
            random: Function that draws a float from [0, 1).
        """

        def gap():
            """Merges until the next one that is left out: geometric, by its inverse."""
            return int(min(math.log(1 - random()) / self._log_of_kept, 2**62))

        kept = gap()  # over the merges of all words in turn: most need no number of their own

        def leave_out():
            nonlocal kept
            kept -= 1
            if kept >= 0:
                return False
            kept = gap()
            return True

        def split(word):
            nonlocal kept
            pieces = (self._cached if len(word) <= LONGEST_CACHED else self._merged)(word)
            merges = len(word) - len(pieces)
            if merges > kept:
                return self._merged(word, leave_out)
            kept -= merges
            return pieces

        return split

    def _merged(self, word, leave_out=lambda: False):
        """The pieces of a word: list of strings."""
        # by the positions in the word: the end of the piece that begins there, and the reverse
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
                continue  # one of the two has been merged with another, or by chance
            ends[begin], ends[middle], begins[end] = end, None, begin
            if begin:
                add(begins[begin], begin, end)
            if end < len(word):
                add(begin, end, ends[end])
        starts = [begin for begin, end in enumerate(ends) if end is not None]
        return [word[begin : ends[begin]] for begin in starts]
