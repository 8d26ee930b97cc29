"""Training a translator on sentence pairs in a run directory that can be picked up again."""

import keras

from keras_bahdanau import presets
from keras_bahdanau.callbacks import AveragingAdam, Checkpoint, OneEpoch, averaged_weights
from keras_bahdanau.losses import TokenCrossentropy
from keras_bahdanau.metrics import Perplexity
from keras_bahdanau.recipe import TrainingOptions
from keras_bahdanau.run import Run, is_over, write_json
from keras_bahdanau.text import BatchedPairs, Tokenizer
from keras_bahdanau.translator import Translator


def train(pairs, valid_pairs, directory, options=None, verbose="auto", say=print):
    """Trains a translator, or goes on where a killed training was.

    Args:
        pairs: List of (source, target) strings.
        valid_pairs: List of (source, target) strings that decide which epoch was best.
        directory: Path of the run: see `Run`.
        options: `TrainingOptions`.
        verbose: As in `keras.Model.fit`.
        say: Function of one string: where progress is told.

    Returns:
        Path of the saved translator, the best by validation perplexity.

    Raises:
        FileExistsError: If the directory holds something else, or a finished run.
        ValueError: If the run was begun with other options or other pairs.
    """
    options = options or TrainingOptions()
    run = Run(directory)
    run.check(options, pairs, valid_pairs)
    if run.begun():
        tokenizer = Tokenizer.from_config(run.read_card()["tokenizer"])
    else:
        tokenizer = Tokenizer.train(
            pairs, options.vocabulary_size, model_type=options.model_type, joint=options.joint
        )
    batches = {"batch_tokens": options.batch_tokens, "seed": options.seed}
    training = BatchedPairs(pairs, tokenizer, max_length=options.max_length, **batches)
    validation = BatchedPairs(valid_pairs, tokenizer, max_length=512, shuffle=False, **batches)
    _tell_skipped("training", training.skipped, options.max_length, say)
    _tell_skipped("validation", validation.skipped, 512, say)

    keras.utils.set_random_seed(options.seed)
    model = _compiled(tokenizer, options, training.steps)
    say(
        f"{len(pairs):,} pairs, {training.steps} batches an epoch, {training.tokens:,} target "
        f"tokens; {model.count_params():,} weights"
    )
    progress = {"epoch": 0, "step": 0, "best": None, "waited": 0, "seconds": 0.0, "history": []}
    if run.checkpoint.is_file():
        Checkpoint.restore(run.checkpoint, model)
        progress = run.progress()
        say(f"going on at epoch {progress['epoch'] + 1}, batch {progress['step']}")
    elif not run.begun():
        run.begin(options, pairs, valid_pairs, tokenizer)
    checkpoint = Checkpoint(run.checkpoint, progress, options.checkpoint_steps)
    translator = Translator(model, tokenizer)
    while not is_over(progress, options):
        _epoch(translator, training, validation, checkpoint, run, options.epochs, verbose, say)
    return run.translator


def _epoch(translator, training, validation, checkpoint, run, epochs, verbose, say):
    """One epoch, or what is left of it, its validation, and what follows from that."""
    model, progress = translator.model, checkpoint.progress
    epoch = progress["epoch"]
    fitted = model.fit(
        training.epoch(epoch, first_step=progress["step"]),
        initial_epoch=epoch,
        epochs=epochs,
        callbacks=[checkpoint, OneEpoch()],
        shuffle=False,
        verbose=verbose,
    )
    with averaged_weights(model):
        valid = model.evaluate(validation.epoch(0), return_dict=True, verbose=0)
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


def _compiled(tokenizer, options, steps):
    model = presets.small(
        tokenizer,
        embedding_units=options.embedding_units,
        units=options.units,
        attention_units=options.attention_units,
        cell=options.cell,
        depth=options.depth,
        dropout=options.dropout,
    )
    model.build()
    total = options.epochs * steps
    warmup = max(1, round(options.warmup * total))
    schedule = keras.optimizers.schedules.CosineDecay(
        0.0, max(1, total - warmup), warmup_target=options.learning_rate, warmup_steps=warmup
    )
    clipped = {"global_clipnorm": options.clip_norm}
    if options.ema_momentum:
        optimizer = AveragingAdam(schedule, options.ema_momentum, **clipped)
    else:
        optimizer = keras.optimizers.Adam(schedule, **clipped)
    model.compile(
        optimizer=optimizer,
        loss=TokenCrossentropy(options.label_smoothing),
        weighted_metrics=[Perplexity()],
        jit_compile=options.jit_compile,
    )
    return model


def _tell_skipped(kind, skipped, max_length, say):
    if skipped.empty:
        say(f"{skipped.empty} {kind} pairs with an empty side are left out")
    if skipped.too_long:
        say(f"{skipped.too_long} {kind} pairs with more than {max_length} tokens are left out")
