"""Rows of ids of many sentences in one flat array, and ways to split sentences into them."""

import functools

import numpy as np

from keras_bahdanau.text.features import is_blank
from keras_bahdanau.text.ids import byte_limit, cut_to_bytes
from keras_bahdanau.text.vocabulary import END, PAD

_CHUNK = 8192  # sentences per call to SentencePiece
MOST_WORDS = 2**19  # words that a process caches for a vocabulary: about 150 MB
_SPACE = "\u2581"  # ▁, SentencePiece's mark for a space


class IdRows:
    """Rows of ids in one flat array; `lengths`, int `(rows,)`, is the number of ids in each row."""

    def __init__(self, values, lengths, starts=None):
        self.lengths = lengths
        # (rows,), start of each row in the flat array
        self._starts = np.cumsum(lengths, dtype=np.int64) - lengths if starts is None else starts
        self._values = values

    @classmethod
    def from_lists(cls, rows):
        lengths = np.fromiter((len(row) for row in rows), np.int64, len(rows))
        # flat: (ids of all rows,)
        return cls(np.concatenate([np.zeros(0, np.int32), *rows]).astype(np.int32), lengths)

    @classmethod
    def encoded(cls, subwords, sentences, end_of_empty=True):
        rows = []
        for first in range(0, len(sentences), _CHUNK):
            rows += subwords.encode(sentences[first : first + _CHUNK], end_of_empty)
        return cls.from_lists(rows)

    @classmethod
    def sampled(cls, sampler, sentences, seed):
        """Split sentences at random with a `SubwordSampler`; each row ends with the end token."""
        return cls.from_lists([[*row, END] for row in sampler.sample(sentences, seed)])

    @classmethod
    def joined(cls, parts):
        if len(parts) == 1:
            return parts[0]
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(np.concatenate([part.flat() for part in parts]), lengths)

    def flat(self):
        """Return the ids of all rows in order: int32 `(ids of all rows,)`."""
        ends = np.cumsum(self.lengths, dtype=np.int64)
        # (rows,), offset from a row's start in the result to its start in the stored array
        moved = self._starts - (ends - self.lengths)
        if (moved == moved[:1]).all():  # the rows are stored contiguously
            return self._values[int(moved[:1].sum()) :][: int(ends[-1:].sum())]
        moved = np.repeat(moved, self.lengths)  # -> (ids of all rows,)
        return self._values[np.arange(len(moved)) + moved]

    def repeats(self):
        """Count the ids in each row that are equal to the previous id: int array `(rows,)`."""
        flat, ends = self.flat(), np.cumsum(self.lengths, dtype=np.int64)
        starts = ends - self.lengths
        repeated = np.zeros(len(flat), bool)
        repeated[1:] = flat[1:] == flat[:-1]
        repeated[starts[self.lengths > 0]] = False  # the previous id belongs to another row
        before = np.concatenate([[0], np.cumsum(repeated)])  # (ids of all rows + 1,)
        return before[ends] - before[starts]

    def stored(self):
        return {"ids": self.flat(), "lengths": self.lengths}

    def at(self, numbers):
        """Return the rows at the indices `numbers`, an int array that may repeat rows."""
        return IdRows(self._values, self.lengths[numbers], self._starts[numbers])

    def part(self, first, end):
        """Return the rows from `first` up to, but not including, `end`."""
        return IdRows(self._values, self.lengths[first:end], self._starts[first:end])

    def prepended(self, token):
        """Return the rows with `token` inserted at the start of each; empty rows stay empty."""
        longer = self.lengths > 0  # (rows,)
        starts = np.cumsum(self.lengths, dtype=np.int64) - self.lengths
        values = np.insert(self.flat(), starts[longer], np.int32(token))
        return IdRows(values, self.lengths + longer)

    def replaced(self, where, substitutes):
        """Return the rows, with those of `substitutes` where the bool `where` `(rows,)` is True."""
        return IdRows(
            np.concatenate([self._values, substitutes._values]),
            np.where(where, substitutes.lengths, self.lengths),
            # the values of `substitutes` follow
            np.where(where, substitutes._starts + len(self._values), self._starts),
        )

    def cut(self, longest):
        """Return the rows, cut to at most `longest` ids; a cut row ends with the end token."""
        values, longer = self._values.copy(), self.lengths > longest
        values[self._starts[longer] + longest - 1] = END
        return IdRows(values, np.minimum(self.lengths, longest), self._starts)

    def padded(self, members, shape):
        """Return the rows `members` as int32 `shape` `(rows, time)`, right-padded with 0."""
        rows = np.full(shape, PAD, np.int32)
        time = np.arange(shape[1])
        real = time < self.lengths[members][:, None]  # (members, 1) -> (members, time)
        positions = self._starts[members][:, None] + time  # (members, time), in the flat array
        # both sides are flat: the real ids, row by row
        rows[: len(members)][real] = self._values[positions[real]]
        return rows


