"""Resumption of a training: from its checkpoint, at the next batch of the epoch under way."""

from keras_bahdanau.callbacks import Checkpoint
from keras_bahdanau.pipelines.file import read_card
from keras_bahdanau.search import SearchOptions


def check_workers(run, count):
    """Check that a run on shards, whose batches depend on it, has the same number of workers.

    Args:
        run: `Run`, begun or not.
        count: Positive integer, the workers of this training.

    Raises:
        ValueError: If the run began with another number.
    """
    before = run.read_card().get("workers", count) if run.begun() else count
    if before != count:
        raise ValueError(
            "A run on shards resumes with as many workers as it began with. Received: "
            f"workers={count}, for a run of {before} workers. Start {before}, or choose "
            "another output directory."
        )


def resumed(run, model, steps, say):
    """Restore a model and its optimizer from the checkpoint of a run.

    Args:
        run: `Run` that has a checkpoint.
        model: Compiled Keras model, which gets all that the checkpoint holds.
        steps: Positive integer, batches of an epoch.
        say: Function of one string, which reports where the training resumes.

    Returns:
        `Progress` of the run.

    Raises:
        ValueError: If the checkpoint is damaged, or that of another model.
    """
    restore(run.checkpoint, model)
    progress = run.progress()
    # older versions split subwords otherwise in each process, and had epochs of other lengths
    if progress.step >= steps:
        say(f"batch {progress.step} is beyond the {steps} of an epoch: the last one is repeated")
        progress.step = steps - 1
    say(f"resuming at epoch {progress.epoch + 1}, batch {progress.step}")
    return progress


def kept_search(path, say):
    """The search options of the best pipeline of a run, which `tune` may have written since.

    Args:
        path: Path of its file.
        say: Function of one string, which is told of what later weights have no use for.

    Returns:
        `SearchOptions`.

    Raises:
        ValueError: If it is not a pipeline's file, or a damaged one.
    """
    card = read_card(path)
    if "calibration" in card:
        say(
            f"a better epoch is saved without the calibration of {str(path)!r}, "
            "made for other weights"
        )
    return SearchOptions.from_config(card["search"])


def restore(path, model):
    """Restore a model from a checkpoint, or raise one clear ValueError."""
    try:
        Checkpoint.restore(path, model)
    except (KeyError, ValueError):
        raise ValueError(
            "A run resumes with the model it began with. Received: the checkpoint "
            f"{str(path)!r} of another model, such as that of an older version of this package. "
            "Choose another output directory to begin anew."
        ) from None
