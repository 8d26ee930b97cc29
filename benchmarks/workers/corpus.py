"""Tokenize Multi30K once for all toolkits, and write it in their formats.

    python corpus.py MULTI30K OUT --vocabulary 8000 [--pairs N] [--sentences N]

The program writes train.npz and test.npz with ids (see `sentences.read_corpus`) to OUT, as well as
pairs.json and subwords.json for keras_bahdanau, and train.source, train.target and vocabulary.txt
with ids as words for OpenNMT-tf. The N training pairs are drawn at random. They are a part of an
epoch, and the same for all toolkits.
"""

import argparse
import json
import os
import pathlib
import random

import numpy as np

OPENNMT_SPECIAL = ("<blank>", "<s>", "</s>")


def main():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("multi30k", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--pairs", type=int)
    parser.add_argument("--sentences", type=int)
    options = parser.parse_args()
    import keras_bahdanau as kb

    train, test = (_pairs(kb, options.multi30k, part) for part in ("train", "test_2016_flickr"))
    subwords, _ = kb.text.Subwords.train_pair(train, options.vocabulary)
    random.Random(0).shuffle(train)
    parts = {"train": train[: options.pairs], "test": test[: options.sentences]}
    options.out.mkdir(parents=True, exist_ok=True)
    for part, pairs in parts.items():
        np.savez(options.out / f"{part}.npz", **_ids(subwords, pairs))
    (options.out / "pairs.json").write_text(json.dumps(parts))
    (options.out / "subwords.json").write_text(json.dumps(subwords.get_config()))
    _write_words(options.out, subwords, parts["train"])


def _pairs(kb, folder, part):
    """Return the sentence pairs of a part, from plain or gzipped files."""
    paths = [
        plain if plain.exists() else folder / f"{plain.name}.gz"
        for plain in (folder / f"{part}.en", folder / f"{part}.de")
    ]
    return list(kb.data.read_pairs(*paths))


def _ids(subwords, pairs):
    sources, targets = zip(*pairs, strict=True)
    found = {"source": subwords.encode(sources), "target": subwords.encode(targets)}
    return {
        f"{side}_{what}": array
        for side, rows in found.items()
        for what, array in (("ids", np.concatenate(rows)), ("lengths", [*map(len, rows)]))
    }


def _write_words(folder, subwords, pairs):
    """Write ids as words for OpenNMT-tf, which adds end tokens to targets but not to sources."""
    sources, targets = zip(*pairs, strict=True)
    rows = subwords.encode(sources)
    lines = [" ".join([*map(str, row[:-1]), "</s>"]) for row in rows]
    (folder / "train.source").write_text("\n".join(lines) + "\n")
    rows = subwords.encode(targets)
    lines = [" ".join(map(str, row[:-1])) for row in rows]
    (folder / "train.target").write_text("\n".join(lines) + "\n")
    # OpenNMT-tf adds the unknown token, and its <blank> is the padding: 8,000 tokens in all.
    words = map(str, range(4, subwords.vocabulary_size))
    (folder / "vocabulary.txt").write_text("\n".join([*OPENNMT_SPECIAL, *words]) + "\n")


if __name__ == "__main__":
    main()
