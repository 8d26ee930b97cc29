"""From pairs to a trained pipeline, in one `fit`."""

import dataclasses

import keras

from keras_bahdanau.callbacks import (
    AverageLast,
    Checkpoint,
    EndInTime,
    LinearDecay,
    ScheduledSampling,
    StopAtDivergence,
)
from keras_bahdanau.data import BatchedPairs, MixedBatches, ShardedBatches, Shards
from keras_bahdanau.data.corpora import Corpora, as_pairs, require_text, require_token
from keras_bahdanau.data.mixing import shares_by_size
from keras_bahdanau.integrity import Damage
from keras_bahdanau.pipelines.by_source import kind_of, pipeline_of
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.sources.serialized import read_sides, serialized_sides
from keras_bahdanau.sources.source import as_source
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.training.adaptation import Adaptation
from keras_bahdanau.training.compiling import compiled_model, validated_model
from keras_bahdanau.training.distributed import fit_of
from keras_bahdanau.training.inheritance import (
    check_no_adaptation,
    check_vocabulary_pairs,
    initial_model,
)
from keras_bahdanau.training.many_pairs import with_defaults_of_many
from keras_bahdanau.training.model_types import with_model_types
from keras_bahdanau.training.normalizations import with_normalizations
from keras_bahdanau.training.options import TrainingOptions
from keras_bahdanau.training.progress import Progress
from keras_bahdanau.training.schedules import learning_rate
from keras_bahdanau.training.skipped_pairs import TellBroken, tell_skipped
from keras_bahdanau.training.validation import ValidateAndSave
from keras_bahdanau.training.workers import FollowChief, Workers

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
    source=None,
    target=None,
    cache=None,
    symbols=(),
    initial=None,
    vocabulary_pairs=None,
    strategy=None,
    devices=None,
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
            `pairs`: for guided alignment, or for the attention "forced".
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
            first step so are its outputs. See `Adaptation`. A run that is resumed does not
            read it again.
        vocabulary_pairs: List of pairs, the text by which `update_vocabulary` updates the
            vocabularies of that model, such as the new ones among `pairs`; None for all of them.
        strategy: `tf.distribute.MultiWorkerMirroredStrategy` if several processes train
            together: each calls `train` with the same arguments and computes its part of each
            batch. The first one, the chief, alone writes files, reports, and calls `callbacks`.
        devices: Dictionary from "encoder", "decoder" and "attention", or some of them, to names
            of devices, such as {"encoder": "GPU:0", "decoder": "GPU:1"}, where a model does not
            fit on one: see `placement.place`.

    Returns:
        Path of the saved translator or pipeline, that with the lowest validation perplexity, or
        the best value of the metric `best_by`.

    Raises:
        BlockingIOError: If another process trains in the directory.
        ConnectionError: If another worker of the strategy ended.
        FileExistsError: If the directory holds something else, or a finished run.
        FileNotFoundError: If there is no file of `initial`.
        FloatingPointError: If loss, weights or validation perplexity are NaN or infinite. The
            best translator and the last checkpoint stay.
        TypeError: If `source` is neither a `Source` nor a `Subwords`.
        ValueError: If the run was begun with other options, other pairs, or another source or
            target; if its files are damaged; if a part or a device of `devices` is unknown; if
            options and alignments do not go together; if there is a `cache` for a source that
            decodes no files; or if options or vocabularies contradict the `initial` model.
    """
    options = options or TrainingOptions()
    check_vocabulary_pairs(options, vocabulary_pairs)
    pairs, valid_pairs = as_pairs(pairs), as_pairs(valid_pairs)
    require_text(valid_pairs)
    shards = [part for part in _parts(pairs) if isinstance(part, Shards)]
    for one in shards:
        source, target = _sides_of_shards(one, source, target, symbols)
    if isinstance(pairs, Corpora):
        symbols = [*dict.fromkeys([*symbols, *pairs.tags])]
    workers = Workers(strategy)
    say = say if workers.is_chief else _say_nothing
    run = workers.run_in(directory)
    begins_with = initial_model(run, initial)
    if begins_with is not None:
        options = begins_with.inherited(options)
    else:
        check_no_adaptation(options)
        if options.preset is None and source is not None:
            options = dataclasses.replace(options, preset=as_source(source).preset)
    data = (pairs, valid_pairs, alignments, valid_alignments)
    sides = (source, target, symbols, vocabulary_pairs)
    places = (workers, devices)
    with workers.together(), run.owned(say):
        run.check(options, *data)
        options = with_model_types(run.kept(options), shards[0] if shards else pairs, symbols, say)
        options = with_normalizations(options, [] if shards else pairs, say)
        options = with_defaults_of_many(options, len(pairs), say).resolved()
        given = (begins_with, cache, callbacks or (), verbose, say, places)
        _train_in(run, options, data, sides, *given)
    return run.translator


def _say_nothing(line):
    pass


def _train_in(run, options, data, sides, begins_with, cache, callbacks, verbose, say, places):
    """Begin or resume a run that this process owns, or its chief."""
    pairs, valid_pairs, alignments, valid_alignments = data
    workers, devices = places
    old = None  # its weights are those of the checkpoint, if there is one, or the chief's
    if begins_with is not None and workers.is_chief and not run.checkpoint.is_file():
        old = Adaptation(begins_with)
    initial = run.initial() if run.begun() else old and old.card
    source, target = _vocabularies(run, options, pairs, *sides, old, say)
    if cache is not None:
        source = source.cached(cache, say=say)
    for tag in _tags(pairs, valid_pairs):
        require_token(tag, source)
    training, validation = _batches(
        source, target, options, (pairs, alignments), (valid_pairs, valid_alignments), workers
    )
    inputs = [one for part in _parts(pairs) if not isinstance(part, Shards) for one, _ in part]
    valid_inputs = [one for one, _ in valid_pairs]
    tell_skipped("training", training, inputs, options.max_length, say)
    tell_skipped("validation", validation, valid_inputs, LONGEST_VALID, say)

    keras.utils.set_random_seed(options.seed)
    rate = learning_rate(options, training.steps)
    config = initial and initial["model"]
    model = compiled_model(source, target, options, rate, config, devices)
    if old is not None:
        old.give_weights(model, source, target)
    say(
        f"{len(pairs):,} pairs, {training.steps} batches an epoch, {training.tokens:,} target "
        f"tokens; {model.count_params():,} weights"
    )
    progress = Progress()
    if run.checkpoint.is_file():
        _restore(run.checkpoint, model)
        progress = _progress(run, training.steps, say)
        say(f"resuming at epoch {progress.epoch + 1}, batch {progress.step}")
    elif not run.begun():
        card = serialized_sides(source, target)
        card |= {} if initial is None else {"initial": initial}
        run.begin(options, pairs, valid_pairs, card, alignments, valid_alignments)
    workers.begin(run, model, progress)
    in_float32 = options.precision == "float32"
    saved_model = model if in_float32 else validated_model(source, target, options)
    if initial is None:
        have_symbols = _have_symbols(target, pairs)
        search = SearchOptions(ctc_weight=saved_model.ctc_weight, write_symbols=have_symbols)
    else:
        search = SearchOptions(**initial["search"])
    metrics = _metrics(source, options) or (initial and initial["metrics"])
    translator = pipeline_of(source, saved_model, target, search, metrics)
    checkpoint = Checkpoint(run.checkpoint, progress, options.checkpoint_steps)
    average = AverageLast(options.average_last, run.epochs) if options.average_last else None
    everywhere = [StopAtDivergence(progress), *_sampling(options, training.steps)]
    last = [FollowChief(workers, progress)] if workers.count > 1 else []
    end = _end(options, training.steps, progress, rate)
    fit = fit_of(workers, options.accumulate)
    if not workers.is_chief:
        _fit(fit, model, training, progress, options, callbacks=[*everywhere, *last, *end])
        return
    _fit(
        fit,
        model,
        training,
        progress,
        options,
        callbacks=[
            *([keras.callbacks.ProgbarLogger()] if verbose else []),  # or it waits for validation
            *everywhere,
            checkpoint,
            TellBroken("training", training, inputs, say),
            ValidateAndSave(
                run, translator, validation, options, checkpoint, valid_pairs, average, say
            ),
            TellBroken("validation", validation, valid_inputs, say),
            *end,
            *callbacks,
            *last,
        ],
        verbose=verbose,
    )


def _progress(run, steps, say):
    """The progress of a run, within an epoch of so many steps.

    Older versions split subwords otherwise in each process, and had epochs of other lengths.
    """
    progress = run.progress()
    if progress.step >= steps:
        say(f"batch {progress.step} is beyond the {steps} of an epoch: the last one is repeated")
        progress.step = steps - 1
    return progress


def _fit(fit, model, training, progress, options, **settings):
    """Fit the model from where its progress stands to the end.

    Keras gives each epoch of a `fit` as many steps as the first one, so the rest of an epoch that
    was interrupted is a `fit` of its own.
    """
    settings["shuffle"] = False  # the batches are shuffled already
    if progress.step:
        epoch = progress.epoch
        rest = training.epoch(epoch, first_step=progress.step)
        fit(model, rest, initial_epoch=epoch, epochs=epoch + 1, **settings)
    if not progress.is_over(options):
        epochs = training.dataset(first_epoch=progress.epoch)
        fit(model, epochs, initial_epoch=progress.epoch, epochs=options.epochs, **settings)


def _sides_of_shards(shards, source, target, symbols):
    """(source, target) that the ids of shards belong to."""
    own = (shards.source, shards.target)
    given = (source if source is None else as_source(source), target)
    if symbols or any(other not in (None, one) for one, other in zip(own, given, strict=True)):
        raise ValueError(
            "Shards have the source and target that they were prepared with. Received: others, "
            f"or symbols={list(symbols)!r}, with pairs={str(shards.directory)!r}. Leave them out, "
            "or prepare the corpus again."
        )
    return own


def _vocabularies(run, options, pairs, source, target, symbols, vocabulary_pairs, old, say):
    """(source, target) of a run: those of its card, those given, or learned from the pairs."""
    if run.begun():
        kept = _kept(run)
        given = (source if source is None else as_source(source), target)
        _check_kept(run, kept, given)
        return kept
    if old is not None:
        new_text = pairs if vocabulary_pairs is None else vocabulary_pairs
        source, target = old.sides(options, (source, target), new_text, symbols, say)
    if source is None and target is None and options.joint:
        texts = [pair[side] for side in (0, 1) for pair in pairs]
        target = source = _learned("joint", texts, options, "source", say, symbols)
    if source is None:
        sources = [pair[0] for pair in pairs]
        source = _learned("source", sources, options, "source", say, symbols)
    if target is None:
        target = _learned("target", [pair[1] for pair in pairs], options, "target", say)
    return as_source(source), target


def _kept(run):
    """(source, target) of the card of a run."""
    card = run.read_card()
    if not {"source", "target"} <= card.keys():
        raise ValueError(
            "A run resumes with the source and target of its card. Received: the card "
            f"{str(run.card)!r} without them, such as that of an older version of this package. "
            "Choose another output directory to begin anew."
        )
    try:
        return read_sides(card)
    except Damage as error:
        raise run.damaged(run.card, error) from None


def _check_kept(run, kept, given):
    """Raise ValueError if a run was begun with another source or target than that given."""
    for name, one, other in zip(("source", "target"), kept, given, strict=True):
        if other not in (None, one):
            raise ValueError(
                "A run resumes with the source and target it began with. Received: another "
                f"{name} than that of out={str(run.directory)!r}. Leave it out, or choose "
                "another output directory."
            )


def _learned(name, texts, options, side, say, symbols=()):
    """`Subwords` of texts, as the options of a side say."""
    size = getattr(options, f"{side}_vocabulary_size")
    subwords = Subwords.train(
        texts,
        size,
        model_type=getattr(options, f"{side}_model_type"),
        normalization=getattr(options, f"{side}_normalization"),
        symbols=symbols,
        exact=False,
        name="source and target text" if name == "joint" else f"{name} text",
    )
    if subwords.vocabulary_size < size:
        say(
            f"the {name} vocabulary has {subwords.vocabulary_size:,} tokens, not {size:,}: "
            "all the text has"
        )
    return subwords


def _batches(source, target, options, training, validation, workers):
    """(training batches, validation batches)."""
    pairs, alignments = training
    valid_pairs, valid_alignments = validation
    longest = options.max_source_length or source.longest_of_training
    measure = "batch_tokens" if options.batch_tokens else "batch_sentences"
    batches = {
        measure: getattr(options, measure),
        "buckets": options.buckets,
        "seed": options.seed,
    }
    of_training = {
        "max_length": options.max_length,
        "max_source_length": longest,
        "shard": (workers.index, workers.count),
        **batches,
    }

    def batched(part, **settings):
        settings = {**of_training, **settings}
        if isinstance(part, Shards):
            return ShardedBatches(part, **settings)
        settings["subword_sampling"] = options.subword_sampling
        return BatchedPairs(part, source, target, alignments=alignments, **settings)

    if isinstance(pairs, Corpora):
        trained = _mixed(pairs, batched, options)
    else:
        trained = batched(pairs, least_steps=options.epoch_steps)
    validated = BatchedPairs(
        valid_pairs,
        source,
        target,
        max_length=LONGEST_VALID,
        max_source_length=max(longest, source.longest) if longest else None,
        alignments=valid_alignments,
        shuffle=False,
        **batches,
    )
    return trained, validated


def _mixed(corpora, batched, options):
    """`MixedBatches` of several corpora, by their weights, or by their sizes."""
    parts = [
        batched(part, seed=options.seed + number) for number, part in enumerate(corpora.parts())
    ]
    shares = corpora.weights or shares_by_size([one.steps for one in parts], options.temperature)
    return MixedBatches(parts, shares, least_steps=options.epoch_steps, seed=options.seed)


def _parts(pairs):
    """The lists of pairs and the `Shards` of several corpora, or the only one."""
    return pairs.parts() if isinstance(pairs, Corpora) else [pairs]


def _tags(*data):
    """The different tags of all corpora among the data."""
    given = [tag for pairs in data if isinstance(pairs, Corpora) for tag in pairs.tags]
    return [*dict.fromkeys(given)]


def _restore(path, model):
    try:
        Checkpoint.restore(path, model)
    except (KeyError, ValueError):
        raise ValueError(
            "A run resumes with the model it began with. Received: the checkpoint "
            f"{str(path)!r} of another model, such as that of an older version of this package. "
            "Choose another output directory to begin anew."
        ) from None


def _have_symbols(target, pairs):
    """False if the target's vocabulary has symbols, and no target text has one of them."""
    symbols = {one.strip("▁") for one in target.tokens(target.symbol_ids)}
    if any(isinstance(part, Shards) for part in _parts(pairs)):
        return True  # the text is nowhere
    text = "\n".join(one for _, one in pairs)
    return not symbols or any(target.composed(symbol) in text for symbol in symbols)


def _metrics(source, options):
    """Names of the metrics of the pipeline: the judge and an error rate; None for its class's."""
    if options.best_by in ("perplexity", *kind_of(source).metrics):
        return None
    rate = "per" if options.target_model_type == "word" else "cer"
    return tuple(dict.fromkeys((options.best_by, rate)))


def _sampling(options, steps):
    """The callback that lets the decoder read evenly more of its own tokens, in a list."""
    if not options.scheduled_sampling:
        return []
    slope = options.scheduled_sampling / (options.epochs * steps)
    return [ScheduledSampling(LinearDecay(slope))]


def _end(options, steps, progress, rate):
    """The callback that lets a cosine schedule end with the time, in a list."""
    if not options.minutes or options.schedule != "cosine":
        return []
    return [EndInTime(progress, rate, steps, options.epochs, options.minutes)]
