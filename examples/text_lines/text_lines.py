r"""Lines of 19th-century print to text: prepare files, score attention and CTC, plot a line.

    python examples/text_lines/text_lines.py prepare DIR --out runs/lines/data
    python examples/text_lines/text_lines.py score runs/lines/data/dev.tsv --model runs/lines/model
    python examples/text_lines/text_lines.py draw LINE.png --model runs/lines/model --out map.png

DIR contains `train.tar.gz` and `dev.tar.gz` with the images, and `train.tsv.gz` and `dev.tsv.gz`
with a line `file<TAB>year<TAB>text` for each image. `prepare` writes the images and the manifests
`train.tsv`, `dev.tsv`, and `valid.tsv`, a third of dev that is used to choose the epoch;
`--parts test` does the same for a test set.
"""

import argparse
import dataclasses
import json
import tarfile
from pathlib import Path
from typing import NamedTuple

import keras_bahdanau as kb

PARTS = ("train", "dev", "test")
VALID_EVERY = 3  # lines of dev
# Old and new spelling of one letter; the transcriptions use both
MODERN = {"a\u0364": "ä", "o\u0364": "ö", "u\u0364": "ü", "ſ": "s"}
SEARCHES = {  # CTC weight, and other differences from the file's search options
    "attention alone": {"ctc_weight": 0.0},
    "attention and CTC": {},
    # a text's probability is the sum over its paths, for any length
    "CTC alone": {"ctc_weight": 1.0, "length_normalization": 0.0},
}
METRICS = ("cer", "wer", "exact")


class Row(NamedTuple):
    """Scores of one search, in percent.

    Attributes:
        search: String. A name in `SEARCHES`.
        cer: Float. Edits divided by characters, including spaces, for the unchanged texts.
        interval: Tuple of two floats. The 95% confidence interval of `cer`.
        modern_cer: Float. The same as `cer` for texts in the spelling of `MODERN`.
        wer: Float. Edits of words divided by words.
        exact: Float. Percentage of lines without an error.
    """

    search: str
    cer: float
    interval: tuple
    modern_cer: float
    wer: float
    exact: float


def main(arguments=None):
    arguments = parsed(arguments)
    try:
        arguments.command(arguments)
    except (OSError, ValueError, tarfile.TarError) as error:  # an invalid file, in one line
        raise SystemExit(" ".join(str(error).split())) from None


def prepare(arguments):
    """Write the images of the parts, and the manifests."""
    counts = []
    for part in arguments.parts:
        lines = read_lines(arguments.data / f"{part}.tsv.gz")
        names = {name for name, _ in lines}
        unpack(arguments.data / f"{part}.tar.gz", names, arguments.out / part)
        write_manifest(arguments.out / f"{part}.tsv", part, lines)
        counts.append(f"{len(lines):,} of {part}")
        if part == "dev":
            write_manifest(arguments.out / "valid.tsv", part, valid := lines[::VALID_EVERY])
            counts.append(f"{len(valid):,} of them to choose the epoch on")
    print(f"lines: {', '.join(counts)}: {arguments.out}")


def read_lines(path):
    """Return the (image name, text) of each line in a file with three columns.

    Raises:
        FileNotFoundError: If the file is missing.
        ValueError: If a line has the wrong columns or an invalid name.
    """
    lines = []
    for number, line in enumerate(kb.data.read_lines(path), start=1):
        columns = line.split("\t")
        name, text = columns[0], columns[-1]
        if len(columns) != 3 or Path(name).name != name or Path(name).suffix != ".png" or not text:
            raise ValueError(
                "A line must be the name of a PNG file, a year and a text, separated by tabs. "
                f"Received: path={str(path)!r}, line {number}: {line!r:.80}. Correct the line."
            )
        lines.append((name, text))
    return lines


