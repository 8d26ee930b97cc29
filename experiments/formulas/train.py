r"""Train a model that converts handwritten formulas to LaTeX, from strokes or images.

    python experiments/formulas/train.py --data crohme/develop --source ink --out runs/ink

The directory --data contains `train.jsonl.gz` and `dev.jsonl.gz`: see `formulas.py`. To resume an
interrupted run, repeat the command. The best epoch is the one with the highest ExpRate on dev with
greedy search. The search options are then chosen on dev. To score the test parts, use `score.py`.
"""

import argparse
from pathlib import Path

import drawing
import formulas
import variations

import keras_bahdanau as kb
from keras_bahdanau.training import Run, TrainingOptions, train

COMMON = {"target_model_type": "word", "vocabulary_size": 200, "best_by": "exprate"}
SOURCES = {
    "ink": lambda: kb.sources.InkSource(),
    "image": lambda: kb.sources.ImageSource(height=128, width=1024, cell=16),
}
SETTINGS = {  # differences from the source's preset
    "ink": {},
    "image": {
        "convolutions": "16,32,96,128",
        "encoder_units": 256,  # values as wide as the ink model's: see imitate.py
        "augmentation": 0.2,
        "epochs": 26,
    },
}
OF_TRAINING = ("best_by", "epochs")  # options above that don't belong to a model
DEV = "dev.jsonl.gz"
BEAM_WIDTHS = (5, 10)
EXPONENTS = (0.0, 0.5, 1.0)  # exponents of the length penalty
MOST_JOINED = 1_000_000
SHARES = (0.1, 0.2, 0.3)  # CTC weights in the search


@formulas.ends_well()
def main(arguments=None):
    arguments = parsed(arguments)
    source = SOURCES[arguments.source]()
    if arguments.initial:  # reports immediately if the model reads another source
        formulas.loaded(arguments.initial, type(source))
    owned = formulas.read_owned(arguments.train or arguments.data / "train.jsonl.gz")
    new = variations.joined([(ink, text) for ink, text, _ in owned], arguments.joined)
    owned += [(*pair, None) for pair in new]
    owned += [one for path in arguments.more for one in formulas.read_owned(path)]
    if arguments.turned:
        inks = variations.turned([ink for ink, _, _ in owned], arguments.turned)
        owned = [(ink, *more) for ink, (_, *more) in zip(inks, owned, strict=True)]
    pairs, dev = [(ink, text) for ink, text, _ in owned], formulas.read(arguments.data / DEV)
    begins = {"source": None if arguments.initial else source, "initial": arguments.initial}
    model = {**COMMON, **SETTINGS[arguments.source]}
    if arguments.initial and arguments.initial.is_file():  # a model file keeps its own options
        model = {name: model[name] for name in OF_TRAINING if name in model}
    options = {**model, **arguments.set}
    if arguments.guided:
        begins["alignments"] = [drawing.links(*one, source) for one in owned]
        options["guided_alignment"] = arguments.guided
    if arguments.source == "image":
        pairs, dev = ([(drawing.drawn(ink), text) for ink, text in part] for part in (pairs, dev))
    run = Run(arguments.out)
    if not run.is_over():  # otherwise it was stopped after training
        train(pairs, dev, run.directory, TrainingOptions(**options), verbose=2, **begins)
    path = run.translator
    pipeline = kb.load_pipeline(path)
    best = tuned(pipeline, dev)
    pipeline.search = best
    pipeline.save(arguments.out / "formulas.keras")
    print(f"dev chose {best}: {arguments.out / 'formulas.keras'}")


def tuned(pipeline, dev):
    """Return the search options with the highest ExpRate on dev, preferring a narrow beam."""
    shares = SHARES if pipeline.model.source_limits.has_ctc else (0.0,)
    searches = kb.evaluation.candidates(
        pipeline.search, BEAM_WIDTHS, EXPONENTS, ("power",), ctc_weights=shares
    )
    trials = kb.evaluation.tune(pipeline, dev, searches, metric="exprate", tell=tell)
    return trials[0].search


def tell(trial):
    search = trial.search
    print(
        f"beam {search.beam_width}, exponent {search.length_normalization:g}, CTC weight "
        f"{search.ctc_weight:g}: ExpRate {trial.score:.2f}",
        flush=True,
    )


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=formulas.existing, required=True, metavar="DIR")
    parser.add_argument("--source", choices=SOURCES, default="ink")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--from",
        type=formulas.existing,
        dest="initial",
        help="model to start from, a directory or a .keras file",
    )
    parser.add_argument(
        "--joined", type=int, default=0, help="number of additional formulas, each joined from two"
    )
    more = "additional file of training formulas, for example from recombine.py"
    parser.add_argument("--more", type=formulas.existing, action="append", default=[], help=more)
    known = "training formulas instead of DIR/train.jsonl.gz, for example from symbols.py"
    parser.add_argument("--train", type=formulas.existing, metavar="FILE", help=known)
    guided = "weight of a loss that guides the image attention to the strokes of a symbol"
    parser.add_argument("--guided", type=float, default=0.0, metavar="WEIGHT", help=guided)
    parser.add_argument("--turned", type=formulas.fraction, default=0.0, help=variations.TURNED)
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument(
        "--precision", choices=("float32", "bfloat16"), help="precision of matrix products"
    )
    parser.add_argument("--epochs", type=int, help="passes over the formulas")
    parser.add_argument("--minutes", type=float, help="time limit for training")
    parsed = parser.parse_args(arguments)
    if not 0 <= parsed.joined <= MOST_JOINED:
        parser.error(f"--joined must be from 0 to {MOST_JOINED:,}. Received: {parsed.joined}")
    if parsed.guided and parsed.source != "image":
        parser.error("--guided is for --source image, where cells belong to symbols")
    parsed.set = {
        name: value
        for name in ("epochs", "minutes", "learning_rate", "precision")
        if (value := getattr(parsed, name)) is not None
    }
    return parsed


if __name__ == "__main__":
    main()
