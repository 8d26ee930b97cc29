"""Validation after an epoch, with a stand-in for the model: no training, no weight files."""

import json
from pathlib import Path

import keras
import pytest

from keras_bahdanau.evaluation.corpus_metrics import CorpusMetric
from keras_bahdanau.pipelines.translation import Translation
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.training import Progress, Run, TrainingOptions, TrainingPlan
from keras_bahdanau.training.data import TrainingData
from keras_bahdanau.training.reports import report_judge
from keras_bahdanau.training.validation import ValidateAndSave


class Model:
    """A stand-in for a model that returns the given validation perplexities in turn."""

    optimizer = keras.optimizers.SGD(0.5, global_clipnorm=5.0)
    weights = ()
    compute_dtype = "float32"
    stop_training = False

    def __init__(self, perplexities):
        self.perplexities = iter(perplexities)

    def evaluate(self, data, return_dict, verbose):
        return {"loss": 0.5, "perplexity": next(self.perplexities)}


class Translator:
    """A stand-in that saves the epoch number and decodes everything as the next known text."""

    search = SearchOptions(ctc_weight=0.3)

    def __init__(self, model, progress):
        self.model, self.progress = model, progress
        self.known = iter(["", "a b", "a", "a b"])

    def decode(self, inputs, search):
        assert (search.beam_width, search.ctc_weight) == (1, 0.3), "its own search, but greedy"
        text = next(self.known)
        return [Translation(text, 0.0, [], [], None, True) for _ in inputs]

    def save(self, path):
        Path(path).write_text(str(self.progress.epoch))


class Checkpoint:
    """A stand-in that keeps what a checkpoint would write."""

    def __init__(self, progress):
        self.progress, self.written = progress, None

    def save(self):
        self.written = self.progress.dumps()


class Pairs:
    """An empty stand-in for pairs, which the model ignores."""

    def epoch(self, number):
        return number


class Training:
    """A training run without batches."""

    def __init__(self, out, perplexities, step=5, first=False, **options):
        self.progress, self.reports = Progress(step=step), []
        self.run, self.model = Run(out), Model(perplexities)
        self.checkpoint = Checkpoint(self.progress)
        translator = Translator(self.model, self.progress)
        pairs = [("1", "a b"), ("2", "a b")]
        data = TrainingData.build(pairs, pairs)
        initial = {} if first else None
        plan = TrainingPlan(TrainingOptions(**options).resolved(), data=data, initial=initial)
        self.callback = ValidateAndSave(
            *(plan, self.run, translator, Pairs(), self.checkpoint), say=self.reports.append
        )
        self.callback.set_model(self.model)

    def fit(self, epochs, stop_after=None):
        for epoch in range(epochs):
            self.callback.on_epoch_end(epoch, {"loss": float(epoch)})
            self.model.stop_training |= epoch == stop_after
            if self.model.stop_training:
                break
        self.callback.on_train_end()
        return len(self.progress.history)


def test_the_best_epoch_is_saved_and_all_are_in_the_history(tmp_path):
    training = Training(tmp_path, [5.0, 3.0, 4.0], epochs=3)
    assert training.fit(3) == 3
    assert training.run.translator.read_text() == "1"
    assert json.loads(training.run.history.read_text()) == [
        {"loss": float(epoch), "val_loss": 0.5, "val_perplexity": perplexity}
        for epoch, perplexity in enumerate([5.0, 3.0, 4.0])
    ]
    assert Progress.loads(training.checkpoint.written) == training.progress
    assert training.reports == [
        "epoch 1: validation perplexity 5.000 (best), 0.0 min",
        "epoch 2: validation perplexity 3.000 (best), 0.0 min",
        "epoch 3: validation perplexity 4.000, 0.0 min",
        "the file contains epoch 2: validation perplexity 3.000",
    ]


@pytest.mark.parametrize("perplexities, kept", [([5.0, 6.0, 4.0], 1), ([5.0, 6.0, 7.0], 0)])
def test_a_model_that_is_trained_further_is_the_best_until_an_epoch_is_better(
    tmp_path, perplexities, kept
):
    training = Training(tmp_path, perplexities, step=0, first=True, epochs=2)
    training.callback.on_train_begin()
    assert training.run.translator.read_text() == "0" and training.progress.best == 5.0
    training.fit(2)
    assert training.run.translator.read_text() == str(kept)
    assert training.reports[0] == "before the first step: validation perplexity 5.000 (best)"
    assert [logs["val_perplexity"] for logs in training.progress.history] == perplexities[1:]
    assert (training.progress.best, training.progress.waited) == (min(perplexities), 2 - 2 * kept)
    told = "no epoch was better than the model that training started from, which is kept"
    assert training.reports.count(told) == 1 - kept


@pytest.mark.parametrize("step, first", [(0, False), (5, True)])
def test_a_new_model_and_one_that_resumes_are_not_validated_first(tmp_path, step, first):
    training = Training(tmp_path, [], step=step, first=first)
    training.callback.on_train_begin()
    assert not training.reports and training.progress.best is None


@pytest.mark.parametrize("perplexity", ["nan", "inf"])
def test_an_epoch_that_diverged_ends_the_training_and_saves_nothing(tmp_path, perplexity):
    training = Training(tmp_path, [5.0, float(perplexity)], epochs=9)
    training.fit(1)
    before = training.checkpoint.written
    with pytest.raises(
        FloatingPointError,
        match=rf"Received: val_perplexity={perplexity} after batch 0 of epoch 2, with "
        r"learning_rate=0.5, clip_norm=5.0, precision='float32'. Earlier checkpoints are kept",
    ):
        training.fit(1)
    assert training.run.translator.read_text() == "0"
    assert training.checkpoint.written == before
    assert [logs["val_perplexity"] for logs in json.loads(training.run.history.read_text())] == [5]
    assert len(training.reports) == 1


