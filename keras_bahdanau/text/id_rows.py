"""The ids of many sentences in one flat array, as `Subwords` or chance splits them."""

import numpy as np

from keras_bahdanau.text.byte_limit import byte_limit, cut_to_bytes
from keras_bahdanau.text.vocabulary import END, PAD

_CHUNK = 8192  # sentences that are split at once


class IdRows:
    """Rows of ids of different lengths, in one flat array.

    Attributes:
        lengths: Int array `(rows,)`, number of ids of each row.
    """

    def __init__(self, values, lengths, starts=None):
        self.lengths = lengths
        # (rows,), start of each row in the flat array
        self._starts = np.cumsum(lengths, dtype=np.int64) - lengths if starts is None else starts
        self._values = values

    @classmethod
    def of(cls, rows):
        """Rows of a list of int arrays."""
        lengths = np.fromiter((len(row) for row in rows), np.int64, len(rows))
        # flat: (ids of all rows,)
        return cls(np.concatenate([np.zeros(0, np.int32), *rows]).astype(np.int32), lengths)

    @classmethod
    def encoded(cls, subwords, sentences, end_of_empty=True):
        """Rows of sentences, as `Subwords.encode` splits them."""
        rows = []
        for first in range(0, len(sentences), _CHUNK):
            rows += subwords.encode(sentences[first : first + _CHUNK], end_of_empty)
        return cls.of(rows)

    @classmethod
    def sampled(cls, sampler, sentences, seed):
        """Rows of sentences, split at random by a `SubwordSampler`, each with an end token."""
        return cls.of([[*row, END] for row in sampler.sample(sentences, seed)])

    @classmethod
    def joined(cls, parts):
        """The rows of several `IdRows`, one after the other."""
        if len(parts) == 1:
            return parts[0]
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(np.concatenate([part.flat() for part in parts]), lengths)

    def flat(self):
        """The ids of all rows in their order: int32 `(ids of all rows,)`."""
        ends = np.cumsum(self.lengths, dtype=np.int64)
        # (rows,), from where a row begins there to where it begins here
        moved = self._starts - (ends - self.lengths)
        if (moved == moved[:1]).all():  # they stand one after the other
            return self._values[int(moved[:1].sum()) :][: int(ends[-1:].sum())]
        moved = np.repeat(moved, self.lengths)  # -> (ids of all rows,)
        return self._values[np.arange(len(moved)) + moved]

    def repeats(self):
        """Int array `(rows,)`: number of ids of each row that are equal to the one before."""
        flat, ends = self.flat(), np.cumsum(self.lengths, dtype=np.int64)
        starts = ends - self.lengths
        same = np.zeros(len(flat), bool)
        same[1:] = flat[1:] == flat[:-1]
        same[starts[self.lengths > 0]] = False  # the one before is of another row
        before = np.concatenate([[0], np.cumsum(same)])  # (ids of all rows + 1,)
        return before[ends] - before[starts]

    def stored(self):
        """The arrays that a shard keeps: a dictionary from the names of its parts."""
        return {"ids": self.flat(), "lengths": self.lengths}

    def at(self, places):
        """The rows at places, an int array: one may come several times."""
        return IdRows(self._values, self.lengths[places], self._starts[places])

    def part(self, first, end):
        """The rows from `first` up to, but without, `end`."""
        return IdRows(self._values, self.lengths[first:end], self._starts[first:end])

    def begun_with(self, token):
        """The rows with one more id before the others; an empty row stays empty."""
        longer = self.lengths > 0  # (rows,)
        starts = np.cumsum(self.lengths, dtype=np.int64) - self.lengths
        values = np.insert(self.flat(), starts[longer], np.int32(token))
        return IdRows(values, self.lengths + longer)

    def replaced(self, where, others):
        """These rows, with the rows of others where a bool array `(rows,)` is True."""
        return IdRows(
            np.concatenate([self._values, others._values]),
            np.where(where, others.lengths, self.lengths),
            # their values stand behind
            np.where(where, others._starts + len(self._values), self._starts),
        )

    def cut(self, longest):
        """The same rows with at most `longest` ids; the last one of a cut row is the end token."""
        values, longer = self._values.copy(), self.lengths > longest
        values[self._starts[longer] + longest - 1] = END
        return IdRows(values, np.minimum(self.lengths, longest), self._starts)

    def padded(self, members, shape):
        """The member rows as an int32 array of a shape `(rows, time)`, right-padded with 0."""
        rows = np.full(shape, PAD, np.int32)
        time = np.arange(shape[1])
        real = time < self.lengths[members][:, None]  # (members, 1) -> (members, time)
        positions = self._starts[members][:, None] + time  # (members, time), in the flat array
        # flat on both sides: the real ids, row by row
        rows[: len(members)][real] = self._values[positions[real]]
        return rows


def cut_rows(subwords, texts, longest, end_of_empty=True):
    """Rows of texts, each cut for itself alone: to bytes before it is split, then to ids.

    Args:
        subwords: `Subwords`.
        texts: List of strings, or bytes.
        longest: Integer, most ids of a row, the end token included.
        end_of_empty: Bool, as in `Subwords.encode`.

    Returns:
        (rows, truncated): `IdRows`, and a bool array `(rows,)`, which texts were longer.
    """
    short = [cut_to_bytes(text, byte_limit(longest)) for text in texts]
    rows = IdRows.encoded(subwords, short, end_of_empty)
    shorter = [now is not before for now, before in zip(short, texts, strict=True)]
    return rows.cut(longest), np.array(shorter, bool) | (rows.lengths > longest)
