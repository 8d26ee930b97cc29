"""Write small files for the code blocks in the documentation.

small-files text                    train, valid, dev, val, test: .en, .de, .fr, .gz, .tsv
small-files images|speech FILE ...  a manifest and the files that it lists
small-files words FILE ...          words and their letters, separated by spaces
small-files forms FILE ...          lemmas, inflected forms and their features
small-files model DIRECTORY ...     a model for text, trained for one epoch
"""

import gzip
import subprocess
import sys
from pathlib import Path

from keras_bahdanau import demo

PARTS = ("train", "valid", "dev", "val", "test")
COUNT = 48


def text():
    examples = demo.generate(COUNT * len(PARTS))
    for number, part in enumerate(PARTS):
        some = examples[number * COUNT : (number + 1) * COUNT]
        sides = {"en": [one.source for one in some], "fr": [one.target for one in some]}
        sides["de"] = sides["fr"]  # the content of a file doesn't matter to the commands
        for ending, lines in sides.items():
            write(f"{part}.{ending}", lines)
            write(f"{part}.{ending}.gz", lines)
        write(f"{part}.tsv", [f"{one.source}\t{one.target}" for one in some])
    for name in ("sentences.en", "sentences.txt"):
        write(name, [one.source for one in examples[:3]])


def words(*paths):
    for path in paths:
        some = sorted({word for one in demo.generate(80) for word in one.source.split()})
        write(path, [f"{word}\t{' '.join(word.upper())}" for word in some])


def forms(*paths):
    """Write lemmas, inflected forms and their features."""
    some = sorted({word for one in demo.generate(80) for word in one.source.split()})
    endings = {"N;PL": "s", "N;SG": "", "V;PST": "ed"}
    rows = [f"{word}\t{word}{end}\t{tags}" for word in some for tags, end in endings.items()]
    for path in paths:
        write(path, rows)


def images(*paths):
    from toy_sources import bars, write_png

    _manifests(paths, "image", bars, write_png)


def speech(*paths):
    from toy_sources import tones, write_wav

    _manifests(paths, "sound", tones, write_wav)


def model(*directories):
    for directory in directories:
        command = ["keras-bahdanau", "train", "train.en", "train.de", "--out", directory]
        subprocess.run(command, check=True)


def _manifests(paths, name, make, write_file):
    for path in map(Path, paths):
        lines = []
        for number in range(24):
            digits = [number % 4, number // 4 % 4, number % 3]
            file = write_file(make(digits), Path(f"{path.stem}-{name}-{number}"))
            lines.append(f"{file.name}\t{' '.join('abcd'[one] for one in digits)}")
        write(path, lines)


def write(path, lines):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    {one.__name__: one for one in (text, words, forms, images, speech, model)}[sys.argv[1]](
        *sys.argv[2:]
    )
