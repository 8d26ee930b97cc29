"""The function `train`, which trains a pipeline on pairs."""

import keras

from keras_bahdanau.callbacks import (
    AverageLast,
    Checkpoint,
    EndInTime,
    StopAtDivergence,
)
from keras_bahdanau.optimizers.rounded_weights import round_weights
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.settings.guesses import check_keywords
from keras_bahdanau.training.data import TrainingData
from keras_bahdanau.training.distributed import fit_of
from keras_bahdanau.training.model import compiled_model, learning_rate, word_distillation
from keras_bahdanau.training.options import TrainingOptions
from keras_bahdanau.training.plan import plan_training
from keras_bahdanau.training.progress import Progress
from keras_bahdanau.training.reports import (
    ReportBroken,
    ReportSteps,
    report_judge,
    report_long_targets,
    report_pairs_without_ctc_path,
    report_skipped,
    report_texts,
)
from keras_bahdanau.training.saved_pipeline import new_pipeline
from keras_bahdanau.training.validation import ValidateAndSave
from keras_bahdanau.training.workers import FollowChief, Workers


@check_keywords(options=TrainingOptions)
def train(
    pairs,
    valid_pairs,
    directory,
    options=None,
    verbose="auto",
    say=print,
    alignments=None,
    valid_alignments=None,
    callbacks=None,
    source=None,
    target=None,
    cache=None,
    symbols=(),
    initial=None,
    vocabulary_pairs=None,
    strategy=None,
    devices=None,
    show=None,
    teacher=None,
):
    """Train a translator, or a pipeline for another source, or resume an interrupted run.

    ```python
    options = keras_bahdanau.training.TrainingOptions(units=256, epochs=20)
    path = keras_bahdanau.training.train(pairs, valid_pairs, "runs/en-de", options)
    translator = keras_bahdanau.Translator.load(path)
    ```

    Args:
        pairs: List of (source, target) pairs of strings; for a `source` other than text, list of
            pairs of one of its inputs and a string. Alternatively, `Shards`, which have their own
            source and target, or a list of `data.Corpus`, which are mixed batch by batch.
        valid_pairs: List of pairs that decide which epoch is best. Alternatively, a list of
            `data.Corpus`, whose weights are ignored.
        directory: Path of the run directory: see `Run`.
        options: `TrainingOptions`. Without a preset, the preset of the source is used.
        verbose: As in `keras.Model.fit`.
        say: Function of one string, which reports progress.
        alignments: For guided alignment or the attention "forced": list with an item for each of
            `pairs`, which is a set of links (source, target) between words, or an array of weights
            (`text.word_weights`).
        valid_alignments: For the attention "forced": such a list for `valid_pairs`.
        callbacks: List of Keras callbacks for `fit`. At the end of an epoch, their logs contain
            "val_loss" and "val_perplexity". Setting `model.stop_training` ends the run for good,
            after the epoch is validated and saved. A resumed run does not restore the state of
            these callbacks.
        source: `Source`, or the `Subwords` of the source text; None to learn subwords.
        target: The `Subwords` of the target text; None to learn subwords.
        cache: Path of a directory for decoded images or recordings, which several runs may share;
            None to decode the files in each epoch. See `Source.cached`.
        symbols: List of strings that a learned source keeps as single tokens, such as the features
            `<PST>` that `read_table` returns.
        initial: Path of a `.keras` file, or of a run directory: the model to fine-tune. Its source,
            vocabularies, search options and model options are kept. It is the best model until an
            epoch is better. A resumed run does not read it again.
        vocabulary_pairs: List of pairs for `update_vocabulary`; None for all of `pairs`.
        strategy: `tf.distribute.MultiWorkerMirroredStrategy` if several processes train
            together. Each process calls `train` with the same arguments and computes its part of
            each batch. Only the first process, the chief, writes files, reports progress, and calls
            `callbacks`.
        devices: Dictionary that places parts of a model on devices: see `model.assign_devices`.
        show: Function of one string, which shows what is being prepared, and gets "" at the end;
            or None.
        teacher: For `word_distillation` (see `WordDistillation`): path of a `.keras` file or of a
            run directory, or a list of paths that form an ensemble. A teacher must have the
            student's source and target.

    Returns:
        Path of the saved pipeline with the lowest validation perplexity, or with the best value of
        the metric `best_by`.

    Raises:
        BlockingIOError: If another process trains in the directory.
        ConnectionError: If another worker of the strategy has ended.
        FileExistsError: If the directory contains other files, or a finished run.
        FileNotFoundError: If a file of `initial` or `teacher` does not exist.
        FloatingPointError: If the loss, the weights or the validation perplexity are NaN or
            infinite. The best translator and the last checkpoint are kept.
        TypeError: If `source` is neither a `Source` nor a `Subwords`.
        ValueError: If shards or files of the run are damaged; if the run began with other options,
            pairs, source or target, or with another number of workers on shards; or if arguments
            contradict each other.
    """
    data = TrainingData.build(pairs, valid_pairs, alignments, valid_alignments, teacher)
    sides = data.sides(source, target, symbols)
    workers = Workers(strategy)
    say = say if workers.is_chief else _say_nothing
    show = show if show and workers.is_chief else _say_nothing
    run = workers.run_in(directory)
    with workers.together(), run.owned(say):
        run.check_workers(workers.count)
        plan = plan_training(
            *(run, options or TrainingOptions(), data, sides, initial, vocabulary_pairs),
            is_chief=workers.is_chief,
            cache=cache,
            say=say,
            show=show,
        )
        if workers.is_chief:
            for shards in {shards.directory: shards for shards in data.shards}.values():
                shards.check(show)
        training = _Training(run, plan, workers, say)
        training.prepare(devices, show)
        with training.batches.errors(), training.validation.errors():
            training.fit(callbacks or (), verbose)
    return run.translator


