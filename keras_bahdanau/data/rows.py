"""Rows that change from epoch to epoch (sampled subwords, unknown characters), and word links."""

import numpy as np

from keras_bahdanau.text.alignments import check_links, token_alignment
from keras_bahdanau.text.id_rows import IdRows
from keras_bahdanau.text.subword_sampling import SubwordSampler
from keras_bahdanau.text.vocabulary import END, UNKNOWN
from keras_bahdanau.text.word_weights import check_words, token_weights


class SampledRows:
    """Rows of both sides, whose words are split at random in each epoch.

    If a sampled row is longer than `longest`, the unsampled row is used instead.
    """

    def __init__(self, pairs, used, source, target, rate, plain, longest, seed):
        members = set(used.tolist())
        # "" takes no time to sample
        pairs = [pair if row in members else ("", "") for row, pair in enumerate(pairs)]
        self._inputs, self._texts = ([pair[side] for pair in pairs] for side in (0, 1))
        self._source, self._rate = source, rate
        self._sampler = SubwordSampler(target.model, rate)
        self._plain = plain
        self._seed = seed
        self._last = None
        self.longest = longest

    def epoch(self, number):
        """Return (source rows, target rows) of an epoch, which depend only on its number."""
        if self._last is None or self._last[0] != number:
            seeds = [(self._seed, number, side) for side in (0, 1)]
            source = self._source.sampled_rows(self._inputs, self._rate, seeds[0])
            target = IdRows.sampled(self._sampler, self._texts, seeds[1])
            self._last = (number, (self._usable(source, 0), self._usable(target, 1)))
        return self._last[1]

    def _usable(self, rows, side):
        """Replace sampled rows that are too long or have no tokens with unsampled rows."""
        plain = self._plain[side]
        if rows is None:
            return plain
        # (pairs,): a pair that is left out has at most an end token
        unusable = (rows.lengths > self.longest[side]) | (rows.lengths <= 1) | (plain.lengths == 0)
        return rows.replaced(unusable, plain)


class AlignmentRows:
    """The links or word weights of each pair, which are converted to dense weights over tokens."""

    def __init__(self, source, target, pairs, links, used):
        self._links = list(links)
        if len(self._links) != len(pairs):
            raise ValueError(
                "`alignments` must contain one set of links for each pair. "
                f"Received: {len(self._links)} sets for {len(pairs)} pairs. "
                "Give an empty set for a pair without links."
            )
        self._source_words = source.words([source for source, _ in pairs])
        self._target_words = target.words([target for _, target in pairs])
        for pair in used:
            words = (self._source_words[pair], self._target_words[pair])
            check = check_words if _are_weights(self._links[pair]) else check_links
            check(self._links[pair], *words, name=f"alignments[{pair}]")

    def padded(self, members, shape):
        """Return the weights of the pairs `members` as a padded float32 array of shape `shape`."""
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


class UnknownCharacters:
    """Replaces a character on both sides of some pairs with the unknown token, wherever it occurs.

    A model trained on unknown tokens on both sides outputs one when it attends to one, and
    `replace_unknown` replaces it with the source's letter (after Luong et al. 2015, section 3.1,
    "copyable"). A doubled character is never replaced, because a run of unknown characters is a
    single token. `copies` is the result of `text.copies.copied_ids`, and `rate` is the fraction of
    pairs to change.
    """

    def __init__(self, copies, rate, seed, shard=(0, 1)):
        self._copies = np.asarray(copies, np.int32)  # (source_vocabulary,)
        self._rate, self._seed, self._shard = rate, seed, shard

    def __call__(self, batch, step, number):
        """Return a batch of `BatchedPairs` with unknown characters.

        The result depends only on the batch, its step, and the number of its pass.
        """
        (features, target_in, *extra), target_out, weight = batch
        arrays = (features, target_in, target_out)
        features, target_in, target_out = (array.copy() for array in arrays)
        index, count = self._shard
        random = np.random.default_rng((self._seed, number, step))
        draws = random.random((count * len(features), 2))[index::count]  # -> (rows, 2)
        for row in np.flatnonzero(draws[:, 0] < self._rate):
            source, target = features[row], target_out[row]  # views of (time,)
            shared = np.intersect1d(self._single(self._copies[source]), self._single(target))
            if not len(shared):
                continue
            chosen = shared[int(draws[row, 1] * len(shared))]
            source[self._copies[source] == chosen] = UNKNOWN
            target[target == chosen] = UNKNOWN
            target_in[row][target_in[row] == chosen] = UNKNOWN
        return (features, target_in, *extra), target_out, weight

    @staticmethod
    def _single(ids):
        """Return the ids of the characters that are never doubled."""
        double = ids[1:][ids[1:] == ids[:-1]]
        return np.setdiff1d(ids[ids > END], double)
