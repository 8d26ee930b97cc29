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

    Example:
        >>> unknown = UnknownCharacters(copied_ids(source, target), rate=0.1, seed=1)
        >>> batch = unknown(batch, step=20, number=3)
    """

    def __init__(self, copies, rate, seed):
        self._copies = np.asarray(copies, np.int32)  # (source_vocabulary,)
        self._rate, self._seed = rate, seed

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
        random = np.random.default_rng((self._seed, number, step))
        features, target_in, target_out = (one.copy() for one in (features, target_in, target_out))
        for row in np.flatnonzero(random.random(len(features)) < self._rate):
            source, target = features[row], target_out[row]  # views of (time,)
            shared = np.intersect1d(self._single(self._copies[source]), self._single(target))
            if not len(shared):
                continue
            chosen = random.choice(shared)
            source[self._copies[source] == chosen] = UNKNOWN
            target[target == chosen] = UNKNOWN
            target_in[row][target_in[row] == chosen] = UNKNOWN
        return (features, target_in, *others), target_out, weight

    @staticmethod
    def _single(ids):
        """The ids of characters of which no two stand side by side."""
        double = ids[1:][ids[1:] == ids[:-1]]
        return np.setdiff1d(ids[ids > END], double)
