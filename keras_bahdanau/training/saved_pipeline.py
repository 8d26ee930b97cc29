"""The pipeline that a training validates and saves: its model, search, metrics and record."""

from keras_bahdanau.pipelines.archive import read_card
from keras_bahdanau.pipelines.tasks import kind_of, pipeline_of
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.text.copies import are_plain_characters
from keras_bahdanau.training.inheritance import record_of
from keras_bahdanau.training.model import validated_model
from keras_bahdanau.training.presets.preset import is_hard

# Behind the end of its source a hard alignment may repeat a symbol, and a mean over tokens then
# ranks such a text above other right ones. A sum alone favours texts that end too early.
HARD_EXPONENT = 0.5


def new_pipeline(plan, run, model, say):
    """The pipeline of a training, before its first epoch."""
    if plan.options.precision != "float32":
        model = validated_model(plan)
    search = (
        saved_search(run.translator, say)
        if run.translator.is_file()
        else initial_search(plan, model.ctc_weight)
    )
    pipeline = pipeline_of(plan.source, model, plan.target, search, _metrics(plan))
    pipeline.training = record_of(plan.options, plan.initial)
    return pipeline


def initial_search(plan, ctc_weight=0.0):
    """The `SearchOptions` of the initial model, or of a new one.

    Unknown tokens are replaced if the model learns to copy them: from pairs with unknown
    characters, or as a pointer-generator of characters, where every export supports it.
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
    return SearchOptions(**values)


def saved_search(path, say):
    """The `SearchOptions` of the best pipeline of a run, which `tune` may have written since."""
    card = read_card(path)
    if "calibration" in card:
        say(
            f"a better epoch is saved without the calibration of {str(path)!r}, "
            "made for other weights"
        )
    return SearchOptions.from_config(card["search"])


def _metrics(plan):
    """Names of the metrics of the pipeline, the judge first; None for those of its class."""
    judge, metrics = plan.options.best_by, kind_of(plan.source).metrics
    if plan.initial is not None and judge == "perplexity":
        return plan.initial["metrics"]
    if judge in ("perplexity", metrics[0]):
        return None
    rate = "per" if plan.target.model_type == "word" else "cer"
    return tuple(dict.fromkeys((judge, *metrics) if judge in metrics else (judge, rate)))
