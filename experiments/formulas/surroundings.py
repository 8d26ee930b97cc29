r"""Extend an ink model so that it also reads the ink around each position.

    python experiments/formulas/surroundings.py --from runs/recombined --out runs/start
    python experiments/formulas/train.py --data DIR --from runs/start --out runs/both

The first command writes a directory to start training from. It contains the same weights and those
of `layers.ShapeContext`, which have no effect until they are trained. At each stroke, the model
then also receives what an image would show, such as an exponent that was written before its base,
or a fraction line under strokes that were written much earlier.
"""

import argparse
import shutil
from pathlib import Path

import formulas

import keras_bahdanau as kb
from keras_bahdanau.training import Run

NEW = "/context/"  # occurs in the path of weights that the old model lacks


@formulas.ends_well()
def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--from",
        type=Path,
        required=True,
        dest="initial",
        metavar="DIR",
        help="directory of an ink training run",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="new directory")
    arguments = parser.parse_args(arguments)
    if not (arguments.initial / "run.json").is_file():
        parser.error(
            f"--from must be the directory of a training run. Received: {arguments.initial}"
        )
    if arguments.out.exists():
        parser.error(f"--out already exists: choose another directory. Received: {arguments.out}")
    pipeline = kb.load_pipeline(arguments.initial)
    if pipeline.source != kb.sources.InkSource():  # otherwise it already has the surroundings
        parser.error(f"--from must be a model that reads only ink. Received: {arguments.initial}")
    arguments.out.mkdir(parents=True)
    shutil.copy(arguments.initial / "run.json", arguments.out)
    surrounded(pipeline).save(Run(arguments.out).translator)
    print(f"a model to start training from, which also reads the surroundings: {arguments.out}")


def surrounded(pipeline):
    """Return the pipeline with the ink around each position, which has no effect yet."""
    config = pipeline.model.get_config()
    config["encoder"]["config"]["front_end"]["config"]["surroundings"] = True
    model = type(pipeline.model).from_config(config)
    model.build()
    old = iter(pipeline.model.weights)
    for weight in model.weights:
        if NEW not in weight.path:
            weight.assign(next(old))
    source = kb.sources.InkSource(surroundings=True)
    return type(pipeline)(source, model, pipeline.target, pipeline.search, pipeline.metrics)


if __name__ == "__main__":
    main()
