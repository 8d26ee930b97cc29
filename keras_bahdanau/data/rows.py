"""The ids of many sentences, as a translator splits them or as chance does, and their links."""

import itertools

import numpy as np
import tensorflow as tf

from keras_bahdanau.text.alignments import check_links, token_alignment
from keras_bahdanau.text.subword_sampling import SubwordSampler
from keras_bahdanau.text.vocabulary import END, PAD

_CHUNK = 8192  # sentences that are tokenized at once


class Rows:
    """Rows of ids of different lengths, in one flat array.

    Attributes:
        lengths: Int array, ids of each row.
    """

    def __init__(self, values, lengths, starts=None):
        self.lengths = lengths
        # (rows,), where in the flat array each begins
        self._starts = np.cumsum(lengths) - lengths if starts is None else starts
        self._values = values

    @classmethod
    def tokenized(cls, tokenize, sentences):
        """Rows of sentences, split as a translator splits them."""
        chunks = [
            tokenize(tf.constant(sentences[first : first + _CHUNK]))
            for first in range(0, len(sentences), _CHUNK)
        ]
        return cls(
            _joined([chunk.values for chunk in chunks], np.int32),  # flat: (ids of all sentences,)
            _joined([chunk.row_lengths() for chunk in chunks], np.int64),
        )

    @classmethod
    def sampled(cls, sampler, sentences, seed):
        """Rows of sentences, split at random, each with an end token."""
        rows = sampler.sample(sentences, seed)
        lengths = np.fromiter((len(row) + 1 for row in rows), np.int64, len(rows))
        values = itertools.chain.from_iterable((*row, END) for row in rows)
        return cls(np.fromiter(values, np.int32, int(lengths.sum())), lengths)

    def replaced(self, where, others):
        """These rows, but the others where it says so."""
        return Rows(
            np.concatenate([self._values, others._values]),
            np.where(where, others.lengths, self.lengths),
            # their values stand behind
            np.where(where, others._starts + len(self._values), self._starts),
        )

    def padded(self, members, shape):
        """The member rows as an int32 array of the shape, padded."""
        rows = np.full(shape, PAD, np.int32)
        time = np.arange(shape[1])
        real = time < self.lengths[members][:, None]  # (members, 1) -> (members, time)
        positions = self._starts[members][:, None] + time  # (members, time), in the flat array
        # flat on both sides: the real ids, row by row
        rows[: len(members)][real] = self._values[positions[real]]
        return rows


class SampledRows:
    """The rows of both sides, split anew for each epoch.

    Attributes:
        longest: Integer. A row with more ids is split as a translator does it.
    """

    def __init__(self, pairs, tokenizer, alpha, plain, longest, seed):
        self._sentences = [[pair[side] for pair in pairs] for side in (0, 1)]
        models = (tokenizer.source_model, tokenizer.target_model)
        self._samplers = [SubwordSampler(model, alpha) for model in models]
        self._plain = plain
        self._seed = seed
        self._last = None
        self.longest = longest

    def epoch(self, number):
        """(source rows, target rows) of one epoch, always the same for the same number."""
        if self._last is None or self._last[0] != number:
            self._last = (number, tuple(self._drawn(side, number) for side in (0, 1)))
        return self._last[1]

    def _drawn(self, side, number):
        seed = (self._seed, number, side)
        rows = Rows.sampled(self._samplers[side], self._sentences[side], seed)
        plain = self._plain[side]
        return rows.replaced((rows.lengths > self.longest) | (plain.lengths == 0), plain)


class AlignmentRows:
    """The links of each pair, kept small, as dense weights over tokens when they are wanted."""

    def __init__(self, tokenizer, pairs, links, kept):
        self._links = list(links)
        if len(self._links) != len(pairs):
            raise ValueError(
                "`alignments` must hold one set of links for each pair. "
                f"Received: {len(self._links)} sets for {len(pairs)} pairs. "
                "Give an empty set for a pair without links."
            )
        self._source_words = tokenizer.source_words([source for source, _ in pairs])
        self._target_words = tokenizer.target_words([target for _, target in pairs])
        for pair in kept:
            words = (self._source_words[pair], self._target_words[pair])
            check_links(self._links[pair], *words, name=f"alignments[{pair}]")

    def padded(self, members, shape):
        """The member pairs' weights as a float32 array of the shape, padded."""
        alignment = np.zeros(shape, np.float32)
        for row, pair in zip(alignment, members, strict=False):  # the last row may be empty
            words = (self._source_words[pair], self._target_words[pair])
            # (target_time, source_time), unpadded
            weights = token_alignment(self._links[pair], *words)
            row[: weights.shape[0], : weights.shape[1]] = weights
        return alignment


def _joined(arrays, dtype):
    return np.concatenate([np.zeros(0, dtype), *(np.asarray(array) for array in arrays)])