def unpack(path, names, folder):
    """Write the files in an archive that have one of the names.

    Raises:
        FileNotFoundError: If the archive, or a file in it, is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    missing = set(names)
    with tarfile.open(path) as archive:
        for member in archive:
            name = Path(member.name).name
            if member.isfile() and name in missing:
                (folder / name).write_bytes(archive.extractfile(member).read())
                missing.remove(name)
    if missing:
        raise FileNotFoundError(
            "An archive must contain the image for each line. Received: "
            f"path={str(path)!r} without {len(missing):,} of them, such as {min(missing)!r}."
        )


def write_manifest(path, folder, lines):
    content = "".join(f"{folder}/{name}\t{text}\n" for name, text in lines)
    path.write_text(content, encoding="utf-8")


def score(arguments):
    """Print a row for each search as JSON: the decoder with and without CTC, and only CTC."""
    pipeline, pairs = kb.load_pipeline(arguments.model), read_pairs(arguments.manifest)
    searches = SEARCHES if pipeline.model.source_limits.has_ctc else {"attention alone": {}}
    for name, changes in searches.items():
        search = dataclasses.replace(pipeline.search, **changes)
        results = pipeline.decode([image for image, _ in pairs], search=search)
        row = measured(name, [result.text for result in results], [text for _, text in pairs])
        print(json.dumps(row._asdict()), flush=True)


def read_pairs(path):
    """Return the (image path, text) of each line in a manifest.

    Raises:
        FileNotFoundError: If the manifest is missing.
        ValueError: If a line has no text.
    """
    lines = [line.partition("\t") for line in kb.data.read_lines(path)]
    if not all(text.strip() for _, _, text in lines):
        raise ValueError(f"Each line must have a text. Received: path={str(path)!r}.")
    return [(path.parent / image, text) for image, _, text in lines]


def measured(name, texts, references):
    """Return the `Row` for texts and their references, lists of strings."""
    cer, wer, exact = kb.evaluation.metrics_of(METRICS)
    modern = [[modernized(text) for text in side] for side in (texts, references)]
    low, high = kb.evaluation.interval(cer, texts, references)
    scores = [metric.corpus_score(texts, references) for metric in (cer, wer, exact)]
    own, words, right = (round(score, 2) for score in scores)
    interval = round(low, 2), round(high, 2)
    return Row(name, own, interval, round(cer.corpus_score(*modern), 2), words, right)


def modernized(text):
    """Return the text with modern spelling of umlauts and s."""
    for old, new in MODERN.items():
        text = text.replace(old, new)
    return text


def draw(arguments):
    """Plot a line, and below it, for each letter, the columns that the model attends to."""
    pipeline = kb.load_pipeline(arguments.model)
    result = pipeline.decode([arguments.image])[0]
    picture = pipeline.picture(arguments.image)
    if picture is None:
        raise ValueError(f"An image must contain ink. Received: path={str(arguments.image)!r}.")
    columns = -(-picture.positions // picture.reduction)  # each column has one weight
    picture = picture._replace(positions=columns, rows=1, reduction=1)
    kb.plot_alignment(result, picture, words=False).savefig(arguments.out)
    print(f"{result.text}: {arguments.out}")


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    add = (preparing := commands.add_parser("prepare", help="unpack the lines")).add_argument
    add("data", type=Path, metavar="DIR", help="directory with archives and texts")
    add("--out", type=Path, required=True, metavar="DIR")
    add("--parts", nargs="+", choices=PARTS, default=PARTS[:2], help="parts (train and dev)")
    preparing.set_defaults(command=prepare)
    add = (scoring := commands.add_parser("score", help="score a model")).add_argument
    add("manifest", type=Path, help="manifest of images and their texts")
    add("--model", type=Path, required=True, help="directory of a training run, or .keras file")
    scoring.set_defaults(command=score)
    add = (drawing := commands.add_parser("draw", help="plot a heat map")).add_argument
    add("image", type=Path)
    add("--model", type=Path, required=True, help="directory of a training run, or .keras file")
    add("--out", type=Path, required=True, metavar="FILE", help="a .png or .svg file")
    drawing.set_defaults(command=draw)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
