"""The pipeline that is validated and saved in training: its model, search, metrics and record."""

import dataclasses

from keras_bahdanau.pipelines.archive import read_card
from keras_bahdanau.pipelines.tasks import kind_of, pipeline_of
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.text.copies import are_plain_characters
from keras_bahdanau.training.data import longest_source
from keras_bahdanau.training.infer import infer_output_limits
from keras_bahdanau.training.inheritance import record_of
from keras_bahdanau.training.model import validated_model
from keras_bahdanau.training.presets.preset import is_hard

# A hard alignment may repeat a symbol at the end of its source, and a mean over tokens then ranks
# such an output above the correct ones. A plain sum favors outputs that end too early.
HARD_EXPONENT = 0.5


def new_pipeline(plan, run, model, batches, say):
    """Create the pipeline of a training run. `batches` contains the training pairs."""
    if plan.options.precision != "float32":
        model = validated_model(plan)
    search = (
        saved_search(run.translator, say)
        if run.translator.is_file()
        else initial_search(plan, model.ctc_weight, batches, model.encoder.reduction, say)
    )
    pipeline = pipeline_of(plan.source, model, plan.target, search, _metrics(plan))
    pipeline.training = record_of(plan.options, plan.initial)
    return pipeline


def initial_search(plan, ctc_weight=0.0, batches=None, reduction=1, say=None):
    """Return the `SearchOptions` of the initial model, or those for a new model.

    The output limits are chosen to fit the pairs in `batches`, unless training options set them.
    Unknown tokens are replaced if the model learns to copy them, either from pairs with unknown
    characters, or as a pointer-generator for characters, which every export supports.
    """
    options = plan.options
    if plan.initial is not None:
        values = plan.initial["search"]
    else:
        symbols = plan.data.write_symbols(plan.target)
        values = {"ctc_weight": ctc_weight, "write_symbols": symbols}
        if is_hard(options):
            values["length_normalization"] = HARD_EXPONENT
    copies = options.copy and are_plain_characters(plan.source.subwords, plan.target)
    if copies or options.unknown_rate:
        values = {**values, "replace_unknown": True}
    search = SearchOptions(**values)
    return search if batches is None else _limited(search, plan, batches, reduction, say)


def _limited(search, plan, batches, reduction, say):
    """Return a search with limits that fit the sources and targets of the training pairs."""
    options, names = plan.options, ("max_length_ratio", "max_length_offset")
    before = {name: getattr(search, name) for name in (*names, "max_length")}
    lengths = [*batches.lengths()]
    limits = infer_output_limits(lengths, reduction, before)
    explicit = {name: getattr(options, name) for name in names if getattr(options, name)}
    if explicit:
        limits |= {name: explicit.get(name, before[name]) for name in names}
    elif limits != before and say is not None:
        listed = ", ".join(f"{name} {value:g}" for name, value in limits.items())
        say(f"limits of the outputs, inferred from the pairs: {listed}")
    longest = max(int(sources.max(initial=0)) for sources, _ in lengths)
    if longest > (search.max_source_length or plan.source.longest):
        limits["max_source_length"] = longest_source(plan) or options.max_length
    return dataclasses.replace(search, **limits)


def saved_search(path, say):
    """Read the `SearchOptions` of a run's best pipeline, which `tune` may have changed."""
    card = read_card(path)
    if "calibration" in card:
        say(
            f"a better epoch will be saved without the calibration in {str(path)!r}, "
            "which is for other weights"
        )
    return SearchOptions.from_config(card["search"])


def _metrics(plan):
    """Return the names of the pipeline's metrics, starting with `best_by`; None for defaults."""
    judge, metrics = plan.options.best_by, kind_of(plan.source).metrics
    if plan.initial is not None and judge == "perplexity":
        return plan.initial["metrics"]
    if judge in ("perplexity", metrics[0]):
        return None
    rate = "per" if plan.target.model_type == "word" else "cer"
    return tuple(dict.fromkeys((judge, *metrics) if judge in metrics else (judge, rate)))
