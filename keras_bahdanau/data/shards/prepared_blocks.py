"""The work on one block of a corpus, in any process, which is done once: scan, sample, ids."""

import json
import zipfile
import zlib
from pathlib import Path

import numpy as np

from keras_bahdanau.data.duplicates import pair_hashes
from keras_bahdanau.data.filters import KEPT, SHOWN, counts_of, examples_of, verdicts_of
from keras_bahdanau.data.shards.shards import write_shard
from keras_bahdanau.files.integrity import sha256_of
from keras_bahdanau.files.whole_file import replacing, write_json
from keras_bahdanau.text.id_rows import rows_by_word

SCANS, ENTRIES = "scans", "entries"  # directories beside the shards, until all is done
_DAMAGE = (EOFError, KeyError, OSError, ValueError, zipfile.BadZipFile, zlib.error)


def scan_block(corpus, filters, directory, block):
    """Filter a block, and write what later steps need to know of it.

    Args:
        corpus: What `open_corpus` gives.
        filters: `Filters`.
        directory: Path.
        block: `Block`.

    Returns:
        Dictionary: "pairs", "dropped" and "examples", as `FilterReport.add` takes them.
    """
    path = _scan(directory, block.number)
    try:
        return json.loads(_read(path, "summary").tobytes())
    except _DAMAGE:  # or it is not there
        pass
    sources, targets = corpus.texts(block)
    verdicts = verdicts_of(filters, sources, targets, corpus.side)
    rows = np.flatnonzero(verdicts == KEPT)
    summary = {
        "pairs": len(verdicts),
        "dropped": counts_of(verdicts),
        "examples": examples_of(verdicts, block.first, sources, targets),
    }
    arrays = {
        "rows": rows.astype(np.int32),
        "hashes": pair_hashes([sources[row] for row in rows], [targets[row] for row in rows]),
        "summary": np.frombuffer(json.dumps(summary).encode(), np.uint8),
    }
    with replacing(path, path.with_name(f".{path.name}")) as unfinished:
        with open(unfinished, "wb") as file:
            np.savez(file, **arrays)
    return summary


def read_scan(directory, number):
    """The hashes of the pairs of a block that are kept, and their rows: two arrays `(kept,)`."""
    path = _scan(directory, number)
    return _read(path, "hashes"), _read(path, "rows")


def sample_block(corpus, directory, largest, job):
    """The pairs of a block with hashes up to the largest, without those that came before.

    Args:
        corpus: What `open_corpus` gives.
        directory: Path, as in `scan_block`.
        largest: Integer.
        job: (`Block`, int array of the rows that came before).

    Returns:
        List of (source, target).
    """
    block, repeated = job
    hashes, rows = read_scan(directory, block.number)
    chosen = np.setdiff1d(rows[hashes <= np.uint64(largest)], repeated)
    sources, targets = corpus.texts(block) if len(chosen) else ((), ())
    return [(sources[row], targets[row]) for row in chosen]


def encode_block(corpus, source, target, directory, job):
    """Write the shard of a block, unless it is there as it was written.

    Args:
        corpus: What `open_corpus` gives.
        source: `Subwords`, or the `Source` of the corpus.
        target: `Subwords`.
        directory: Path.
        job: (number of the shard, `Block`, int array of the rows to leave out).

    Returns:
        Dictionary, as `write_shard` gives it.
    """
    number, block, left_out = job
    record = Path(directory) / ENTRIES / f"{number:05d}.json"
    entry = _whole_entry(directory, record)
    if entry is None:
        _, rows = read_scan(directory, block.number)
        rows = np.setdiff1d(rows, left_out)
        sources, targets = ([side[row] for row in rows] for side in corpus.texts(block))
        sides = corpus.rows(source, sources), rows_by_word(target, targets)
        entry = write_shard(directory, number, *sides)
        write_json(record, entry)
    return entry


def repeated_examples(corpus, blocks, repeated):
    """The first pairs that came before: (number, source, target) of each.

    Args:
        corpus: What `open_corpus` gives.
        blocks: Iterable of its `Block`s, which is read as far as it is needed.
        repeated: List of int arrays of rows, one a block.
    """
    found, left = [], min(SHOWN, sum(map(len, repeated)))
    for block, rows in zip(blocks, repeated, strict=False):
        if len(found) >= left:
            break
        verdicts = np.zeros(block.pairs, np.uint8)
        verdicts[rows] = 1
        for examples in examples_of(verdicts, block.first, *corpus.texts(block)).values():
            found += examples
    return found[:left]


def _scan(directory, number):
    return Path(directory) / SCANS / f"{number:05d}.npz"


def _read(path, name):
    with np.load(path, allow_pickle=False) as arrays:
        return arrays[name]


def _whole_entry(directory, record):
    """The entry of a shard whose files are all as they were written; None for any other."""
    try:
        entry = json.loads(record.read_text(encoding="utf-8"))
        for name, expected in entry["sha256"].items():
            with open(Path(directory) / entry["name"] / name, "rb") as file:
                if sha256_of(file) != expected:
                    return None
    except (*_DAMAGE, AttributeError, TypeError):
        return None
    return entry
