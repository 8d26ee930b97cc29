"""Lexical shortlists: the few target tokens that a sentence is searched in."""

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_bahdanau.search.result import take_beams

SPECIAL = 4  # ids 0 to 3: padding, unknown, start and end
UNSEEN = -1  # in place of the candidates of a source token that is in no training pair


class Lists(NamedTuple):
    """Lists of a batch: each sentence has its own, which no neighbour changes.

    A search counts tokens by their places in the list; those below 4 are the ids below 4.

    Attributes:
        tokens: Int32 tensor `(batch, listed)`, different ids in each row.
        covered: Bool tensor `(batch,)`, False for a sentence that needs the whole vocabulary.
        given: Int32 tensor `(batch, n)`, the places of the tokens that were given.
    """

    tokens: Any
    covered: Any
    given: Any

    def ids(self, places):
        """The ids of places `(batch, ...)`."""
        flat = ops.reshape(places, (ops.shape(self.tokens)[0], -1))
        return ops.reshape(take_beams(self.tokens, flat), ops.shape(places))


class Shortlist:
    """Target tokens that each source token may become.

    The output layer of a search is as wide as the list of its sentence, in place of the
    vocabulary (Jean et al. 2015): the candidates of its source tokens, and the most frequent
    target tokens, as many as fit. `pipelines.learn_shortlist` makes one of the attention of a
    model.

    ```python
    shortlist = Shortlist([[0], [5], [-1]], order=[0, 1, 2, 3, 6, 4, 5], frequent=1)
    shortlist.lists([[1, 1, 0]], size=6).tokens  # [[0, 1, 2, 3, 6, 5]]
    ```

    Args:
        candidates: Int array `(source vocabulary, K)`, target ids for each source token, the best
            first; 0 behind the last one. A row of -1 stands for a token that has never been seen.
        order: Int array `(target vocabulary,)`, all target ids, the most frequent first, but the
            ids 0 to 3 before them.
        frequent: Integer, 0 or more: how many of the most frequent tokens all lists have.

    Raises:
        ValueError: If the arrays have another form, or hold other ids.
    """

    def __init__(self, candidates, order, frequent=100):
        self.candidates, self.order = (np.asarray(one, "int32") for one in (candidates, order))
        self.frequent = int(frequent)
        _check(self.candidates, self.order, self.frequent)
        ranks = np.argsort(self.order).astype("int32")  # of each id
        placed = np.where(self.candidates < 0, UNSEEN, ranks[np.maximum(self.candidates, 0)])
        tables = {"candidates": placed, "order": self.order, "ranks": ranks}
        self._tables = {
            name: keras.Variable(table, dtype="int32", trainable=False, name=f"shortlist_{name}")
            for name, table in tables.items()
        }

    @property
    def weights(self):
        """List of the variables that a graph reads."""
        return [*self._tables.values()]

    def __eq__(self, other):
        return isinstance(other, Shortlist) and all(
            np.array_equal(one, own) for one, own in zip(other.parts, self.parts, strict=True)
        )

    def __hash__(self):
        return hash((self.candidates.shape, self.order.size, self.frequent))

    @property
    def common(self):
        """Number of the tokens that all lists have."""
        return SPECIAL + self.frequent

    @property
    def parts(self):
        """(candidates, order, frequent), the arguments."""
        return self.candidates, self.order, self.frequent

    def lists(self, source, size, given=None):
        """Make the lists of some sources.

        A list has the tokens of all lists, then the best candidate of each source token, then the
        second best of each, and so on, as long as all of one kind fit, and then frequent tokens.
        A sentence is not covered if not even the best candidates fit, or if a token of it has
        never been seen. Ids stand in the order of their frequency, 0 to 3 first.

        Args:
            source: Int32 tensor `(batch, source_time)`, ids, right-padded with 0.
            size: Positive integer, tokens of each list; the vocabulary if it is smaller.
            given: Int32 tensor `(batch, n)`, further target ids that the list must have; 0 for
                none.

        Returns:
            `Lists`.
        """
        vocabulary = self.order.size
        size = min(size, vocabulary)
        source = ops.convert_to_tensor(source, "int32")
        found = ops.take(self._tables["candidates"], source, axis=0)  # (batch, source_time, K)
        known = ops.logical_or(ops.greater_equal(found[..., 0], 0), ops.equal(source, 0))
        seen = ops.all(known, axis=1)  # -> (batch,)
        given = ops.zeros_like(source[:, :1]) if given is None else given
        given = ops.take(self._tables["ranks"], given, axis=0)  # -> (batch, n)
        grades = self._grades(found, given)  # -> (batch, vocabulary)
        lowest = _lowest_grade(grades, self.candidates.shape[1] + 1, size)
        wanted = ops.greater_equal(grades, ops.expand_dims(lowest, axis=1))
        count = ops.sum(ops.cast(wanted, "int32"), axis=1, keepdims=True)  # -> (batch, 1)
        # frequent tokens fill what is left of the list: (batch, vocabulary)
        others = ops.logical_not(wanted)
        order = ops.cumsum(ops.cast(others, "int32"), axis=1)
        kept = ops.logical_or(wanted, ops.logical_and(others, ops.less_equal(order, size - count)))
        places = ops.cumsum(ops.cast(kept, "int32"), axis=1) - 1
        tokens = ops.take(self._tables["order"], _ranks_at(places, kept, size), axis=0)
        covered = ops.logical_and(seen, ops.less_equal(lowest, self.candidates.shape[1]))
        # the place of a token in a list that is too long for it does not count
        given = ops.clip(take_beams(places, given), 0, size - 1)
        return Lists(tokens, covered, given)

    def _grades(self, found, given):
        """Grades of all tokens for the lists, by rank: int32 `(batch, vocabulary)`.

        K + 1 of what it must have, K of the best candidate of a source token, K - 1 of the second
        best, and so on; 0 of all others.

        Args:
            found: Int32 tensor `(batch, source_time, K)`, ranks.
            given: Int32 tensor `(batch, n)`, ranks.
        """
        batch, vocabulary, most = ops.shape(given)[0], self.order.size, found.shape[2]
        # (batch, source_time, K) of K, K - 1, ... 1
        of_found = ops.zeros_like(found) + ops.arange(most, 0, -1, dtype="int32")
        ranks, grades = (
            ops.concatenate([ops.reshape(one, (batch, -1)), other], axis=1)
            for one, other in (
                (ops.maximum(found, 0), given),
                (of_found, ops.zeros_like(given) + (most + 1)),
            )
        )
        places = _segments(ranks, vocabulary)
        highest = ops.segment_max(
            ops.reshape(grades, (-1,)), places, num_segments=batch * vocabulary
        )
        highest = ops.maximum(ops.reshape(highest, (batch, vocabulary)), 0)
        always = ops.less(ops.arange(vocabulary), self.common)
        return ops.where(always, most + 1, highest)