def test_a_result_without_a_number_is_null_in_the_history(tmp_path):
    training = Training(tmp_path, [5.0], epochs=1)
    training.callback.on_epoch_end(0, {"loss": 90.0, "perplexity": float("inf")})
    (logs,) = json.loads(training.run.history.read_text(), parse_constant=pytest.fail)
    assert (logs["perplexity"], logs["loss"]) == (None, 90.0)


@pytest.mark.parametrize("patience, epochs", [(1, 3), (2, 4)])
def test_training_ends_when_patience_does(tmp_path, patience, epochs):
    training = Training(tmp_path, [5.0, 3.0, 3.0, 4.0, 2.0], epochs=9, patience=patience)
    assert training.fit(9) == epochs
    assert not training.progress.stopped


def test_training_ends_before_an_epoch_that_would_be_too_long(tmp_path):
    training = Training(tmp_path, [5.0, 4.0, 3.0], epochs=9, minutes=10)
    training.progress.seconds = 400.0
    assert training.fit(9) == 1
    assert not training.progress.stopped
    reason = "after 1 of 9 epochs: another one would end after the 10 minutes"
    assert reason in training.reports[-2]


def test_a_stop_by_a_later_callback_is_kept(tmp_path):
    training = Training(tmp_path, [5.0, 4.0, 3.0], epochs=9)
    assert training.fit(9, stop_after=1) == 2
    assert Progress.loads(training.checkpoint.written).stopped


def test_an_epoch_that_was_cut_short_is_validated_and_the_last(tmp_path):
    training = Training(tmp_path, [5.0, 4.0], epochs=9)
    training.model.stop_training = True
    assert training.fit(9) == 1
    assert training.run.translator.exists()
    assert Progress.loads(training.checkpoint.written).stopped


def test_the_end_of_a_fit_of_one_epoch_does_not_end_the_training(tmp_path):
    training = Training(tmp_path, [5.0, 4.0], epochs=9)
    assert training.fit(1) == 1
    assert not training.progress.stopped and not training.model.stop_training


@pytest.mark.parametrize(
    ("metric", "label", "scores"),
    [
        ("wer", "WER", [100, 0, 50, 0]),
        ("ser", "SER", [100, 0, 100, 0]),
        ("exact", "exact", [0, 100, 0, 100]),
        ("exprate1", "ExpRate <=1", [0, 100, 100, 100]),
    ],
)
def test_a_metric_can_judge_the_epochs(tmp_path, metric, label, scores):
    training = Training(tmp_path, [5.0, 6.0, 7.0, 8.0], epochs=4, best_by=metric)
    training.fit(4)
    assert training.run.translator.read_text() == "1"
    assert [logs[f"val_{metric}"] for logs in training.progress.history] == scores
    assert training.progress.waited == 2
    assert training.reports[-1] == (
        f"the file contains epoch 2: validation perplexity 6.000, {label} {scores[1]:.2f}"
    )
    assert training.reports[1] == (
        f"epoch 2: validation perplexity 6.000, {label} {scores[1]:.2f} (best), 0.0 min"
    )


def test_of_epochs_with_equal_values_the_least_perplexity_is_best_and_patience_goes_on(tmp_path):
    """No text is exact. The perplexity falls in epochs 1, 2 and 4, but not in 3, 5 and 6."""
    perplexities = [9.0, 8.0, 8.5, 7.0, 7.5, 7.0, 1.0]
    training = Training(tmp_path, perplexities, epochs=9, patience=2, best_by="exact")
    training.callback.translator.known = iter(["x"] * 7)
    assert training.fit(7) == 6
    assert training.run.translator.read_text() == "3"
    assert training.reports[-2:] == [
        "training ends after 6 of 9 epochs: the last 2 were not better",
        "the file contains epoch 4: validation perplexity 7.000, exact 0.00",
    ]


def test_an_epoch_whose_metric_is_no_number_is_not_the_best(tmp_path, monkeypatch):
    training = Training(tmp_path, [5.0, 6.0, 4.0], epochs=3, best_by="exact")
    scores = iter([float("nan"), 50.0, float("nan")])
    monkeypatch.setattr(CorpusMetric, "corpus_score", lambda *_: next(scores))
    training.fit(3)
    assert training.run.translator.read_text() == "1" and training.progress.best == -50.0
    assert [logs["val_exact"] for logs in training.progress.history] == [None, 50.0, None]


def test_targets_that_a_metric_cannot_judge_are_reported_before_training():
    pairs, lines = [("red cat", "红猫"), ("red dog", "红狗")], []
    data = TrainingData.build(pairs, pairs)
    for options in ({}, {"best_by": "bleu"}, {"best_by": "bleu", "tokenize": "char"}):
        report_judge(TrainingPlan(TrainingOptions(**options).resolved(), data=data), lines.append)
    assert lines == [
        "BLEU is meaningless for these references: BLEU counts 4-grams, but with the tokenization "
        f"{name} only 0 of 2 have four tokens. Use the metric chrf. The perplexity decides "
        "between epochs with the same BLEU"
        for name in ("13a", "char")
    ]
