"""The work on a block of a corpus: filtering, duplicates, sampling and encoding.

Any process can do the work on any block.
"""

import json
import zipfile
import zlib
from hashlib import blake2b
from pathlib import Path

import numpy as np

from keras_bahdanau.data.filters import KEPT, SHOWN, counts_of, examples_of, verdicts_of
from keras_bahdanau.data.shards.shard_files import has_checksum
from keras_bahdanau.data.shards.shards import write_shard
from keras_bahdanau.files.integrity import read_sealed_json, write_sealed_json
from keras_bahdanau.files.whole_file import open_regular, replacing
from keras_bahdanau.text.id_rows import rows_by_word

SCANS, ENTRIES = "scans", "entries"  # temporary directories next to the shards
_DAMAGE = (EOFError, KeyError, OSError, ValueError, zipfile.BadZipFile, zlib.error)
AT_ONCE = 2**22  # number of hashes to sort together: some 150 MB
LARGEST = 2**64 - 1


def scan_block(corpus, filters, directory, block):
    """Filter a `Block`, and write to `directory` what the later steps need.

    Returns the arguments for `FilterReport.add`. A block that is already filtered is not filtered
    again.
    """
    path = _scan(directory, block.number)
    try:
        read_scan(directory, block.number)
        return json.loads(_read(path, "summary").tobytes())
    except _DAMAGE:  # or the file is missing
        pass
    sources, targets = corpus.texts(block)
    verdicts = verdicts_of(filters, sources, targets, corpus.side)
    rows = np.flatnonzero(verdicts == KEPT)
    summary = {
        "pairs": len(verdicts),
        "dropped": counts_of(verdicts),
        "examples": examples_of(verdicts, block.first, sources, targets, describe=corpus.describe),
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
    """Return (hashes, rows) of the pairs that are kept in a block: two arrays `(kept,)`."""
    path = _scan(directory, number)
    return _read(path, "hashes"), _read(path, "rows")


def sample_block(corpus, directory, largest, job):
    """Return the pairs of a block whose hashes are at most `largest`, without duplicates.

    `job` is (`Block`, rows of repeated pairs).
    """
    block, repeated = job
    hashes, rows = read_scan(directory, block.number)
    chosen = np.setdiff1d(rows[hashes <= np.uint64(largest)], repeated)
    sources, targets = corpus.texts(block) if len(chosen) else ((), ())
    return [(sources[row], targets[row]) for row in chosen]


def encode_block(corpus, source, target, directory, job):
    """Write a shard, unless it already exists, and return its entry.

    `job` is (number of the shard, `Block`, rows to drop).
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
        write_sealed_json(record, entry)
    return entry


def repeated_examples(corpus, blocks, repeated):
    """Return (number, source, target) for the first repeated pairs.

    `repeated` contains the rows of repeated pairs in each block.
    """
    examples, left = [], min(SHOWN, sum(map(len, repeated)))
    for block, rows in zip(blocks, repeated, strict=False):
        if len(examples) >= left:
            break
        verdicts = np.zeros(block.pairs, np.uint8)
        verdicts[rows] = 1
        for pairs in examples_of(verdicts, block.first, *corpus.texts(block)).values():
            examples += pairs
    return examples[:left]


def _scan(directory, number):
    return Path(directory) / SCANS / f"{number:05d}.npz"


def _read(path, name):
    with np.load(path, allow_pickle=False) as arrays:
        return arrays[name]


def _whole_entry(directory, record):
    """Return the entry of an existing shard if its files are unchanged, and None otherwise."""
    try:
        entry = read_sealed_json(record)
        for name, expected in entry["sha256"].items():
            with open_regular(Path(directory) / entry["name"] / name) as file:
                if not has_checksum(file, expected):
                    return None
    except (*_DAMAGE, AttributeError, TypeError):
        return None
    return entry


def pair_hashes(sources, targets):
    """Compute hashes of pairs, which are the same on every machine: uint64 `(pairs,)`.

    The probability of a collision among n different pairs is n^2 / 2^65: 1 in 90,000 for n = 2e7.
    """
    hashes = [
        blake2b(f"{source}\n{target}".encode(), digest_size=8).digest()
        for source, target in zip(sources, targets, strict=True)
    ]
    return np.frombuffer(b"".join(hashes), "<u8").astype(np.uint64)


def find_repeated(read, blocks, pairs, sample=0, at_once=AT_ONCE):
    """Find the repeated pairs of a corpus, and a bound for sampling pairs at random.

    `read(block)` returns (hashes, rows), uint64 and int arrays `(pairs,)`. It is called for all
    blocks once for every `at_once` pairs in the corpus. A pair takes 8 bytes on disk, and 25 bytes
    of memory while it is sorted.

    Returns:
        (repeated rows of each block, largest of the `sample` smallest different hashes). Pairs with
        hashes up to this one are a random sample.
    """
    parts = max(1, -(-pairs // at_once))
    repeated = [[np.zeros(0, np.int64)] for _ in range(blocks)]
    bounds = [LARGEST * part // parts for part in range(parts)] + [LARGEST + 1]
    left, largest = sample, LARGEST
    for low, high in zip(bounds[:-1], bounds[1:], strict=True):
        hashes, rows, ends = _between(read, blocks, low, high)
        order = np.argsort(hashes, kind="stable")  # of equal hashes, the first pair stays first
        ordered = hashes[order]
        again = np.zeros(len(order), bool)
        again[1:] = ordered[1:] == ordered[:-1]
        copies = np.sort(order[again])
        for block, part in enumerate(np.split(copies, np.searchsorted(copies, ends))[:-1]):
            repeated[block].append(rows[part])
        different = ordered[~again]
        if 0 < left <= len(different):
            largest = int(different[left - 1])
        left -= len(different)
    return [np.sort(np.concatenate(parts)) for parts in repeated], largest


def _between(read, blocks, low, high):
    """Return (hashes, rows, ends) for the hashes in [`low`, `high`); a block ends at each end."""
    hashes, rows = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    for block in range(blocks):
        block_hashes, block_rows = read(block)
        inside = (block_hashes >= np.uint64(low)) & (block_hashes <= np.uint64(high - 1))
        hashes.append(block_hashes[inside])
        rows.append(block_rows[inside].astype(np.int64))
    ends = np.cumsum([len(part) for part in rows[1:]], dtype=np.int64)
    return np.concatenate(hashes), np.concatenate(rows), ends
