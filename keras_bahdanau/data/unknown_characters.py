"""Characters of both sides of a pair, unknown in some batches: the model learns to copy them."""

import numpy as np

from keras_bahdanau.text.vocabulary import END, UNKNOWN


class UnknownCharacters:
    """In some pairs one character of both sides becomes the unknown token, in each place it has.

    A vocabulary of characters has those of the training alone, so a new lemma may have a letter
    that no model can write. One that has met unknown tokens on both sides writes one where it
    attends to one, and `replace_unknown` puts the letter of the source there (Luong et al. 2015,
    section 3.1, "copyable" unknown words, which stand in the text there; here they are drawn).

    A character that stands twice in a row stays as it is: a row of unknown ones is one token.

    Args:
        copies: Sequence of integers, for each source id that of the target's same token, or -1:
            see `text.copied_ids`.
        rate: Float from 0 to 1, the share of the pairs.
        seed: Non-negative integer.
        shard: Tuple (index, count) of a worker, which has the rows index, index + count, ... of
            a batch: they have the unknown characters that they have in the whole batch.

    Example:
        >>> unknown = UnknownCharacters(copied_ids(source, target), rate=0.1, seed=1)
        >>> batch = unknown(batch, step=20, number=3)
    """

    def __init__(self, copies, rate, seed, shard=(0, 1)):
        self._copies = np.asarray(copies, np.int32)  # (source_vocabulary,)
        self._rate, self._seed, self._shard = rate, seed, shard

    def __call__(self, batch, step, number):
        """The batch with unknown characters, the same for the same step and pass.

        Args:
            batch: `((features, target_in, ...), target_out, weight)`, as `BatchedPairs` has it,
                whose features are ids.
            step: Non-negative integer, the batch of the pass.
            number: Non-negative integer, the pass over the pairs.

        Returns:
            The same structure.
        """
        (features, target_in, *others), target_out, weight = batch
        features, target_in, target_out = (one.copy() for one in (features, target_in, target_out))
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
        return (features, target_in, *others), target_out, weight

    @staticmethod
    def _single(ids):
        """The ids of characters of which no two stand side by side."""
        double = ids[1:][ids[1:] == ids[:-1]]
        return np.setdiff1d(ids[ids > END], double)
