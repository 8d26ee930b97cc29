"""From sentence pairs to a trained translator, in one `fit`."""

import keras

from keras_bahdanau.callbacks import AverageLast, Checkpoint, LinearDecay, ScheduledSampling
from keras_bahdanau.data import BatchedPairs
from keras_bahdanau.pipelines.translator import Translator
from keras_bahdanau.text import Tokenizer
from keras_bahdanau.training.compiling import compiled_model, validated_model
from keras_bahdanau.training.options import TrainingOptions
from keras_bahdanau.training.progress import Progress
from keras_bahdanau.training.run import Run
from keras_bahdanau.training.validation import ValidateAndSave

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
    callbacks=None,
):
    """Train a translator, or resume a training that was killed.

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
        callbacks: List of Keras callbacks that take part in `fit`. At the end of an epoch their
            logs hold "val_loss" and "val_perplexity". One that sets `model.stop_training` ends
            the run: the epoch is validated and saved, and is not resumed. What callbacks keep
            themselves begins anew when a training is resumed.

    Returns:
        Path of the saved translator, the best by validation perplexity.

    Raises:
        FileExistsError: If the directory holds something else, or a finished run.
        ValueError: If the run was begun with other options or other pairs, or if options
            and alignments do not go together.
    """
    options = (options or TrainingOptions()).resolved()
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
    progress = Progress()
    if run.checkpoint.is_file():
        _restore(run.checkpoint, model)
        progress = run.progress()
        say(f"resuming at epoch {progress.epoch + 1}, batch {progress.step}")
    elif not run.begun():
        run.begin(options, pairs, valid_pairs, tokenizer, alignments, valid_alignments)
    in_float32 = options.precision == "float32"
    translator = Translator(model if in_float32 else validated_model(tokenizer, options), tokenizer)
    checkpoint = Checkpoint(run.checkpoint, progress, options.checkpoint_steps)
    average = AverageLast(options.average_last, run.epochs) if options.average_last else None
    _fit(
        model,
        training,
        progress,
        options,
        callbacks=[
            *([keras.callbacks.ProgbarLogger()] if verbose else []),  # or it waits for validation
            checkpoint,
            *_sampling(options, training.steps),
            ValidateAndSave(run, translator, validation, options, checkpoint, average, say),
            *(callbacks or ()),
        ],
        verbose=verbose,
    )
    return run.translator


def _fit(model, training, progress, options, **settings):
    """Fit the model from where its progress stands to the end.

    Keras gives each epoch of a `fit` as many steps as the first one, so the rest of an epoch that
    was interrupted is a `fit` of its own.
    """
    settings["shuffle"] = False  # the batches are shuffled already
    if progress.step:
        epoch = progress.epoch
        rest = training.epoch(epoch, first_step=progress.step)
        model.fit(rest, initial_epoch=epoch, epochs=epoch + 1, **settings)
    if not progress.is_over(options):
        epochs = training.dataset(first_epoch=progress.epoch)
        model.fit(epochs, initial_epoch=progress.epoch, epochs=options.epochs, **settings)


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
            "A run resumes with the model it began with. Received: the checkpoint "
            f"{str(path)!r} of another model, such as that of an older version of this package. "
            "Choose another output directory to begin anew."
        ) from None


def _sampling(options, steps):
    """The callback that lets the decoder read evenly more of its own tokens, in a list."""
    if not options.scheduled_sampling:
        return []
    slope = options.scheduled_sampling / (options.epochs * steps)
    return [ScheduledSampling(LinearDecay(slope))]


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
