r"""Handwritten formulas to LaTeX, from the strokes of the pen or from their image.

    python experiments/formulas/train.py --data crohme/develop --source ink --out runs/ink

DIR of --data holds `train.jsonl.gz` and `dev.jsonl.gz`: see `formulas.py`. The same command resumes
a training that was stopped. The best epoch is that with the highest ExpRate on dev, greedily; then
dev chooses the search. Test parts are for `score.py`.
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
SETTINGS = {  # that differ from the preset of the source
    "ink": {},
    "image": {
        "convolutions": "16,32,96,128",
        "encoder_units": 256,  # values as wide as those of ink: see imitate.py
        "augmentation": 0.2,
        "epochs": 26,
    },
}
OF_TRAINING = ("best_by", "epochs")  # the options of the two above that are none of a model
DEV = "dev.jsonl.gz"
BEAM_WIDTHS = (5, 10)
EXPONENTS = (0.0, 0.5, 1.0)  # of the length penalty
MOST_JOINED = 1_000_000
SHARES = (0.1, 0.2, 0.3)  # of CTC in the search


@formulas.ends_well()
def main(arguments=None):
    arguments = parsed(arguments)
    source = SOURCES[arguments.source]()
    if arguments.initial:  # or say now that it reads another one
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
    if arguments.initial and arguments.initial.is_file():  # it is taken as it is
        model = {name: model[name] for name in OF_TRAINING if name in model}
    options = {**model, **arguments.set}
    if arguments.guided:
        begins["alignments"] = [drawing.links(*one, source) for one in owned]
        options["guided_alignment"] = arguments.guided
    if arguments.source == "image":
        pairs, dev = ([(drawing.drawn(ink), text) for ink, text in part] for part in (pairs, dev))
    run = Run(arguments.out)
    if not run.is_over():  # or it was stopped behind the training
        train(pairs, dev, run.directory, TrainingOptions(**options), verbose=2, **begins)
    path = run.translator
    pipeline = kb.load_pipeline(path)
    best = tuned(pipeline, dev)
    pipeline.search = best
    pipeline.save(arguments.out / "formulas.keras")
    print(f"dev chose {best}: {arguments.out / 'formulas.keras'}")


def tuned(pipeline, dev):
    """The search with the highest ExpRate on dev; of equal ones the first, which is narrower."""
    shares = SHARES if pipeline.model.source_limits.has_ctc else (0.0,)
    searches = kb.evaluation.candidates(
        pipeline.search, BEAM_WIDTHS, EXPONENTS, ("power",), ctc_weights=shares
    )
    trials = kb.evaluation.tune(pipeline, dev, searches, metric="exprate", tell=tell)
    return trials[0].search


def tell(trial):
    search = trial.search
    print(
        f"beam {search.beam_width}, exponent {search.length_normalization:g}, share of CTC "
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
        help="model to go on from, a directory or a .keras file",
    )
    parser.add_argument(
        "--joined", type=int, default=0, help="new formulas of two, side by side, to train on, too"
    )
    more = "file of more formulas to train on, such as that of recombine.py"
    parser.add_argument("--more", type=formulas.existing, action="append", default=[], help=more)
    known = "formulas to train on in place of DIR/train.jsonl.gz, such as those of symbols.py"
    parser.add_argument("--train", type=formulas.existing, metavar="FILE", help=known)
    guided = "weight of a loss that leads the attention over an image to the strokes of a symbol"
    parser.add_argument("--guided", type=float, default=0.0, metavar="WEIGHT", help=guided)
    parser.add_argument("--turned", type=formulas.fraction, default=0.0, help=variations.TURNED)
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--precision", choices=("float32", "bfloat16"), help="of the products")
    parser.add_argument("--epochs", type=int, help="passes over the formulas")
    parser.add_argument("--minutes", type=float, help="most time of the training")
    parsed = parser.parse_args(arguments)
    if not 0 <= parsed.joined <= MOST_JOINED:
        parser.error(f"--joined must be from 0 to {MOST_JOINED:,}. Received: {parsed.joined}")
    if parsed.guided and parsed.source != "image":
        parser.error("--guided is for --source image: a cell of it belongs to a symbol")
    parsed.set = {
        name: value
        for name in ("epochs", "minutes", "learning_rate", "precision")
        if (value := getattr(parsed, name)) is not None
    }
    return parsed


if __name__ == "__main__":
    main()
