r"""Convert handwritten formulas to LaTeX, from pen strokes or from an image.

    python examples/formulas/formulas.py train --data DIR --source ink --out runs/ink
    python examples/formulas/formulas.py score dev.jsonl.gz --model runs/ink/formulas.keras

DIR contains `train.jsonl.gz` and `dev.jsonl.gz`. Each line of a file is a JSON object with `latex`,
the tokens separated by spaces, and `ink`, a list of strokes `[x0, y0, dx, dy, dx, dy, ...]`. To
resume training, run `train` again. The epoch and then the search options are chosen on dev.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import keras_bahdanau as kb
from keras_bahdanau.training import Run, TrainingOptions, train

SOURCES = {
    "ink": lambda: kb.sources.InkSource(),
    "image": lambda: kb.sources.ImageSource(height=128, width=1024, cell=16),
}
COMMON = {
    **{"target_model_type": "word", "vocabulary_size": 200, "normalization": "nmt_nfkc"},
    "best_by": "exprate",
}
IMAGE = {"convolutions": "16,32,96,128", "encoder_units": 256, "augmentation": 0.2, "epochs": 26}
OPTIONS = {"ink": COMMON, "image": {**COMMON, **IMAGE}}
BEAM_WIDTHS, EXPONENTS, CTC_SHARES = (5, 10), (0.0, 0.5, 1.0), (0.1, 0.2, 0.3)
METRICS = ("exprate", "exprate1", "exprate2", "exprate3", "wer")
PEN, BORDER = 3, 4  # pixels
HEIGHT, STROKE = 128, 28  # pixels: minimum image height, and mean stroke size
FARTHEST = 1e9  # maximum coordinate change between two points


def main(arguments=None):
    arguments = parsed(arguments)
    try:
        arguments.command(arguments)
    except (OSError, ValueError) as error:  # an invalid file, reported in one line
        raise SystemExit(" ".join(str(error).split())) from None


def train_model(arguments):
    """Train on DIR, choose the search options on dev, and save `formulas.keras`."""
    source = SOURCES[arguments.source]()
    pairs, dev = (
        inputs(source, read(arguments.data / f"{part}.jsonl.gz")) for part in ("train", "dev")
    )
    run = Run(arguments.out)
    if not run.is_over():
        chosen = {name: getattr(arguments, name) for name in ("epochs", "minutes")}
        options = {name: value for name, value in chosen.items() if value is not None}
        options = TrainingOptions(**{**OPTIONS[arguments.source], **options})
        train(pairs, dev, run.directory, options, source=source, verbose=2)
    pipeline = kb.load_pipeline(run.translator)
    pipeline.search = best_search(pipeline, dev)
    pipeline.save(arguments.out / "formulas.keras")
    print(f"dev chose {pipeline.search}: {arguments.out / 'formulas.keras'}")


def best_search(pipeline, dev):
    """Return the search options with the highest ExpRate on dev, with the narrowest beam."""
    searches = kb.evaluation.candidates(
        pipeline.search,
        BEAM_WIDTHS,
        EXPONENTS,
        ("power",),
        ctc_weights=CTC_SHARES if pipeline.model.source_limits.has_ctc else (0.0,),
    )
    trials = kb.evaluation.tune(pipeline, dev, searches, metric="exprate", tell=report)
    return trials[0].search


def report(trial):
    search = trial.search
    print(
        f"beam {search.beam_width}, exponent {search.length_normalization:g}, CTC weight "
        f"{search.ctc_weight:g}: ExpRate {trial.score:.2f}",
        flush=True,
    )


def score(arguments):
    """Print ExpRate, the percentage of entirely correct formulas, and plot one formula."""
    on_device = arguments.model.suffix == ".tflite"
    load = kb.exporters.LiteRTPipeline if on_device else kb.load_pipeline
    pipeline, formulas = load(arguments.model), read(arguments.file)
    if not 1 <= arguments.formula <= len(formulas):
        raise ValueError(f"--formula must be from 1 to {len(formulas)}, the number of lines.")
    pairs = inputs(pipeline.source, formulas)
    evaluation = kb.evaluation.evaluate(pipeline, pairs, metrics=METRICS)
    print(evaluation)
    if arguments.json:
        arguments.json.write_text(json.dumps(evaluation.scores(), indent=1) + "\n")
    if arguments.plot:
        number = arguments.formula - 1
        picture = pipeline.picture(pairs[number][0])
        figure = kb.plotting.plot_attention_maps(evaluation.translations[number], picture)
        figure.savefig(arguments.plot)


def inputs(source, formulas):
    """Return a list of (ink or image, LaTeX), in the form that the source reads.

    Raises:
        ValueError: If the source reads neither ink nor images.
    """
    if isinstance(source, kb.sources.ImageSource):
        return [(draw(strokes), latex) for strokes, latex in formulas]
    if isinstance(source, kb.sources.InkSource):
        return formulas
    raise ValueError(
        "The model must read ink or images. Received: a model whose source is "
        f"{type(source).__name__}. Use a model trained with this script."
    )


def read(path):
    """Return the (strokes, LaTeX) of each line; a stroke is an array `(points, 2)`.

    Raises:
        FileNotFoundError: If the file is missing.
        ValueError: If a line is not a formula.
    """
    formulas = []
    for number, line in enumerate(kb.data.read_lines(path), start=1):
        try:
            formula = json.loads(line)
            strokes = [stroke_points(stroke) for stroke in formula["ink"]]
            formulas.append((strokes, " ".join(formula["latex"].split())))
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(
                'A line must be {"latex": text, "ink": [[x0, y0, dx, dy, ...], ...]}. Received: '
                f"path={str(path)!r}, line {number}: {line:.60} ({error!r:.60}). Correct the line."
            ) from None
    return formulas


def stroke_points(moves):
    """Return a stroke from a file as a float array `(points, 2)`."""
    points = np.reshape(np.asarray(moves, np.float64), (-1, 2))
    if not np.all(np.abs(points) < FARTHEST):
        raise ValueError(f"absolute values must be below {FARTHEST:g}")
    return np.cumsum(points, axis=0)


def draw(strokes):
    """Draw dark strokes with mean size `STROKE` pixels on white, uint8 `(height, width)`."""
    strokes = [stroke for stroke in strokes if len(stroke)]
    if not strokes:
        return np.zeros((0, 0), np.uint8)
    size = np.mean([np.ptp(stroke, axis=0).max() for stroke in strokes]) or 1.0
    points = np.concatenate(strokes)
    extent = np.ptp(points, axis=0)
    scale = min(STROKE / size, 2000 / max(extent.max(), 1e-9))
    width, height = (int(side) for side in np.ceil(extent * scale + 2 * BORDER))
    corner = np.array([BORDER, BORDER + max(HEIGHT - height, 0) // 2])
    image = Image.new("L", (2 * width, 2 * max(height, HEIGHT)), 255)  # halved below
    pen = ImageDraw.Draw(image)
    for stroke in strokes:
        path = 2 * ((stroke - points.min(axis=0)) * scale + corner)
        line = [tuple(point) for point in path]
        pen.line(line if len(line) > 1 else line * 2, 0, 2 * PEN, joint="curve")
        for x, y in (path[0], path[-1]):
            pen.ellipse((x - PEN, y - PEN, x + PEN, y + PEN), 0)
    return np.asarray(image.reduce(2))


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    add = (training := commands.add_parser("train", help="train on DIR")).add_argument
    add("--data", type=Path, required=True, metavar="DIR")
    add("--source", choices=SOURCES, default="ink")
    add("--out", type=Path, required=True, metavar="DIR")
    add("--epochs", type=int, help="passes over the formulas")
    add("--minutes", type=float, help="time limit for training")
    training.set_defaults(command=train_model)
    add = (scoring := commands.add_parser("score", help="score a file")).add_argument
    add("file", type=Path, help="file of formulas")
    add("--model", type=Path, required=True, help=".keras or .tflite file")
    add("--json", type=Path, metavar="FILE", help="file to write the scores to")
    add("--plot", type=Path, metavar="FILE", help="file for a plot of the attention for each token")
    add("--formula", type=int, default=1, help="number of the line to plot (1)")
    scoring.set_defaults(command=score)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