def _segments(numbers, count):
    """Segments of numbers below `count`, each row with its own: `(batch, n)` -> `(batch * n,)`."""
    rows = ops.expand_dims(ops.arange(ops.shape(numbers)[0], dtype="int32"), axis=1)
    return ops.reshape(numbers + count * rows, (-1,))


def _lowest_grade(grades, highest, size):
    """The lowest grade of which all tokens, and all of higher ones, fit: int32 `(batch,)`.

    Args:
        grades: Int32 tensor `(batch, vocabulary)`, from 0 to `highest`.
        highest: Integer.
        size: Integer, tokens of a list.
    """
    batch, vocabulary = ops.shape(grades)[0], grades.shape[1]
    flat = _segments(grades, highest + 1)
    counts = ops.segment_sum(ops.ones_like(flat), flat, num_segments=batch * (highest + 1))
    below = ops.cumsum(ops.reshape(counts, (batch, highest + 1)), axis=1)[:, :-1]
    # the tokens of grade 1, 2, ... or higher: (batch, highest)
    too_many = ops.greater(vocabulary - below, size)
    return 1 + ops.sum(ops.cast(too_many, "int32"), axis=1)


def _ranks_at(places, kept, size):
    """The rank that stands at each place of a list: int32 `(batch, size)`.

    Args:
        places: Int32 tensor `(batch, vocabulary)`, the place of each rank that is kept.
        kept: Bool tensor `(batch, vocabulary)`.
        size: Integer.
    """
    batch = ops.shape(places)[0]
    # one place more in each row, for all that has none
    places = ops.where(kept, ops.minimum(places, size), size)
    flat = _segments(places, size + 1)
    ranks = ops.zeros_like(places) + ops.arange(places.shape[1], dtype="int32")
    found = ops.segment_sum(ops.reshape(ranks, (-1,)), flat, num_segments=batch * (size + 1))
    return ops.reshape(found, (batch, size + 1))[:, :size]


