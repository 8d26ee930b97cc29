"""Train on a Ray cluster: Ray starts the workers, and restarts them when one is lost.

    python examples/scale/ray_train.py train.tsv valid.tsv --out /shared/runs/en-de --workers 2

Every machine in the cluster must be able to read the files and the run directory.
"""

import argparse
import os
from pathlib import Path

from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.tensorflow import TensorflowTrainer


def train_worker(settings):
    """Run one worker of the job, in its own process with the TF_CONFIG that Ray has set."""
    os.environ.pop("TF_USE_LEGACY_KERAS", None)  # Ray sets it, but this package needs Keras 3
    from keras_bahdanau import training
    from keras_bahdanau.data import read_pairs

    run = training.Run(settings["out"])
    if run.is_over():  # a worker was lost at the very end
        return
    training.train(
        read_pairs(settings["train"]),
        read_pairs(settings["valid"]),
        run.directory,
        training.TrainingOptions(**settings["options"]),
        verbose=0,
        strategy=training.strategy_of_environment(),
    )


def main():
    given = parsed()
    settings = {name: str(getattr(given, name).resolve()) for name in ("train", "valid", "out")}
    options = {"epochs": given.epochs, "batch_tokens": given.batch_tokens}
    trainer = TensorflowTrainer(
        train_worker,
        train_loop_config={**settings, "options": {**options, "checkpoint_steps": 20}},
        scaling_config=ScalingConfig(num_workers=given.workers, use_gpu=given.gpu),
        run_config=RunConfig(
            storage_path=str(given.out.resolve().parent / "ray"),
            failure_config=FailureConfig(max_failures=given.restarts),
        ),
    )
    trainer.fit()
    print(f"The model: {given.out / 'translator.keras'}")


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train", type=Path, help="TSV with both languages")
    parser.add_argument("valid", type=Path, help="TSV for validation")
    parser.add_argument("--out", type=Path, required=True, help="output directory")
    parser.add_argument(
        "--workers", type=int, default=2, help="number of processes, with one device each (2)"
    )
    parser.add_argument("--gpu", action="store_true", help="one GPU per worker")
    parser.add_argument("--restarts", type=int, default=3, help="maximum number of restarts (3)")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument(
        "--batch-tokens", type=int, default=2048, help="tokens per batch, over all workers"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