def _say_nothing(line):
    pass


class _Training:
    """A training run, owned by this process or by the chief, from its plan to the end of `fit`."""

    def __init__(self, run, plan, workers, say):
        self.run, self.plan, self.workers, self.say = run, plan, workers, say

    def prepare(self, devices, show):
        """Create batches and model, and begin the run or restore its checkpoint."""
        plan, say = self.plan, self.say
        show("making batches")
        self.batches, self.validation = plan.batches(self.workers)
        report_skipped(plan, self.batches, self.validation, say)
        report_texts(plan, say)
        report_judge(plan, say)
        show("making the model")
        keras.utils.set_random_seed(plan.options.seed)
        self.rate = learning_rate(plan, self.batches.steps)
        self.model = compiled_model(plan, self.rate, devices)
        if plan.data.teacher:
            show("loading the teacher")
            self.model.word_distillation = word_distillation(plan)
        report_pairs_without_ctc_path(self.batches, self.model, say)
        if plan.adaptation is not None:
            plan.adaptation.give_weights(self.model, plan.source, plan.target)
        say(
            f"{self._count_of_pairs()}, {counted(self.batches.steps, 'batches')} per epoch, "
            f"{self.batches.tokens:,} target tokens; {self.model.count_params():,} weights"
        )
        self.progress = self._begin_or_resume()
        self.workers.begin(self.run, self.model, self.progress)
        show("")

    def _count_of_pairs(self):
        """Format the number of training pairs, and of all pairs if some are left out."""
        total, skipped = len(self.plan.data.pairs), self.batches.skipped
        count = total - skipped.empty - skipped.too_long
        return f"{total:,} pairs" if count == total else f"{count:,} of {total:,} pairs"

    def _begin_or_resume(self):
        """Return the progress of the run, from its checkpoint or for a new run."""
        run, options = self.run, self.plan.options
        if run.checkpoint.is_file():
            return self._resume()
        if not run.exists():
            run.begin(self.plan, self.workers.count)
        if options.quantization_aware:
            round_weights(self.model, options.quantization, self.model.optimizer.remainders)
        return Progress()

    def _resume(self):
        restore(self.run.checkpoint, self.model)
        progress = self.run.progress()
        self.say(f"resuming at epoch {progress.epoch + 1}, batch {progress.step}")
        return progress

    def fit(self, callbacks, verbose):
        """Train the model from its current progress to the end.

        In Keras, all epochs of a `fit` have the same number of steps, so the rest of an interrupted
        epoch needs a separate `fit`.
        """
        progress, options = self.progress, self.plan.options
        settings = {"callbacks": self._callbacks(callbacks, verbose), "shuffle": False}
        settings["verbose"] = verbose if self.workers.is_chief else 0
        fit = fit_of(self.workers, options.accumulate)
        if progress.step:
            epoch = progress.epoch
            remaining = self.batches.epoch(epoch, first_step=progress.step)
            fit(self.model, remaining, initial_epoch=epoch, epochs=epoch + 1, **settings)
        if not progress.end(*self.plan.limits):
            epochs = self.batches.dataset(first_epoch=progress.epoch)
            limits = {"initial_epoch": progress.epoch, "epochs": options.epochs}
            fit(self.model, epochs, **limits, **settings)

    def _callbacks(self, callbacks, verbose):
        """Return all callbacks for `fit` in order. Some of them run in every worker."""
        plan, progress, workers = self.plan, self.progress, self.workers
        options = plan.options
        everywhere = [StopAtDivergence(progress)]
        last = [FollowChief(workers, progress)] if workers.count > 1 else []
        end = []
        if options.minutes and options.schedule == "cosine":
            limits = self.batches.steps, options.epochs, options.minutes
            end = [EndInTime(progress, self.rate, *limits)]
        if not workers.is_chief:
            return [*everywhere, *last, *end]
        run, say = self.run, self.say
        checkpoint = Checkpoint(run.checkpoint, progress, options.checkpoint_steps)
        average = AverageLast(options.average_last, run.epochs) if options.average_last else None
        pipeline = new_pipeline(plan, run, self.model, self.batches, say)
        report_long_targets(plan, self.validation, pipeline, say)
        return [
            *([keras.callbacks.ProgbarLogger()] if verbose else []),  # first, before validation
            *([ReportSteps(say, verbose == 2, progress.step)] if verbose else []),
            *everywhere,
            checkpoint,
            ReportBroken("training", self.batches, plan.data.inputs, plan.source, say),
            ValidateAndSave(plan, run, pipeline, self.validation, checkpoint, average, say),
            ReportBroken("validation", self.validation, plan.data.valid_inputs, plan.source, say),
            *end,
            *callbacks,
            *last,
        ]


def restore(path, model):
    """Restore a model from a checkpoint. Raises ValueError if it is that of another model."""
    try:
        Checkpoint.restore(path, model)
    except (KeyError, ValueError):
        raise ValueError(
            "A run resumes with the model it began with. Received: the checkpoint "
            f"{str(path)!r} of another model, for example from an older version of this package. "
            "To start over, choose another output directory."
        ) from None
