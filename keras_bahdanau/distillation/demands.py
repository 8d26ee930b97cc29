"""Demands of a distillation on what it is given, checked before anything slow."""

import contextlib
import dataclasses
import os

from keras_bahdanau.data.corpora import as_pairs
from keras_bahdanau.pipelines.file import read_card
from keras_bahdanau.settings.limits import WORKERS
from keras_bahdanau.settings.option import check_value
from keras_bahdanau.training.inheritance import check_no_adaptation
from keras_bahdanau.training.options import TrainingOptions


def check_demands(work):
    """Raise ValueError unless all that a distillation is given goes together.

    Args:
        work: `distill._Distilling`.
    """
    check_value("workers", work.workers, WORKERS)
    check_no_adaptation(work.options)
    for demand, met, received, mend in _demands(work):
        if not met:
            raise ValueError(f"{demand}. Received: {received}. {mend}")


def check_student(options, source, target):
    """Raise ValueError unless a student with such options can be made.

    Args:
        options: `TrainingOptions`.
        source: `Source`; None for a text whose vocabulary is yet to be learnt.
        target: `Subwords`; None likewise.
    """
    from keras_bahdanau.text.subwords import Subwords  # which loads TensorFlow, as the next do
    from keras_bahdanau.training.compiling import validated_model
    from keras_bahdanau.training.model_types import with_given_types
    from keras_bahdanau.training.training_data import check_sides

    options = dataclasses.replace(options, preset=options.preset or getattr(source, "preset", None))
    options = with_given_types(options, source, target).resolved()
    check_sides(options, source, target)
    small = Subwords.train(["a b"], 10, model_type="char", exact=False)  # for one to be learnt
    validated_model(source or small, target or small, options)


def check_same_pairs(run, pairs, valid_pairs, weights, teacher):
    """Raise ValueError if a student has begun with other pairs, before those are overwritten.

    Args:
        run: `Run` of the student.
        pairs: List of pairs, or of `Corpus`.
        valid_pairs: List of pairs.
        weights: List of weights between words, or None.
        teacher: Tuple of the files of a teacher of words; () for none.
    """
    if run.begun():
        with contextlib.suppress(FileExistsError):  # a training that is over has the same pairs
            run.check(run.options(TrainingOptions), pairs, valid_pairs, weights, teacher=teacher)


def _demands(work):
    """Tuples (demand, bool: it is met, what was received, mend)."""
    given, models = work.hypotheses and os.fspath(work.hypotheses), [*map(str, work.paths)]
    yield (
        "A distillation needs a teacher, or hypotheses in the place of one",
        bool(models) != bool(given),
        f"teacher={models}, hypotheses={given!r}",
        "Give one of them.",
    )
    pairs = as_pairs(work.pairs)
    yield (
        "A teacher reads one list of pairs, of inputs and texts",
        pairs.in_memory and not pairs.corpora,
        f"pairs of type {type(pairs).__name__}",
        "Give no shards, and no several corpora.",
    )
    kinds = [_kind(path) for path in (*work.paths[:1], work.baseline) if path]
    yield (
        "A baseline must have the kind of source that the teacher has",
        len({*kinds}) < 2,
        f"baseline={str(work.baseline)!r}, of {kinds[-1:]}, with teacher={models}, of {kinds[:1]}",
        "Give another one, or leave it out.",
    )
    yield (
        "`temperature` is for several corpora; texts are drawn with that of the teacher's search",
        work.options.resolved().temperature == 1,
        f"temperature={work.options.temperature!r}",
        "Leave it out.",
    )
    yield from _of_attention(work, given, models)
    yield from _of_words(work, given)
    for name, asked in {
        "vocabulary": work.settings.vocabulary == "teacher",
        "sample": work.settings.sample,
        "beam_width": work.settings.beam_width is not None,
    }.items():
        yield (
            f"`{name}` is for a teacher that is a model",
            not (given and asked),
            f"{name}={getattr(work.settings, name)!r}, hypotheses={given!r}",
            "Leave it out.",
        )


def _of_attention(work, given, models):
    options, mix = work.options.resolved(), work.settings.mix
    yield (
        "The attention 'forced' needs alignments of the validation pairs, too",
        options.attention != "forced",
        "attention='forced'",
        "Give another attention.",
    )
    weight, leave = f"guided_alignment={options.guided_alignment!r}", "leave guided_alignment out."
    yield (
        "Attention is guided by a teacher that is a model",
        not (work.guides and given),
        f"{weight}, hypotheses={given!r}",
        f"Give one, or {leave}",
    )
    yield (
        "Attention is guided in one list of pairs",
        not (work.guides and mix),
        f"{weight}, mix={mix!r}",
        f"Give mix=0, or {leave}",
    )
    inputs = [read_card(path).get("inputs", "lines") for path in work.paths[:1]]
    yield (
        "Attention is guided between the words of two texts",
        not work.guides or inputs == ["lines"],
        f"{weight}, teacher={models}, which reads {'/'.join(inputs)}",
        f"L{leave[1:]}",
    )


def _of_words(work, given):
    share = work.options.resolved().word_distillation
    received = f"word_distillation={share!r}"
    yield (
        "Word-level distillation takes a teacher that is a model",
        not (share and given),
        f"{received}, hypotheses={given!r}",
        "Give one, or leave word_distillation out.",
    )
    yield (
        "Word-level distillation takes one vocabulary of teacher and student",
        not share or work.settings.vocabulary == "teacher",
        f"{received}, vocabulary={work.settings.vocabulary!r}",
        "Give vocabulary='teacher'.",
    )


def _kind(path):
    """Name of the class of a model's source, such as "ImageSource"."""
    return str(read_card(path).get("source", {}).get("class_name"))