def _check(candidates, order, frequent):
    """Raise ValueError unless the parts of a shortlist go together."""
    vocabulary = order.size
    fits = (
        order.ndim == 1
        and vocabulary > SPECIAL
        and np.array_equal(np.sort(order), np.arange(vocabulary))
        and np.array_equal(order[:SPECIAL], np.arange(SPECIAL))
    )
    if not fits:
        raise ValueError(
            "`order` must have each target id once, 0 to 3 first. "
            f"Received: order of the shape {order.shape}, beginning with {order[:SPECIAL]}."
        )
    if candidates.ndim != 2 or not candidates.size:
        raise ValueError(
            "`candidates` must be an array (source vocabulary, K). "
            f"Received: candidates of the shape {candidates.shape}."
        )
    if candidates.min() < UNSEEN or candidates.max() >= vocabulary:
        raise ValueError(
            f"`candidates` must be target ids below {vocabulary}, or -1. "
            f"Received: ids from {candidates.min()} to {candidates.max()}."
        )
    if not 0 <= frequent <= vocabulary:
        raise ValueError(
            f"`frequent` must be from 0 to the size of the vocabulary, {vocabulary}. "
            f"Received: frequent={frequent!r}."
        )


def check_room(size, frequent, vocabulary):
    """Raise ValueError if lists have no room for more than the tokens of all lists.

    Args:
        size: Integer, tokens of a list; 0 for the whole vocabulary.
        frequent: Integer, how many of the most frequent tokens all lists have.
        vocabulary: Integer, number of target ids.
    """
    least = SPECIAL + min(frequent, vocabulary) + 1
    if 0 < size < min(least, vocabulary):
        raise ValueError(
            "A list must have room for more than the tokens of all lists. Received: "
            f"shortlist={size!r} with {SPECIAL} special and {frequent} frequent tokens. "
            f"Give {least} or more."
        )


def check_listed(options, model, shortlist):
    """Raise ValueError if search options ask for a shortlist that can't be.

    Args:
        options: `SearchOptions`.
        model: `Seq2Seq`, or another of its step protocol.
        shortlist: `Shortlist`; None for none.
    """
    if not options.shortlist:
        return
    if shortlist is None:
        raise ValueError(
            "Only a model that has a shortlist can search in one. Received: "
            f"shortlist={options.shortlist!r} for a model without. Learn one with "
            "`keras-bahdanau shortlist`, or give 0."
        )
    check_room(options.shortlist, shortlist.frequent, shortlist.order.size)
    if not model.lists_tokens:
        raise ValueError(
            "Only an output layer that is one matrix product can be that of a shortlist, not one "
            "of copying or of hard attention. "
            f"Received: shortlist={options.shortlist!r}. Give 0."
        )
