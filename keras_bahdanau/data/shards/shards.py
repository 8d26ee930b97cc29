"""Corpora larger than memory, stored as token ids on disk in shards that never change."""

import concurrent.futures
import contextlib
import copy
import functools
import hashlib
import json
from pathlib import Path

import numpy as np

from keras_bahdanau.data.pairs import Pairs
from keras_bahdanau.data.shards.file_rows import FileContents, FileRows
from keras_bahdanau.data.shards.shard_files import (
    CARD,
    FORMAT,
    SIDES,
    file_of,
    has_checksum,
    mapped_array,
    parsed_card,
    parts_of,
    write_arrays,
)
from keras_bahdanau.files.integrity import Damage, write_sealed_json
from keras_bahdanau.files.whole_file import open_regular
from keras_bahdanau.settings.cores import usable_cores
from keras_bahdanau.settings.limits import MOST_SHARDS
from keras_bahdanau.sources.named_source import read_sides, serialized_sides
from keras_bahdanau.text.features import require_token, tagged
from keras_bahdanau.text.id_rows import IdRows


class Shards(Pairs):
    """Pairs of sources and target texts on disk, which are read in parts and never as a whole.

    The directory contains `card.json`, and one directory for each shard, such as `00000`. A shard
    has four int32 arrays: `source.ids.npy` and `target.ids.npy` are flat arrays of ids with end
    tokens, and `source.lengths.npy` and `target.lengths.npy` contain the length of each row.
    Sources that are files, such as images, are stored unchanged: `source.bytes.npy` is a flat uint8
    array of their contents, `source.sizes.npy` has the number of bytes in each file, and
    `source.lengths.npy` its number of positions. `len(shards)` is the number of pairs.

    Args:
        directory: Path, also an attribute.

    Attributes:
        entries: List of dictionaries, the entries of the shards in the card.
        pairs: Integer, the number of pairs.
        tokens: Pair of integers, the total positions of sources and of targets, including end
            tokens.
        settings: Dictionary, the settings with which the corpus was prepared.
        inputs_are: String, "lines" or "files": the form of the sources, as in `Source`.
        source: `Source` of the source ids or files.
        target: `Subwords` of the target ids.
        fingerprint: String that is the same for the same pairs, ids and vocabularies.

    Raises:
        FileNotFoundError: If the directory has no card, for example because it is unfinished.
        ValueError: If the card is damaged.

    Example:
        >>> shards = Shards("corpora/en-de")
        >>> source, target = shards.shard(0)  # two `IdRows`
        >>> source.padded(np.array([0, 1]), (2, int(source.lengths[:2].max())))
    """

    in_memory = False

    def __init__(self, directory):
        self.directory = Path(directory)
        self._card = self._checked_card()
        self.entries = self._card["shards"]
        self.pairs = self._card["pairs"]
        self.tokens = tuple(
            sum(entry[f"{side}_tokens"] for entry in self.entries) for side in SIDES
        )
        self.settings = self._card["settings"]
        self.inputs_are = self._card["inputs"]

    def __len__(self):
        return self.pairs

    @property
    def source(self):
        return self._sides[0]

    @property
    def target(self):
        return self._sides[1]

    @functools.cached_property
    def _sides(self):
        with self._reported(CARD):
            source, target = read_sides(self._card)
            if source.subwords is None and self.inputs_are == "lines":
                raise Damage("its source has no subwords, but token ids need them")
            if source.inputs_are != self.inputs_are:
                raise Damage(f"its source does not read {self.inputs_are}")
        return source, target

    @functools.cached_property
    def fingerprint(self):
        sums = [entry["sha256"] for entry in self.entries]
        content = [self._card["source"], self._card["target"], sums]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def batches(self, source, target, *, shard, **settings):
        from keras_bahdanau.data.shards.sharded_batches import (
            ShardedBatches,  # loads TensorFlow
        )

        for name in ("alignments", "subword_sampling", "temperature"):  # for other types of pairs
            settings.pop(name, None)
        _, workers = shard  # each worker has separate batches
        for name in {"batch_tokens", "batch_sentences"} & {*settings}:
            settings[name] = max(1, settings[name] // workers)
        return ShardedBatches(self.read_by(source), shard=shard, **settings)

    def read_by(self, source):
        """Return the same shards, read by another equal `Source`, such as one with a cache."""
        shards = copy.copy(self)
        shards._sides = source, self.target
        return shards

    def shard(self, number):
        """Return (source, target) of a shard, each `IdRows` or `FileRows` on disk.

        Raises ValueError if the shard is damaged.
        """
        entry = self.entries[number]
        return tuple(self._rows(entry, side) for side in SIDES)

    def lengths(self, number):
        """Return the row lengths of both sides, int32 `(pairs,)`. Raises as `shard` does."""
        # if ids or files are truncated, training fails here instead of hours later
        return tuple(rows.lengths for rows in self.shard(number))

    def part(self, number, first, end):
        """Read the pairs [`first`, `end`) of a shard. Raises as `shard` does."""
        entry, sizes = self.entries[number], (self.source.size, self.target.vocabulary_size)
        parts = []
        for side, rows, size in zip(SIDES, self.shard(number), sizes, strict=True):
            rows = rows.part(first, end)
            if "ids" in self._parts[side]:
                with self._reported(file_of(entry, side, "ids")):
                    rows = _read_ids(rows, size, first)
            parts.append(rows)
        return tuple(parts)

    def check(self, show=lambda text: None):
        """Compare each file with its checksum, using all cores.

        The ValueError for a missing or changed file includes its path. `show` is a function of one
        string, which shows progress.
        """
        sums = [
            (Path(entry["name"]) / name, checksum)
            for entry in self.entries
            for name, checksum in entry["sha256"].items()
        ]
        with concurrent.futures.ThreadPoolExecutor(usable_cores()) as pool:
            for number, _ in enumerate(pool.map(self._check_file, *zip(*sums, strict=True)), 1):
                show(f"checking the shards: file {number:,} of {len(sums):,}")

    def _check_file(self, path, checksum):
        with self._reported(path), open_regular(self.directory / path) as file:
            if not has_checksum(file, checksum):
                raise Damage("its checksum is not the one in the card")

    @property
    def _parts(self):
        """The parts of each side of a shard."""
        return parts_of(self.inputs_are)

    def _rows(self, entry, side):
        lengths = self._lengths(entry, side)
        if "ids" in self._parts[side]:
            return IdRows(self._array(entry, side, "ids", entry[f"{side}_tokens"]), lengths)
        sizes = self._array(entry, side, "sizes", entry["pairs"])
        with self._reported(file_of(entry, side, "sizes")):
            if sizes.min() < 0:
                raise Damage("it contains numbers below 0")
        ends = np.cumsum(sizes, dtype=np.int64)
        values = self._array(entry, side, "bytes", int(ends[-1]), "|u1")
        damaged = functools.partial(self._damaged, file_of(entry, side, "bytes"))
        contents = FileContents(values, ends - sizes, sizes, damaged=damaged)
        return FileRows(self.source, [contents], lengths)

    def _lengths(self, entry, side):
        lengths = self._array(entry, side, "lengths", entry["pairs"])
        with self._reported(file_of(entry, side, "lengths")):
            if lengths.min() < 0 or lengths.sum(dtype=np.int64) != entry[f"{side}_tokens"]:
                raise Damage("its lengths do not match the ids")
        return lengths

    def _array(self, entry, side, part, size, dtype="<i4"):
        """Map the array in a file into memory."""
        path = file_of(entry, side, part)
        with self._reported(path):
            return mapped_array(self.directory / path, size, dtype)

    def _checked_card(self):
        path = self.directory / CARD
        if not path.is_file():
            raise FileNotFoundError(
                f"A directory of pairs must contain complete shards, with the file {CARD} that "
                f"`prepare` writes last. Received: path={str(self.directory)!r}, which has none. "
                "Give a text file, a TSV or a manifest, or finish preparing the shards."
            )
        with self._reported(CARD):
            return parsed_card(path)

    @contextlib.contextmanager
    def _reported(self, path):
        """Context manager that adds the file's path to each error about its content."""
        try:
            yield
        except (OSError, ValueError) as error:
            raise self._damaged(path, error) from None

    def _damaged(self, path, error):
        """Create the error about a damaged file."""
        reason = " ".join(str(error).split())[:200]
        return ValueError(
            f"Shards must be intact. Received: path={str(self.directory / path)!r} ({reason}). "
            "Prepare the corpus again."
        )


class TaggedShards(Shards):
    """`Shards` with a tag before each source. The tag must be a token of the source."""

    def __init__(self, directory, tag):
        super().__init__(directory)
        require_token(tag, self.source)
        self.tag = tag
        # a vocabulary that keeps spaces has a single token for a tag and the space after it
        (ids,) = self.source.subwords.encode([tagged(tag, "a")])
        self._tag_id = int(ids[0])

    def lengths(self, number):
        source, target = super().lengths(number)
        return source + (source > 0), target

    def part(self, number, first, end):
        source, target = super().part(number, first, end)
        return source.prepended(self._tag_id), target


def write_shard(directory, number, source, target):
    """Write a shard, completely or not at all, and return its entry for `write_card`.

    Several processes may write shards with different numbers to the same directory.

    Args:
        directory: Path of the corpus, which is created if it is new.
        number: Integer, at least 0, the number of the shard.
        source: `IdRows` of the sources, at least one row, as from `Source.rows`: an empty source
            has no end token. Alternatively, `FileRows` of files.
        target: `IdRows` of the targets, each with an end token.

    Raises:
        OSError: If the disk is full, or the files can't be written for another reason.
        ValueError: If the sides have different numbers of rows, or none.

    Example:
        >>> rows = source.rows(sources), IdRows.encoded(target, targets)
        >>> entries = [write_shard("corpora/en-de", 0, *rows)]
        >>> write_card("corpora/en-de", entries, source, target)
    """
    _check_rows(number, source, target)
    name = f"{number:05d}"
    arrays = {
        f"{side}.{part}.npy": array
        for side, rows in zip(SIDES, (source, target), strict=True)
        for part, array in rows.stored().items()
    }
    sums = write_arrays(Path(directory) / name, arrays)
    lengths = [rows.lengths for rows in (source, target)]
    sides = zip(SIDES, lengths, strict=True)
    tokens = {f"{side}_tokens": int(counts.sum()) for side, counts in sides}
    longest = [int(counts.max()) for counts in lengths]
    return {"name": name, "pairs": len(lengths[0]), **tokens, "longest": longest, "sha256": sums}


def write_card(directory, entries, source, target, settings=None):
    """Write the card, which turns a directory of shards into a corpus, and return its `Shards`.

    Args:
        directory: Path of the corpus.
        entries: List of the entries that `write_shard` returned, in the order of their numbers.
        source: `Source` of the ids or files that were written.
        target: `Subwords` of the target ids.
        settings: Dictionary of JSON values to record; None to record nothing.

    Raises:
        ValueError: If the entries are not those of shards 0, 1, ... in this order.
    """
    card = {
        "format": FORMAT,
        "inputs": source.inputs_are,
        "pairs": sum(entry["pairs"] for entry in entries),
        **serialized_sides(source, target),
        "settings": settings or {},
        "shards": list(entries),
    }
    write_sealed_json(Path(directory) / CARD, card)
    return Shards(directory)


def _read_ids(rows, size, first):
    """Copy rows into memory, so that no file stays open.

    Raises `Damage` unless all ids are in [0, `size`).
    """
    ids, lengths = np.array(rows.flat()), np.array(rows.lengths)
    wrong = np.flatnonzero((ids < 0) | (ids >= size))
    if len(wrong):
        row = first + int(np.searchsorted(np.cumsum(lengths), wrong[0], side="right"))
        raise Damage(f"row {row} contains {ids[wrong[0]]}, but ids are from 0 to {size - 1}")
    return IdRows(ids, lengths)


def _check_rows(number, source, target):
    if not 0 <= number < MOST_SHARDS:
        raise ValueError(
            f"The number of a shard must be from 0 to {MOST_SHARDS - 1:,}. Received: "
            f"number={number!r}. Write more pairs to each shard."
        )
    counts = [len(rows.lengths) for rows in (source, target)]
    if counts[0] != counts[1] or not counts[0]:
        raise ValueError(
            "A shard must have one target for each source, and at least one pair. "
            f"Received: {counts[0]} sources and {counts[1]} targets."
        )
