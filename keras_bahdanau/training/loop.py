"""Epoch after epoch, until the last one or until nothing gets better."""

import contextlib

import keras

from keras_bahdanau.callbacks import (
    AverageLast,
    Checkpoint,
    LinearDecay,
    OneEpoch,
    ScheduledSampling,
    averaged_weights,
)
from keras_bahdanau.data import BatchedPairs
from keras_bahdanau.pipelines.translator import Translator
from keras_bahdanau.recipe import TrainingOptions
from keras_bahdanau.run import Run, is_over, write_json
from keras_bahdanau.text import Tokenizer
from keras_bahdanau.training.compiling import compiled_model, validated_model

LONGEST_VALID = 512  # tokens of a validation pair


def train(
    pairs,
    valid_pairs,
    directory,
    options=None,
    verbose="auto",
    say=print,
    alignments=None,
    valid_alignments=None,
):
    """Trains a translator, or goes on where a killed training was.

    Args:
        pairs: List of (source, target) strings.
        valid_pairs: List of (source, target) strings that decide which epoch was best.
        directory: Path of the run: see `Run`.
        options: `TrainingOptions`.
        verbose: As in `keras.Model.fit`.
        say: Function of one string: where progress is told.
        alignments: List of sets of links (source, target) between words, one for each of
            `pairs`: for guided alignment, or for the attention "forced".
        valid_alignments: The same of `valid_pairs`, for the attention "forced".

    Returns:
        Path of the saved translator, the best by validation perplexity.

    Raises:
        FileExistsError: If the directory holds something else, or a finished run.
        ValueError: If the run was begun with other options or other pairs, or if options
            and alignments do not go together.
    """
    options = options or TrainingOptions()
    run = Run(directory)
    run.check(options, pairs, valid_pairs, alignments, valid_alignments)
    training, validation, tokenizer = _batches(
        run, options, (pairs, alignments), (valid_pairs, valid_alignments)
    )
    _tell_smaller(tokenizer, options.vocabulary_size, say)
    _tell_skipped("training", training.skipped, options.max_length, say)
    _tell_skipped("validation", validation.skipped, LONGEST_VALID, say)

    keras.utils.set_random_seed(options.seed)
    model = compiled_model(tokenizer, options, training.steps)
    say(
        f"{len(pairs):,} pairs, {training.steps} batches an epoch, {training.tokens:,} target "
        f"tokens; {model.count_params():,} weights"
    )
    progress = {"epoch": 0, "step": 0, "best": None, "waited": 0, "seconds": 0.0, "history": []}
    if run.checkpoint.is_file():
        _restore(run.checkpoint, model)
        progress = run.progress()
        say(f"going on at epoch {progress['epoch'] + 1}, batch {progress['step']}")
    elif not run.begun():
        run.begin(options, pairs, valid_pairs, tokenizer, alignments, valid_alignments)
    checkpoint = Checkpoint(run.checkpoint, progress, options.checkpoint_steps)
    callbacks = [checkpoint, *_sampling(options, training.steps), OneEpoch()]
    average = _average(options, run, model)
    in_float32 = options.precision == "float32"
    translator = Translator(model if in_float32 else validated_model(tokenizer, options), tokenizer)
    while not is_over(progress, options):
        epoch = progress["epoch"]
        fitted = model.fit(
            training.epoch(epoch, first_step=progress["step"]),
            initial_epoch=epoch,
            epochs=options.epochs,
            callbacks=callbacks,
            shuffle=False,
            verbose=verbose,
        )
        _validate(model, translator, validation, checkpoint, run, average, fitted, say)
    return run.translator


def _batches(run, options, training, validation):
    """(training batches, validation batches, their tokenizer)."""
    pairs, alignments = training
    valid_pairs, valid_alignments = validation
    if run.begun():
        tokenizer = Tokenizer.from_config(run.read_card()["tokenizer"])
    else:
        tokenizer = Tokenizer.train(
            pairs,
            options.vocabulary_size,
            model_type=options.model_type,
            joint=options.joint,
            exact=False,
        )
    measure = "batch_tokens" if options.batch_tokens else "batch_sentences"
    batches = {
        measure: getattr(options, measure),
        "buckets": options.buckets,
        "seed": options.seed,
    }
    return (
        BatchedPairs(
            pairs,
            tokenizer,
            max_length=options.max_length,
            alignments=alignments,
            subword_sampling=options.subword_sampling,
            **batches,
        ),
        BatchedPairs(
            valid_pairs,
            tokenizer,
            max_length=LONGEST_VALID,
            alignments=valid_alignments,
            shuffle=False,
            **batches,
        ),
        tokenizer,
    )


def _restore(path, model):
    try:
        Checkpoint.restore(path, model)
    except (KeyError, ValueError):
        raise ValueError(
            "A run goes on with the model it began with. Received: the checkpoint "
            f"{str(path)!r} of another model, such as that of an older version of this package. "
            "Choose another output directory to begin anew."
        ) from None


def _sampling(options, steps):
    """What makes the decoder read its own tokens, evenly more of them step by step."""
    if not options.scheduled_sampling:
        return []
    slope = options.scheduled_sampling / (options.epochs * steps)
    return [ScheduledSampling(LinearDecay(slope))]


def _average(options, run, model):
    """The `AverageLast` of a training, or None."""
    if not options.average_last:
        return None
    average = AverageLast(options.average_last, run.epochs)
    average.set_model(model)
    return average


@contextlib.contextmanager
def _as_saved(model, average, epoch):
    """The model with the weights that validation and the saved translator use."""
    with averaged_weights(model):
        if average is None:
            yield
            return
        average.on_epoch_end(epoch)
        with average.in_place():
            yield


def _validate(model, translator, validation, checkpoint, run, average, fitted, say):
    """What follows from an epoch's validation: the best translator, history, checkpoint."""
    progress = checkpoint.progress
    epoch = progress["epoch"]
    with _as_saved(model, average, epoch):
        if translator.model is not model:
            translator.model.set_weights(model.get_weights())
        valid = translator.model.evaluate(validation.epoch(0), return_dict=True, verbose=0)
        better = progress["best"] is None or valid["perplexity"] < progress["best"]
        if better:
            translator.save(run.translator)
    logs = {name: values[-1] for name, values in fitted.history.items()}
    logs.update({f"val_{name}": value for name, value in valid.items()})
    progress["history"].append(logs)
    progress.update(
        epoch=epoch + 1,
        step=0,
        best=valid["perplexity"] if better else progress["best"],
        waited=0 if better else progress["waited"] + 1,
    )
    write_json(run.history, progress["history"])
    checkpoint.save()
    say(
        f"epoch {epoch + 1}: validation perplexity {valid['perplexity']:.3f}"
        f"{' (best)' if better else ''}, {progress['seconds'] / 60:.1f} min"
    )


def _tell_smaller(tokenizer, asked_for, say):
    sizes = {
        "source": tokenizer.source_vocabulary_size,
        "target": tokenizer.target_vocabulary_size,
    }
    if tokenizer.joint:
        sizes = {"joint": tokenizer.source_vocabulary_size}
    for kind, size in sizes.items():
        if size < asked_for:
            say(f"the {kind} vocabulary has {size:,} tokens, not {asked_for:,}: all the text has")


def _tell_skipped(kind, skipped, max_length, say):
    if skipped.empty:
        say(f"{skipped.empty} {kind} pairs with an empty side are left out")
    if skipped.too_long:
        say(f"{skipped.too_long} {kind} pairs with more than {max_length} tokens are left out")
