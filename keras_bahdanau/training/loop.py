"""From pairs to a trained pipeline, in one `fit`."""

import dataclasses

import keras

from keras_bahdanau.callbacks import (
    AverageLast,
    Checkpoint,
    EndInTime,
    StopAtDivergence,
)
from keras_bahdanau.layers.registry import is_registered_name, registered
from keras_bahdanau.optimizers.rounded_weights import round_weights
from keras_bahdanau.optimizers.schedules import learning_rate
from keras_bahdanau.pipelines.by_source import kind_of, pipeline_of
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.sources.serialized import serialized_sides
from keras_bahdanau.sources.source import as_source
from keras_bahdanau.training.adaptation import Adaptation
from keras_bahdanau.training.compiling import compiled_model, validated_model
from keras_bahdanau.training.distributed import fit_of
from keras_bahdanau.training.first_search import first_search
from keras_bahdanau.training.inheritance import (
    check_no_adaptation,
    check_none_learnt,
    check_vocabulary_pairs,
    initial_model,
    record_of,
)
from keras_bahdanau.training.model_types import with_given_types
from keras_bahdanau.training.options import TrainingOptions
from keras_bahdanau.training.progress import Progress
from keras_bahdanau.training.resumption import check_workers, kept_search, resumed
from keras_bahdanau.training.skipped_pairs import (
    TellBroken,
    tell_pathless,
    tell_skipped,
    tell_unknown,
)
from keras_bahdanau.training.slow_steps import TellSteps
from keras_bahdanau.training.training_data import (
    LONGEST_VALID,
    check_sides,
    longest_source,
    longest_valid_source,
    training_data,
)
from keras_bahdanau.training.validation import ValidateAndSave
from keras_bahdanau.training.vocabularies import vocabularies
from keras_bahdanau.training.word_teacher import word_distillation
from keras_bahdanau.training.workers import FollowChief, Workers


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
    """Train a translator, or a pipeline for another source, or resume a killed training.

    Args:
        pairs: List of (source, target) strings; with a `source` of another kind, of its inputs
            and strings. Or `Shards`, which stay on disk and have a source and a target already.
            Or a list of `data.Corpus`, which are mixed batch by batch.
        valid_pairs: List of such pairs that decide which epoch was best. Or a list of
            `data.Corpus`, whose tags count, and whose weights do not.
        directory: Path of the run: see `Run`.
        options: `TrainingOptions`; without a preset, that of the source.
        verbose: As in `keras.Model.fit`.
        say: Function of one string, which reports progress.
        alignments: List of sets of links (source, target) between words, one for each of
            `pairs`: for guided alignment, or for the attention "forced". In the place of a set may
            stand an array of weights between words: see `text.word_weights`.
        valid_alignments: The same of `valid_pairs`, for the attention "forced".
        callbacks: List of Keras callbacks that take part in `fit`. At the end of an epoch their
            logs hold "val_loss" and "val_perplexity". One that sets `model.stop_training` ends
            the run: the epoch is validated and saved, and is not resumed. What callbacks keep
            themselves begins anew when a training is resumed.
        source: `Source`, or the `Subwords` of the source text; None to learn subwords from the
            pairs, as the options say.
        target: The `Subwords` of the target text, or None, likewise.
        cache: Path of a directory that keeps decoded images or sounds, which may serve several
            trainings; None to decode them anew in each epoch. See `Source.cached`.
        symbols: List of strings that always are one token of the source, such as the features
            `<PST>` that `read_table` gives, where its subwords are learnt.
        initial: Path of a `.keras` file, or of a run directory: the model that is trained
            further. Source, vocabularies, search and model options are its own, and before the
            first step so are its outputs. See `Adaptation`. It is validated, and saved as the
            best one until an epoch is better. A run that is resumed does not read it again.
        vocabulary_pairs: List of pairs, the text by which `update_vocabulary` updates the
            vocabularies of that model, such as the new ones among `pairs`; None for all of them.
        strategy: `tf.distribute.MultiWorkerMirroredStrategy` if several processes train
            together: each calls `train` with the same arguments and computes its part of each
            batch. The first one, the chief, alone writes files, reports, and calls `callbacks`.
        devices: Dictionary from "encoder", "decoder" and "attention", or some of them, to names
            of devices, such as {"encoder": "GPU:0", "decoder": "GPU:1"}, where a model does not
            fit on one: see `placement.place`.
        show: Function of one string, which shows what is being prepared, "" when all is; None for
            none.
        teacher: Path of a `.keras` file or of a run, or a list of several, their ensemble, for
            `word_distillation`: see `WordDistillation`. It must have the student's source and
            target.

    Returns:
        Path of the saved translator or pipeline, that with the lowest validation perplexity, or
        the best value of the metric `best_by`.

    Raises:
        BlockingIOError: If another process trains in the directory.
        ConnectionError: If another worker of the strategy ended.
        FileExistsError: If the directory holds something else, or a finished run.
        FileNotFoundError: If there is no file of `initial` or of `teacher`.
        FloatingPointError: If loss, weights or validation perplexity are NaN or infinite. The
            best translator and the last checkpoint stay.
        TypeError: If `source` is neither a `Source` nor a `Subwords`.
        ValueError: If shards on disk are damaged, even while it trains; if the run was begun with
            other options, other pairs, or another source or target, or on shards with another
            number of workers; if its files are damaged; if a part or a device of `devices` is
            unknown; if options and alignments, or options and teacher, do not go together; if
            there is a `cache` for a source that decodes no files; or if options or vocabularies
            contradict the `initial` model or the teacher.
    """
    options = options or TrainingOptions()
    data = training_data(pairs, valid_pairs, alignments, valid_alignments, teacher)
    sides = data.sides(source, target, symbols)
    are_given = None not in (sides.source, sides.target)
    check_vocabulary_pairs(options, vocabulary_pairs, are_given)
    workers = Workers(strategy)
    say = say if workers.is_chief else _say_nothing
    show = show if show and workers.is_chief else _say_nothing
    run = workers.run_in(directory)
    with workers.together(), run.owned(say):
        begins_with = initial_model(run, initial)
        if data.shards and begins_with is None and not run.begun():
            check_none_learnt(options, sides.source, sides.target)
        options = _asked(options, begins_with, sides.source)
        if not run.begun():
            options = with_given_types(options, sides.source, sides.target, say)
        run.check(options, *data)
        options = data.with_found(run.kept(options), sides, say).resolved()
        if is_registered_name(options.attention):
            registered(options.attention)  # or say so before the vocabularies are learnt
        if begins_with is None and not run.begun():
            check_sides(options, sides.source, sides.target)
        training = _Training(run, options, data, workers, say, show)
        training.prepare(sides, begins_with, vocabulary_pairs, cache, devices)
        with training.batches.errors(), training.validation.errors():
            training.fit(callbacks or (), verbose)
    return run.translator


