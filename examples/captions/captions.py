r"""Write the canvases of the digit captions as files, and compare models on them.

    python examples/captions/captions.py test --out runs/captions-test
    python examples/captions/captions.py compare captions.tflite captions.keras

The canvases are from the test set of `keras-bahdanau demo --task images`, at most 1,000. Their
compositions don't occur in training, and neither does the handwriting in the second half. `test`
writes a PNG file for each canvas, and the manifest `test.tsv`. `compare` prints a line for each
model. The script needs scikit-learn, which contains the digits.
"""

import argparse
import json
import math
from pathlib import Path
from typing import NamedTuple

import keras_bahdanau as kb
from keras_bahdanau.demo import images_task

MOST = 1000  # canvases of the demo's test


class Row(NamedTuple):
    """Scores of one model.

    Attributes:
        file: String. Name of the model file.
        exact: Float. Fraction of correct captions on canvases with known handwriting.
        new_digits: Float. The same fraction on canvases with new handwriting.
        pointing: Float. Fraction of digits in correct captions that the model attends to while it
            names them.
        size: Integer. Size of the file in bytes.
    """

    file: str
    exact: float
    new_digits: float
    pointing: float
    size: int


def main(arguments=None):
    arguments = parsed(arguments)
    captions = chosen(arguments.count)
    if arguments.command == "test":
        images_task.ImagesTask().write(arguments.out, "test", captions)
        print(f"{len(captions)} images: {arguments.out / 'test.tsv'}")
        return
    print(f"{'exact':>7} {'new digits':>10} {'pointing':>8} {'kB':>6}")
    rows = []
    for path in arguments.models:
        row = measured(path, captions)
        rows.append(row._asdict())
        shares = (row.exact, row.new_digits, row.pointing)
        exact, new, pointing = (f"{100 * share:.1f}" for share in shares)
        print(f"{exact:>7} {new:>10} {pointing:>8} {row.size // 1000:>6}  {row.file}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


def chosen(count=MOST):
    """Return captions of the demo's test, half with known and half with new handwriting."""
    *_, test = images_task.split(test=MOST)
    half = MOST // 2
    return [*test[: count - count // 2], *test[half : half + count // 2]]


def measured(path, captions):
    """Return the `Row` of a `.keras` or `.tflite` file."""
    on_device = path.suffix == ".tflite"
    load = kb.exporters.LiteRTPipeline if on_device else kb.load_pipeline
    pipeline = load(path)
    results = pipeline.decode([one.image for one in captions])
    pairs = [*zip(results, captions, strict=True)]
    right = [(result, one) for result, one in pairs if result.text == one.text]
    return Row(
        path.name,
        share(result.text == one.text for result, one in pairs if one.known),
        share(result.text == one.text for result, one in pairs if not one.known),
        share(images_task.points(pipeline.source, *zip(*right, strict=True)) if right else ()),
        path.stat().st_size,
    )


def share(hits):
    """Return the fraction of True values, or NaN if there are no values."""
    hits = [*hits]
    return sum(hits) / len(hits) if hits else math.nan


def existing(name):
    """Return the path of an existing file."""
    path = Path(name)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"no such file: {name!r}")
    return path


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    test = commands.add_parser("test", help="write the canvases and their manifest")
    test.add_argument("--out", type=Path, required=True, metavar="DIR")
    compare = commands.add_parser("compare", help="score models on the canvases")
    compare.add_argument(
        "models", type=existing, nargs="+", metavar="FILE", help=".keras or .tflite file"
    )
    compare.add_argument("--json", type=Path, metavar="FILE", help="file to write the scores to")
    for command in (test, compare):
        command.add_argument(
            "--count", type=int, default=MOST, help="number of canvases (%(default)s)"
        )
    found = parser.parse_args(arguments)
    if not 2 <= found.count <= MOST:
        parser.error(f"--count must be from 2 to {MOST:,}. Received: {found.count}")
    return found


if __name__ == "__main__":
    main()
