"""Rows of inputs that are decoded when they are needed: files, above all."""

import abc
import concurrent.futures

import numpy as np
import tensorflow as tf

from keras_bahdanau.files.whole_file import read_or
from keras_bahdanau.settings.cores import usable_cores


def side_by_side(function, *lists):
    """The results of a function of the elements of lists, as `map` gives them, by threads."""
    with concurrent.futures.ThreadPoolExecutor(usable_cores()) as pool:
        return [*pool.map(function, *lists)]


class DecodedRows(abc.ABC):
    """Rows of a source whose inputs have a header, which is read at once.

    The rest is decoded when `padded` asks for it, side by side, and not kept: a large set
    streams. With a cache of the source (`Source.cached`) it is decoded once. Features are a
    named tuple of `values` and `lengths`.

    Args:
        source: `Source`.
        inputs: List of inputs.
        headers: List, one header of each, as `measured` takes them.
        longest: Integer, most positions of a row.
        broken: Array of the attribute of this name, to go on with; None for a new one.

    Attributes:
        lengths: Int array `(rows,)`, number of positions of each by its header.
        truncated: Bool array `(rows,)`, which have more than those.
        broken: Bool array `(rows,)`, which have positions by their headers, and gave none when
            they were decoded, or whose file could not be read any more.
    """

    blank = 0  # value of padding

    def __init__(self, source, inputs, headers, longest, broken=None):
        self._source, self._inputs, self._headers = source, inputs, headers
        self._longest = longest
        self.lengths, self.truncated = self.measured(headers, longest)
        self.broken = np.zeros(len(inputs), bool) if broken is None else broken

    @abc.abstractmethod
    def measured(self, headers, longest):
        """(lengths, truncated) of inputs with these headers: see the attributes."""

    @abc.abstractmethod
    def decoded(self, one, header, longest):
        """The values of an input as an array, without padding, of at most `longest` positions.

        A broken one gives an empty array.

        Raises:
            OSError: If the system can't read its file.
        """

    @abc.abstractmethod
    def positions(self, array):
        """Number of positions of such an array."""

    def cut(self, longest):
        """The same rows with at most `longest` positions."""
        longest = min(longest, self._longest)
        return type(self)(self._source, self._inputs, self._headers, longest, self.broken)

    def padded(self, members, shape):
        """The member rows as features of a shape `(rows, source_time)`, padded with `blank`."""
        specs = self._source.batch_spec(*shape)
        values = np.full(specs.values.shape, self.blank, specs.values.dtype.as_numpy_dtype)
        lengths = np.zeros(shape[0], np.int32)

        def place(row, member):
            array = read_or(None, self._array, member)  # which the cache does not keep then
            if array is not None:
                array = array[tuple(map(slice, values.shape[1:]))]
                values[(row, *map(slice, array.shape))] = array
                lengths[row] = min(self.lengths[member], self.positions(array))
            self.broken[member] = self.lengths[member] > lengths[row] == 0

        side_by_side(place, range(len(members)), members)
        return type(specs)(values, lengths)

    def _array(self, member):
        one, cache = self._inputs[member], self._source.cache

        def decoded():
            with tf.device("CPU:0"):
                return self.decoded(one, self._headers[member], self._longest)

        if cache is None:
            return decoded()
        # one that is whole is the same under every limit
        longest = self._longest if self.truncated[member] else None
        return cache.array(one, longest, decoded)
