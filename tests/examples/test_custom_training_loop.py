"""The custom training loop, at toy size."""

import importlib.util
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from conftest import toy_pairs

import keras_bahdanau as kb

SCRIPT = Path(__file__).parents[2] / "examples" / "custom_training_loop" / "train.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("custom_training_loop", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_it_runs_from_end_to_end(example, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--epochs", "1", "--pairs", "200"])
    example.main()
    printed = capsys.readouterr().out
    assert printed.startswith("epoch 1: loss ") and printed.count("(reference)") == 3


@pytest.mark.slow
def test_its_step_is_that_of_fit(example):
    """The first loss is that of an untrained model, and weights change as they do in `fit`."""
    source, target = kb.text.Subwords.train_pair(toy_pairs(), vocabulary_size=48)
    data = kb.data.BatchedPairs(toy_pairs(), source, target, batch_tokens=512, buckets=1)
    (inputs, target_out, weight) = next(iter(data.epoch(0)))
    weights = []
    for by_hand in (True, False):
        keras.utils.set_random_seed(0)
        model = kb.presets.small(
            *(source, target), embedding_units=8, units=8, attention_units=8, dropout=0.0
        )
        model.build()
        optimizer = keras.optimizers.SGD(0.5)
        optimizer.build(model.trainable_variables)
        model.compile(optimizer, kb.losses.TokenCrossentropy())
        if by_hand:
            loss = example.training_step(model, optimizer)(*inputs, target_out, weight)
            assert float(loss) == pytest.approx(np.log(48), abs=0.2)  # all tokens equally likely
        else:
            model.train_on_batch(inputs, target_out, sample_weight=weight)
        weights.append(model.get_weights())
    for one, other in zip(*weights, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
