"""Rows of both sides of many pairs that change: split by chance anew, or linked word by word."""

import numpy as np

from keras_bahdanau.text.alignments import check_links, token_alignment
from keras_bahdanau.text.id_rows import IdRows
from keras_bahdanau.text.subword_sampling import SubwordSampler
from keras_bahdanau.text.word_weights import check_words, token_weights


class SampledRows:
    """Rows of both sides, split anew for each epoch.

    A source that is no text has the same rows in each epoch, and so have the pairs that are left
    out of training, however long these may be.

    Attributes:
        longest: Pair of integers, of the sides. A row with more ids is split as a translator does
            it.
    """

    def __init__(self, pairs, kept, source, target, rate, plain, longest, seed):
        taken = set(kept.tolist())
        # "" is drawn from at once
        pairs = [pair if row in taken else ("", "") for row, pair in enumerate(pairs)]
        self._inputs, self._texts = ([pair[side] for pair in pairs] for side in (0, 1))
        self._source, self._rate = source, rate
        self._sampler = SubwordSampler(target.model, rate)
        self._plain = plain
        self._seed = seed
        self._last = None
        self.longest = longest

    def epoch(self, number):
        """(source rows, target rows) of one epoch, always the same for the same number."""
        if self._last is None or self._last[0] != number:
            seeds = [(self._seed, number, side) for side in (0, 1)]
            source = self._source.sampled_rows(self._inputs, self._rate, seeds[0])
            target = IdRows.sampled(self._sampler, self._texts, seeds[1])
            self._last = (number, (self._usable(source, 0), self._usable(target, 1)))
        return self._last[1]

    def _usable(self, rows, side):
        """Rows with the plain ones in place of those that are too long, or have no token."""
        plain = self._plain[side]
        if rows is None:
            return plain
        # (pairs,): one that is left out has its end token at most
        unusable = (rows.lengths > self.longest[side]) | (rows.lengths <= 1) | (plain.lengths == 0)
        return rows.replaced(unusable, plain)


class AlignmentRows:
    """The links of each pair, kept small, as dense weights over tokens when they are wanted.

    In the place of links a pair may have the weights of its words: see `word_weights`.
    """

    def __init__(self, source, target, pairs, links, kept):
        self._links = list(links)
        if len(self._links) != len(pairs):
            raise ValueError(
                "`alignments` must hold one set of links for each pair. "
                f"Received: {len(self._links)} sets for {len(pairs)} pairs. "
                "Give an empty set for a pair without links."
            )
        self._source_words = source.words([source for source, _ in pairs])
        self._target_words = target.words([target for _, target in pairs])
        for pair in kept:
            words = (self._source_words[pair], self._target_words[pair])
            check = check_words if _are_weights(self._links[pair]) else check_links
            check(self._links[pair], *words, name=f"alignments[{pair}]")

    def padded(self, members, shape):
        """The member pairs' weights as a float32 array of the shape, padded."""
        alignment = np.zeros(shape, np.float32)
        for row, pair in zip(alignment, members, strict=False):  # the last row may be empty
            words = (self._source_words[pair], self._target_words[pair])
            # (target_time, source_time), unpadded
            spread = token_weights if _are_weights(self._links[pair]) else token_alignment
            weights = spread(self._links[pair], *words)
            row[: weights.shape[0], : weights.shape[1]] = weights
        return alignment


def _are_weights(links):
    return isinstance(links, np.ndarray)
