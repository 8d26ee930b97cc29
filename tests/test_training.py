import dataclasses
import json
import math
import signal
import subprocess
import sys

import numpy as np
import pytest

from keras_bahdanau import training
from keras_bahdanau.demo import generate
from keras_bahdanau.recipe import TrainingOptions
from keras_bahdanau.run import Run
from keras_bahdanau.training import train
from keras_bahdanau.translator import Translator

OPTIONS = TrainingOptions(
    vocabulary_size=150,
    embedding_units=16,
    units=24,
    attention_units=16,
    epochs=2,
    batch_tokens=300,
    learning_rate=1e-2,
    ema_momentum=0.9,
    checkpoint_steps=8,
)
PAIRS = [(example.source, example.target) for example in generate(260)]
TRAINING, VALIDATION = PAIRS[:240], PAIRS[240:]

KILLED_TRAINING = """
import json, os, signal, sys
from keras_bahdanau import training
from keras_bahdanau.recipe import TrainingOptions

class Killed(training.Checkpoint):
    def on_train_batch_end(self, batch, logs=None):
        super().on_train_batch_end(batch, logs)
        if batch == 11:
            os.kill(os.getpid(), signal.SIGKILL)

training.Checkpoint = Killed
out, options, pairs, valid_pairs = json.load(sys.stdin)
training.train(pairs, valid_pairs, out, TrainingOptions(**options), verbose=0)
"""


def train_quietly(out, options=OPTIONS):
    return train(TRAINING, VALIDATION, out, options, verbose=0, say=lambda _: None)


def history_of(out):
    return json.loads((out / "history.json").read_text())


def weights_of(out):
    return Translator.load(out / "translator.keras").model.get_weights()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    out = tmp_path_factory.mktemp("training") / "undisturbed"
    assert train_quietly(out) == out / "translator.keras"
    return out


def check_same_end(out, undisturbed):
    for epoch, expected in zip(history_of(out), history_of(undisturbed), strict=True):
        assert epoch["val_perplexity"] == pytest.approx(expected["val_perplexity"], rel=1e-3)
    for weights, expected in zip(weights_of(out), weights_of(undisturbed), strict=True):
        np.testing.assert_allclose(weights, expected, atol=1e-3)


def test_a_killed_training_ends_as_an_undisturbed_one(tmp_path, undisturbed):
    out = tmp_path / "killed"
    arguments = json.dumps([str(out), dataclasses.asdict(OPTIONS), TRAINING, VALIDATION])
    command = [sys.executable, "-c", KILLED_TRAINING]
    killed = subprocess.run(command, input=arguments, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    progress = Run(out).progress()
    assert (progress["epoch"], progress["step"]) == (0, 8)  # it was killed after batch 12
    train_quietly(out)
    check_same_end(out, undisturbed)


@pytest.mark.slow
def test_a_training_stopped_before_its_validation_ends_as_an_undisturbed_one(
    tmp_path, undisturbed, monkeypatch
):
    def stop(model):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(training, "averaged_weights", stop)
        train_quietly(tmp_path)
    train_quietly(tmp_path)
    check_same_end(tmp_path, undisturbed)
    assert all("loss" in epoch for epoch in history_of(tmp_path))


def test_the_saved_translator_is_the_best_epochs(undisturbed):
    best = min(epoch["val_perplexity"] for epoch in history_of(undisturbed))
    translator = Translator.load(undisturbed / "translator.keras")
    losses = [
        -result.score * len(result.target_tokens) ** translator.search.length_normalization
        for result in translator.align(VALIDATION)
    ]
    tokens = sum(len(result.target_tokens) for result in translator.align(VALIDATION))
    assert math.exp(sum(losses) / tokens) == pytest.approx(best, rel=1e-3)


def test_training_lowers_the_perplexity(undisturbed):
    first, second = (epoch["val_perplexity"] for epoch in history_of(undisturbed))
    assert second < first < OPTIONS.vocabulary_size


def test_a_finished_training_is_left_alone(undisturbed):
    before = {path: path.stat().st_mtime_ns for path in undisturbed.iterdir()}
    with pytest.raises(FileExistsError, match="has ended after 2 epochs. Received: out="):
        train_quietly(undisturbed)
    assert {path: path.stat().st_mtime_ns for path in undisturbed.iterdir()} == before
