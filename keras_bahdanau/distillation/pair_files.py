"""The pairs that a student learns from, in plain files to look at and to train on again."""

import os

from keras_bahdanau.data.pair_file import cell_of
from keras_bahdanau.files.whole_file import replacing

SOURCE, TARGET, MANIFEST = "source.txt", "target.txt", "manifest.tsv"
SCORES, ATTENTION = "scores.txt", "attention.txt"


def write_pairs(directory, pairs, rows, guides=False):
    """Write what was chosen, line by line.

    `source.txt` and `target.txt`, or, of files, `manifest.tsv`, are as `train` takes them.
    `scores.txt` has the teacher's scores, and `attention.txt` its weights between words. Sources
    that are arrays are not written.

    Args:
        directory: `Path` of a directory.
        pairs: List of (input, text), the pairs to train on.
        rows: List of `Chosen`, one for each.
        guides: True for `attention.txt`.
    """
    files = {SCORES: (f"{row.hypothesis.score:.4f}" for row in rows)}
    files[TARGET] = (text for _, text in pairs)
    if all(isinstance(one, str) for one, _ in pairs):
        files[SOURCE] = (cell_of(one) for one, _ in pairs)
    elif all(isinstance(one, os.PathLike) for one, _ in pairs):
        del files[TARGET]
        files[MANIFEST] = (f"{os.path.relpath(one, directory)}\t{text}" for one, text in pairs)
    if guides:
        files[ATTENTION] = (row.hypothesis.weights for row in rows)
    for name, lines in files.items():
        path = directory / name
        with replacing(path, directory / f".unfinished-{name}") as unfinished:
            with open(unfinished, "w", encoding="utf-8", newline="") as file:
                file.writelines(f"{line}\n" for line in lines)
