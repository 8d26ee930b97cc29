r"""Handwritten formulas to LaTeX, from the strokes of the pen or from their image.

    python examples/formulas/train.py --data handwriting_crohme/develop --source ink --out runs/ink

DIR of --data holds `train.jsonl.gz` and `dev.jsonl.gz`: see `formulas.py`. The same command resumes
a training that was stopped. The best epoch is that with the highest ExpRate on dev, greedily; then
dev chooses the search. Test parts are for `score.py`.
"""

import argparse
import dataclasses
from pathlib import Path

import formulas

import keras_bahdanau as kb
from keras_bahdanau.training import TrainingOptions, train

COMMON = {"target_model_type": "word", "vocabulary_size": 200, "best_by": "exprate"}
SOURCES = {
    "ink": lambda: kb.sources.InkSource(),
    "image": lambda: kb.sources.ImageSource(height=96, width=768),
}
BEAM_WIDTHS = (5, 10)
EXPONENTS = (0.0, 0.5, 1.0)  # of the length penalty


def main(arguments=None):
    arguments = parsed(arguments)
    pairs, dev = (formulas.read(arguments.data / f"{part}.jsonl.gz") for part in ("train", "dev"))
    if arguments.source == "image":
        pairs, dev = ([(formulas.drawn(ink), text) for ink, text in part] for part in (pairs, dev))
    options = TrainingOptions(**COMMON, **arguments.set)  # and the preset of the source
    path = train(pairs, dev, arguments.out, options, verbose=2, source=SOURCES[arguments.source]())
    pipeline = kb.load_pipeline(path)
    best = tuned(pipeline, dev)
    pipeline.search = best
    pipeline.save(arguments.out / "formulas.keras")
    print(f"dev chose {best}: {arguments.out / 'formulas.keras'}")


def tuned(pipeline, dev):
    """The search with the highest ExpRate on dev; of equal ones the first, which is narrower."""
    scores = {}
    for width in BEAM_WIDTHS:
        for exponent in EXPONENTS:
            search = dataclasses.replace(
                pipeline.search, beam_width=width, length_normalization=exponent
            )
            found = kb.evaluation.evaluate(pipeline, dev, search=search, metrics=["exprate"])
            scores[search] = found.exprate
            print(f"beam {width}, exponent {exponent}: ExpRate {found.exprate:.2f}", flush=True)
    return max(scores, key=scores.get)


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--source", choices=SOURCES, default="ink")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--epochs", type=int, help="passes over the formulas")
    parser.add_argument("--minutes", type=float, help="most time of the training")
    parsed = parser.parse_args(arguments)
    parsed.set = {
        name: value
        for name in ("epochs", "minutes")
        if (value := getattr(parsed, name)) is not None
    }
    return parsed


if __name__ == "__main__":
    main()
