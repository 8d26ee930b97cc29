"""Checks of the arguments of a distillation, which run before any slow step."""

import os

from keras_bahdanau.data.corpora import pairs_of
from keras_bahdanau.pipelines.archive import read_card
from keras_bahdanau.settings.limits import WORKERS
from keras_bahdanau.settings.option import check_value
from keras_bahdanau.training.inheritance import check_no_adaptation


def check_demands(plan):
    """Raise ValueError unless the arguments of a `student.DistillationPlan` are consistent."""
    check_value("workers", plan.workers, WORKERS)
    check_no_adaptation(plan.options)
    for demand, is_met, received, advice in _demands(plan):
        if not is_met:
            raise ValueError(f"{demand}. Received: {received}. {advice}")


def _demands(plan):
    """Yield tuples (requirement, whether it is met, received arguments, advice)."""
    file, models = plan.hypotheses and os.fspath(plan.hypotheses), [*map(str, plan.paths)]
    yield from _source_demands(plan, file, models)
    yield from _attention_demands(plan, file, models)
    yield from _token_demands(plan, file)


def _source_demands(plan, file, models):
    """Yield the requirements for the teacher, the pairs and the baseline."""
    yield (
        "A distillation needs either a teacher or hypotheses",
        bool(models) != bool(file),
        f"teacher={models}, hypotheses={file!r}",
        "Pass one of them.",
    )
    pairs = pairs_of(plan.pairs)
    yield (
        "A teacher needs one list of (input, text) pairs",
        pairs.in_memory and not pairs.corpora,
        f"pairs of type {type(pairs).__name__}",
        "Pass a list instead of shards or several corpora.",
    )
    kinds = [_source_class(path) for path in (*plan.paths[:1], plan.baseline) if path]
    yield (
        "A baseline must have the same kind of source as the teacher",
        len({*kinds}) < 2,
        f"baseline={str(plan.baseline)!r}, of {kinds[-1:]}, with teacher={models}, of {kinds[:1]}",
        "Use another baseline, or omit it.",
    )


def _attention_demands(plan, file, models):
    """Yield the requirements for sampling and for attention that is guided by the teacher."""
    options, settings = plan.resolved, plan.settings
    yield (
        "`temperature` is for several corpora; sampling uses the temperature of the teacher's "
        "search",
        options.temperature == 1,
        f"temperature={options.temperature!r}",
        "Omit it.",
    )
    yield (
        "The attention 'forced' also needs alignments of the validation pairs",
        options.attention != "forced",
        "attention='forced'",
        "Use another attention.",
    )
    weight, leave = f"guided_alignment={options.guided_alignment!r}", "omit guided_alignment."
    yield (
        "Only a teacher model can guide attention",
        not (plan.guides and file),
        f"{weight}, hypotheses={file!r}",
        f"Pass a model, or {leave}",
    )
    yield (
        "Guided attention needs a single list of pairs",
        not (plan.guides and settings.mix),
        f"{weight}, mix={settings.mix!r}",
        f"Use mix=0, or {leave}",
    )
    inputs = [read_card(path).get("inputs", "lines") for path in plan.paths[:1]]
    yield (
        "Guided attention needs text on both sides",
        not plan.guides or inputs == ["lines"],
        f"{weight}, teacher={models}, which reads {'/'.join(inputs)}",
        f"O{leave[1:]}",
    )


def _token_demands(plan, file):
    """Yield the requirements for word-level distillation, and for settings of a teacher."""
    options, settings = plan.resolved, plan.settings
    share = f"word_distillation={options.word_distillation!r}"
    yield (
        "Word-level distillation needs a teacher model",
        not (options.word_distillation and file),
        f"{share}, hypotheses={file!r}",
        "Pass a model, or omit word_distillation.",
    )
    yield (
        "Word-level distillation needs a vocabulary shared by teacher and student",
        not options.word_distillation or settings.vocabulary == "teacher",
        f"{share}, vocabulary={settings.vocabulary!r}",
        "Use vocabulary='teacher'.",
    )
    for name, is_set in {
        "vocabulary": settings.vocabulary == "teacher",
        "sample": settings.sample,
        "beam_width": settings.beam_width is not None,
    }.items():
        yield (
            f"`{name}` is only for a teacher model",
            not (file and is_set),
            f"{name}={getattr(settings, name)!r}, hypotheses={file!r}",
            "Omit it.",
        )


def _source_class(path):
    """Return the class name of a model's source, such as "ImageSource"."""
    return str(read_card(path).get("source", {}).get("class_name"))
