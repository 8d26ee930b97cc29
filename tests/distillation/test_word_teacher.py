"""Training with word-level distillation: the teachers that it accepts and resumes with."""

import dataclasses
import json

import pytest
from conftest import toy_pairs
from runs import begin

import keras_bahdanau as kb
from keras_bahdanau.distillation import Distillation, distill
from keras_bahdanau.text import Subwords
from keras_bahdanau.training import Run, TrainingOptions, TrainingPlan, train
from keras_bahdanau.training.data import TrainingData, check_data
from keras_bahdanau.training.model import word_distillation
from keras_bahdanau.training.plan import check_start

PAIRS = toy_pairs()
WRONG = [(source, "drei") for source, _ in PAIRS]
STUDENT = TrainingOptions(
    **{"preset": "ssru-student", "embedding_units": 24, "units": 48, "attention_units": 24},
    **{"encoder_units": 48, "heads": 2, "depth": 1, "feed_forward_units": 48, "dropout": 0.0},
    **{"learning_rate": 5e-3, "batch_tokens": 512, "batch_sentences": 0, "label_smoothing": 0.0},
    **{"epochs": 1, "epoch_steps": 60, "warmup": 0.02, "schedule": "cosine", "ema_momentum": 0.5},
    **{"word_distillation": 1.0},
)


@pytest.fixture
def teacher(toy_translator, tmp_path):
    path = tmp_path / "teacher.keras"
    toy_translator.save(path)
    return path


def sides(translator):
    return {"source": translator.source, "target": translator.target}


def exact(path):
    found = kb.Translator.load(path).translate([source for source, _ in PAIRS])
    return sum(one.text == text for one, (_, text) in zip(found, PAIRS, strict=True)) / len(PAIRS)


@pytest.mark.slow
def test_a_student_learns_of_its_teacher_what_the_targets_do_not_say(
    toy_translator, teacher, tmp_path
):
    settings = {"verbose": 0, "say": lambda line: None, **sides(toy_translator)}
    halves = [(source, text.split()[0]) for source, text in PAIRS]  # the first word of each target
    path = train(halves, PAIRS, tmp_path / "taught", STUDENT, teacher=teacher, **settings)
    options = dataclasses.replace(STUDENT, word_distillation=0.0)
    plain = train(halves, PAIRS, tmp_path / "plain", options, **settings)
    perplexities = [
        kb.evaluation.evaluate(kb.Translator.load(one), PAIRS).perplexity for one in (path, plain)
    ]
    assert perplexities[0] < 0.5 * perplexities[1]
    assert "word_distillation" not in kb.Translator.load(path).model.get_config()


def test_a_run_resumes_with_its_teacher_alone(teacher, tmp_path):
    run = Run(tmp_path / "run")
    data = begin(run, STUDENT, PAIRS, teacher=[teacher])
    check_start(run, STUDENT, data)
    assert len(json.loads(run.card.read_text())["data"]["teacher"]) == 1
    for other in (data.teacher * 2, (tmp_path / "run" / "run.json",)):
        with pytest.raises(ValueError, match="resumes with the data .* or a teacher that differ"):
            check_start(run, STUDENT, data._replace(teacher=other))


@pytest.mark.parametrize("share, files", [(0.8, ()), (0.0, ("one.keras",))])
def test_a_teacher_and_its_share_go_together(share, files):
    options = TrainingOptions(word_distillation=share).resolved()
    with pytest.raises(ValueError, match=f"teacher=.*, word_distillation={share}. Give both"):
        data = TrainingData.build(PAIRS, PAIRS)._replace(teacher=files)
        check_data(TrainingPlan(options, data=data))


def test_a_teacher_of_other_vocabularies_is_named(toy_translator, teacher):
    own = tuple(sides(toy_translator).values())
    other = Subwords.train(["a b"], 10, model_type="char", exact=False)
    data = TrainingData.build(PAIRS, PAIRS, teacher=teacher)
    plan = TrainingPlan(STUDENT.resolved(), *own, data)
    assert word_distillation(plan).share == 1.0
    with pytest.raises(ValueError, match="'.*teacher.keras', which has others. Train both"):
        word_distillation(plan._replace(target=other))


def test_a_teacher_that_needs_alignments_is_named(toy_translator, tmp_path):
    own = tuple(sides(toy_translator).values())
    sizes = {"units": 8, "embedding_units": 8, "attention_units": 8}
    model = kb.presets.small(*own, attention="forced", **sizes)
    model.build()
    kb.Translator(own[0], model, own[1]).save(tmp_path / "forced.keras")
    data = TrainingData.build(PAIRS, PAIRS, teacher=tmp_path / "forced.keras")
    with pytest.raises(ValueError, match="'.*forced.keras', whose attention is 'forced'"):
        word_distillation(TrainingPlan(STUDENT.resolved(), *own, data))


@pytest.mark.slow
def test_a_distillation_of_both_levels(teacher, tmp_path):
    options = dataclasses.replace(STUDENT, word_distillation=0.5, epochs=2)
    settings = Distillation(vocabulary="teacher")
    told = []
    path = distill(
        WRONG, PAIRS, tmp_path / "run", teacher, options, settings, verbose=0, say=told.append
    )
    assert exact(path) > 0.5
    assert Run(tmp_path / "run").read_card()["data"]["teacher"]
    again = distill(
        WRONG, PAIRS, tmp_path / "run", teacher, options, settings, verbose=0, say=told.append
    )
    assert again == path and "the training of the student has already ended" in told


def test_a_distillation_of_words_takes_the_vocabularies_of_the_teacher(teacher, tmp_path):
    with pytest.raises(ValueError, match="vocabulary='own'. Use vocabulary='teacher'"):
        distill(WRONG, PAIRS, tmp_path / "run", teacher, STUDENT)
    (tmp_path / "texts").write_text("eins\n" * len(PAIRS))
    with pytest.raises(ValueError, match="distillation=1.0, hypotheses='.*texts'. Pass a model"):
        distill(WRONG, PAIRS, tmp_path / "run", None, STUDENT, hypotheses=tmp_path / "texts")
    assert not (tmp_path / "run").exists()