def _say_nothing(line):
    pass


def _asked(options, begins_with, source):
    """The options of a training, with those of the model that it begins with, if there is one."""
    if begins_with is not None:
        return begins_with.inherited(options)
    check_no_adaptation(options)
    if options.preset is None and source is not None:
        return dataclasses.replace(options, preset=as_source(source).preset)
    return options


class _Training:
    """A run that this process owns, or its chief, from its data to the end of `fit`.

    Args:
        run: `Run`.
        options: `TrainingOptions`, resolved.
        data: `TrainingData`.
        workers: `Workers`.
        say: Function of one string, which reports progress.
        show: Function of one string, which shows what is being prepared.
    """

    def __init__(self, run, options, data, workers, say, show):
        self.run, self.options, self.data = run, options, data
        self.workers, self.say, self.show = workers, say, show

    def prepare(self, sides, begins_with, vocabulary_pairs, cache, devices):
        """Make vocabularies, batches and model; begin the run, or restore its checkpoint."""
        run, options, data, say = self.run, self.options, self.data, self.say
        check_workers(run, self.workers.count)
        old = None  # its weights are those of the checkpoint, if there is one, or the chief's
        if begins_with is not None and self.workers.is_chief and not run.checkpoint.is_file():
            old = Adaptation(begins_with)
        self.initial = run.initial() if run.begun() else old and old.card
        new_text = data.pairs if vocabulary_pairs is None else vocabulary_pairs
        self.show("making vocabularies")
        source, target = vocabularies(run, options, data.pairs, sides, old, new_text, say)
        self.source = source = source if cache is None else source.cached(cache, say=say)
        self.target = target
        self.show("making batches")
        self.batches, self.validation = data.batches(source, target, options, self.workers)
        longest = longest_source(source, options)
        limits = longest and (longest, source.unit)
        tell_skipped("training", self.batches, data.inputs, options.max_length, say, limits)
        limits = longest and (longest_valid_source(source, longest), source.unit)
        tell_skipped("validation", self.validation, data.valid_inputs, LONGEST_VALID, say, limits)
        tell_unknown(data.valid_pairs, source, target, say)
        self.show("making the model")
        keras.utils.set_random_seed(options.seed)
        self.rate = learning_rate(options, self.batches.steps)
        config = self.initial and self.initial["model"]
        settings = config, devices, self._window()
        self.model = compiled_model(source, target, options, self.rate, *settings)
        if data.teacher:
            self.show("loading the teacher")
            taught = word_distillation(data.teacher, (source, target), options)
            self.model.word_distillation = taught
        tell_pathless(self.batches, self.model, say)
        if old is not None:
            old.give_weights(self.model, source, target)
        say(
            f"{self._count_of_pairs()}, {counted(self.batches.steps, 'batches')} an epoch, "
            f"{self.batches.tokens:,} target tokens; {self.model.count_params():,} weights"
        )
        self.progress = self._begun()
        self.workers.begin(run, self.model, self.progress)
        self.show("")

    def _window(self):
        """Steps that the model it begins with keeps; 0 for none, and in cards of old versions."""
        return (self.initial or {}).get("window", 0)

    def _count_of_pairs(self):
        """The number of pairs that are trained on, and of how many if some are left out."""
        every, skipped = len(self.data.pairs), self.batches.skipped
        kept = every - skipped.empty - skipped.too_long
        return f"{every:,} pairs" if kept == every else f"{kept:,} of {every:,} pairs"

    def _begun(self):
        """The progress of the run: of its checkpoint, or of one that begins now."""
        run, data = self.run, self.data
        if run.checkpoint.is_file():
            return resumed(run, self.model, self.batches.steps, self.say)
        if not run.begun():
            card = serialized_sides(self.source, self.target)
            card |= {} if self.initial is None else {"initial": self.initial}
            card |= {"workers": self.workers.count} if data.shards else {}
            beside = data.alignments, data.valid_alignments, data.teacher
            run.begin(self.options, data.pairs, data.valid_pairs, card, *beside)
        if self.options.quantization_aware:
            round_weights(self.model, self.options.quantization, self.model.optimizer.remainders)
        return Progress()

    def _pipeline(self):
        """The pipeline that validation decodes with, and that is saved."""
        options, initial, model = self.options, self.initial, self.model
        if options.precision != "float32":
            config = initial and initial["model"]
            model = validated_model(self.source, self.target, options, config, self._window())
        metrics = _metrics(self.source, self.target, options)
        if initial is not None and options.best_by == "perplexity":
            metrics = initial["metrics"]
        pipeline = pipeline_of(self.source, model, self.target, self._search(model), metrics)
        pipeline.training = record_of(options, initial)
        return pipeline

    def _search(self, model):
        """Its search options: as the run has saved them, or as it begins."""
        if self.run.translator.is_file():
            return kept_search(self.run.translator, self.say)
        before = None if self.initial is None else self.initial["search"]
        symbols = self.data.write_symbols(self.target)
        found = {"ctc_weight": model.ctc_weight, "write_symbols": symbols}
        return first_search(self.source, self.target, self.options, before, **found)

    def fit(self, callbacks, verbose):
        """Fit the model from where its progress stands to the end.

        Keras gives each epoch of a `fit` as many steps as the first one, so the rest of an epoch
        that was interrupted is a `fit` of its own.
        """
        progress, options = self.progress, self.options
        settings = {"callbacks": self._callbacks(callbacks, verbose), "shuffle": False}
        settings["verbose"] = verbose if self.workers.is_chief else 0
        fit = fit_of(self.workers, options.accumulate)
        if progress.step:
            epoch = progress.epoch
            rest = self.batches.epoch(epoch, first_step=progress.step)
            fit(self.model, rest, initial_epoch=epoch, epochs=epoch + 1, **settings)
        if not progress.is_over(options):
            epochs = self.batches.dataset(first_epoch=progress.epoch)
            limits = {"initial_epoch": progress.epoch, "epochs": options.epochs}
            fit(self.model, epochs, **limits, **settings)

    def _callbacks(self, given, verbose):
        """All callbacks of a `fit`, in their order; those that every worker has, of the others."""
        options, progress, workers = self.options, self.progress, self.workers
        everywhere = [
            StopAtDivergence(progress),
        ]
        last = [FollowChief(workers, progress)] if workers.count > 1 else []
        end = _end(options, self.batches.steps, progress, self.rate)
        if not workers.is_chief:
            return [*everywhere, *last, *end]
        run, data, say = self.run, self.data, self.say
        checkpoint = Checkpoint(run.checkpoint, progress, options.checkpoint_steps)
        average = AverageLast(options.average_last, run.epochs) if options.average_last else None
        validation = (self.validation, options, checkpoint, data.valid_pairs, average, say)
        return [
            *([keras.callbacks.ProgbarLogger()] if verbose else []),  # or it waits for validation
            *([TellSteps(say, lines=verbose == 2)] if verbose else []),
            *everywhere,
            checkpoint,
            TellBroken("training", self.batches, data.inputs, say),
            ValidateAndSave(run, self._pipeline(), *validation, first=self.initial is not None),
            TellBroken("validation", self.validation, data.valid_inputs, say),
            *end,
            *given,
            *last,
        ]


def _metrics(source, target, options):
    """Names of the metrics of the pipeline, the judge first; None for its class's."""
    judge, own = options.best_by, kind_of(source).metrics
    if judge in ("perplexity", own[0]):
        return None
    rate = "per" if target.model_type == "word" else "cer"
    return tuple(dict.fromkeys((judge, *own) if judge in own else (judge, rate)))


def _end(options, steps, progress, rate):
    """The callback that lets a cosine schedule end with the time, in a list."""
    if not options.minutes or options.schedule != "cosine":
        return []
    return [EndInTime(progress, rate, steps, options.epochs, options.minutes)]
