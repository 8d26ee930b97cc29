"""The pairs that a student learns from, in plain files to look at and to train on again."""

import os

from keras_bahdanau.data.pair_file import cell_of
from keras_bahdanau.whole_file import replacing

SOURCE, TARGET, MANIFEST = "source.txt", "target.txt", "manifest.tsv"
SCORES, ATTENTION = "scores.txt", "attention.txt"


def write_pairs(directory, pairs, rows, guides=False):
    """Write what was chosen, line by line.

    `source.txt` and `target.txt`, or, of files, `manifest.tsv`, are as `train` takes them.
    `scores.txt` has the teacher's scores, and `attention.txt` its weights between words. Sources
    that are arrays are not written.

    Args:
        directory: `Path` of a directory.
        pairs: List of (input, true target).
        rows: List of `Chosen`.
        guides: True for `attention.txt`.

    Returns:
        List of (input, text), the pairs to train on.
    """
    chosen = [(pairs[row.pair][0], row.hypothesis.text) for row in rows]
    files = {SCORES: (f"{row.hypothesis.score:.4f}" for row in rows)}
    files[TARGET] = (text for _, text in chosen)
    if all(isinstance(one, str) for one, _ in chosen):
        files[SOURCE] = (cell_of(one) for one, _ in chosen)
    elif all(isinstance(one, os.PathLike) for one, _ in chosen):
        del files[TARGET]
        files[MANIFEST] = (f"{os.path.relpath(one, directory)}\t{text}" for one, text in chosen)
    if guides:
        files[ATTENTION] = (row.hypothesis.weights for row in rows)
    for name, lines in files.items():
        path = directory / name
        with replacing(path, directory / f".unfinished-{name}") as unfinished:
            with open(unfinished, "w", encoding="utf-8", newline="") as file:
                file.writelines(f"{line}\n" for line in lines)
    return chosen