def cut_rows(subwords, texts, longest, end_of_empty=True):
    """Split texts into rows of at most `longest` ids.

    Returns (`IdRows`, bool `(rows,)` that is True for texts that were longer). Unless
    `end_of_empty` is True, a text counts as empty if the part before the byte limit is blank.
    """
    short = [cut_to_bytes(text, byte_limit(longest)) for text in texts]
    if not end_of_empty:
        short = [text[:0] if text and is_blank(text) else text for text in short]
    rows = IdRows.encoded(subwords, short, end_of_empty)
    shorter = [after is not before for after, before in zip(short, texts, strict=True)]
    return rows.cut(longest), np.array(shorter, bool) | (rows.lengths > longest)


def prefix_rows(subwords, prefixes, longest):
    """Return `IdRows` of prefixes, strings or ids, cut to `longest` and without end tokens."""
    if not are_ids(prefixes):
        short = [cut_to_bytes(prefix, byte_limit(longest)) for prefix in prefixes]
        prefixes = [row[:-1] for row in subwords.encode(short)]
    return IdRows.from_lists([[*row][:longest] for row in prefixes])


def are_ids(prefixes):
    """Return True if `prefixes` is a list of rows of ids (lists or arrays), not strings."""
    rows = list | np.ndarray
    return isinstance(prefixes, list) and any(isinstance(prefix, rows) for prefix in prefixes)


def rows_by_word(subwords, sentences, end_of_empty=True):
    """Split sentences like `IdRows.encoded`, but split each distinct word only once.

    This is twice as fast. It is used for BPE models in which no token crosses a space; for other
    models, `IdRows.encoded` is called.
    """
    if not sentences or not _splits_words(subwords.model):
        return IdRows.encoded(subwords, sentences, end_of_empty)
    rows = _words_of(subwords).rows(sentences, end_of_empty)
    # normalization does not treat ▁ in a text as a space, but BPE does
    whole = np.fromiter((_SPACE in sentence for sentence in sentences), bool, len(sentences))
    if not whole.any():
        return rows
    marked = [text if alone else "" for text, alone in zip(sentences, whole, strict=True)]
    return rows.replaced(whole, IdRows.encoded(subwords, marked, end_of_empty))


class _Words(dict):
    """Words, numbered in order of first occurrence, with their ids."""

    def __init__(self, subwords):
        super().__init__()
        self._subwords = subwords
        self._forget()

    def __missing__(self, word):
        number = self[word] = len(self)
        self._new.append(word)
        return number

    def rows(self, sentences, end_of_empty):
        """Join the ids of the words between spaces into rows of sentences."""
        if len(self) > MOST_WORDS:
            self._forget()
        words = " ".join(sentences).split(" ")  # an empty sentence gives [""]
        numbers = np.fromiter(map(self.__getitem__, words), np.int64, len(words))
        self._split_new()
        rows = self._known.at(numbers)
        counts = np.fromiter((text.count(" ") + 1 for text in sentences), np.int64, len(sentences))
        # (sentences,): ids per sentence; each has at least one word, which may be empty
        lengths = np.add.reduceat(rows.lengths, np.cumsum(counts) - counts)
        ended = (lengths > 0) | end_of_empty
        ids = np.insert(rows.flat(), np.cumsum(lengths)[ended], END)
        return IdRows(ids, lengths + ended)

    def _forget(self):
        self.clear()
        self._new = []
        self._known = IdRows.from_lists([])

    def _split_new(self):
        """Split the new words and add their rows."""
        self._known = IdRows.joined([self._known, IdRows(*self._subwords.split(self._new))])
        self._new = []


@functools.lru_cache(2)  # both sides of a corpus
def _words_of(subwords):
    return _Words(subwords)


@functools.lru_cache(8)
def _splits_words(model):
    """Return True if a model splits a word into the same ids in every sentence."""
    from sentencepiece import sentencepiece_model_pb2  # slow to import

    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    trainer, normalizer = proto.trainer_spec, proto.normalizer_spec
    tokens = {piece.piece for piece in proto.pieces}
    return (
        trainer.model_type == trainer.BPE
        and normalizer.add_dummy_prefix
        and normalizer.remove_extra_whitespaces
        and normalizer.escape_whitespaces
        and _SPACE in tokens
        and all(_SPACE not in token[1:] and " " not in token for token in tokens)
    )
