"""Ensemble returns the mean of its members' probabilities, for steps and for sentences."""

import json

import extract
import keras
import modes
import numpy as np
import pytest
import reference
import tensorflow as tf
from decoders import new_decoder

from keras_bahdanau.models import Encoder, Ensemble, Seq2Seq
from keras_bahdanau.models.ensemble import log_mean_exp

SOURCE = np.array([[3, 1, 4, 1], [5, 0, 0, 0], [0, 0, 0, 0]], "int32")
TARGET_IN = np.array([[2, 5, 1], [2, 3, 0], [2, 0, 0]], "int32")

MEMBERS = {  # different architectures
    "before": {},
    "after": {"attention": "general", "when": "after", "cell": "lstm", "depth": 2},
    "fixed": {"attention": None},
}


def member(seed=0, source=7, target=6, **options):
    model = Seq2Seq(Encoder(source, 4, 3), new_decoder(target, 4, 5, **options))
    model.build()
    return extract.randomize(model, seed)


def members():
    return [member(seed, **options) for seed, options in enumerate(MEMBERS.values())]


def steps_of(model, source, target_in, beam):
    """Return the log-probabilities and weights of all steps, computed by `decode_step`."""
    prepared = model.encode(source)
    state, found = model.initial_state(prepared), []
    if beam:
        state = keras.tree.map_structure(lambda one: tf.stack([one] * beam, axis=1), state)
        target_in = tf.stack([target_in] * beam, axis=1)
    for t in range(TARGET_IN.shape[1]):
        step, weights, state = model.decode_step(target_in[..., t], state, prepared)
        found.append((step.log_probs, weights))
    return tuple(tf.stack(one) for one in zip(*found, strict=True))


def mean(found):
    """Return the mean of the members' (log_probs, weights), in float64."""
    log_probs, weights = (np.array(one, "float64") for one in zip(*found, strict=True))
    return np.log(np.exp(log_probs).mean(axis=0)), weights.mean(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("beam", [0, 2])
def test_a_step_gives_the_mean_of_the_members_probabilities(run, beam):
    models = members()

    def steps(run, model):
        return run(lambda *inputs: steps_of(model, *inputs, beam), SOURCE, TARGET_IN)

    found = steps(run, Ensemble(models))
    expected = mean([steps(modes.eager, model) for model in models])
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.slow
def test_a_sentence_gives_the_mean_of_the_members_probabilities(run):
    models = members()
    inputs = (SOURCE, TARGET_IN)
    expected = []
    for model in models:
        logits, weights = model(inputs, return_attention_scores=True)
        expected.append((reference.log_softmax(np.array(logits, "float64")), weights))
    ensemble = Ensemble(models)
    log_probs, weights = run(
        lambda *inputs: ensemble(inputs, return_attention_scores=True), *inputs
    )
    for one, other in zip((log_probs, weights), mean(expected), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    np.testing.assert_allclose(np.exp(log_probs).sum(axis=-1), 1, atol=1e-5)
    np.testing.assert_array_equal(ensemble(inputs), ensemble(inputs, return_attention_scores=1)[0])


def test_the_mean_of_improbable_tokens_is_exact():
    log_probs = np.array([[-2000.0, -3000.0, 0.0], [-2001.0, -3000.0, -1e9]], "float32")
    expected = [-2000 + np.log((1 + np.exp(-1)) / 2), -3000, np.log(0.5)]
    np.testing.assert_allclose(log_mean_exp([*log_probs]), expected, rtol=1e-7)


def test_one_member_alone_and_beside_its_copy_says_what_it_says():
    alone = member()
    expected = alone((SOURCE, TARGET_IN), return_attention_scores=True)
    expected = (keras.ops.log_softmax(expected[0]), expected[1])
    for models in ([alone], [alone, member()]):
        found = Ensemble(models)((SOURCE, TARGET_IN), return_attention_scores=True)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.slow
def test_it_is_saved_and_loaded_without_custom_objects_and_optimizers(tmp_path):
    models = members()
    models[0].compile("adam", loss="mse")
    models[0].optimizer.build(models[0].trainable_variables)
    ensemble = Ensemble(models)
    expected = ensemble((SOURCE, TARGET_IN))
    ensemble.save(tmp_path / "ensemble.keras")
    loaded = keras.saving.load_model(tmp_path / "ensemble.keras")
    np.testing.assert_array_equal(loaded((SOURCE, TARGET_IN)), expected)
    assert json.dumps(loaded.get_config()) == json.dumps(ensemble.get_config())
    assert not any(model.compiled for model in loaded.models)


def test_it_can_be_exported_if_all_its_members_can():
    assert Ensemble(members()).exportable
    assert not Ensemble([member(), member(attention="forced")]).exportable


def test_what_is_no_ensemble_is_refused():
    one = member()
    with pytest.raises(ValueError, match=r"at least one model.*models=\[\]"):
        Ensemble([])
    with pytest.raises(TypeError, match="must be Seq2Seq models. Received: Encoder, Decoder"):
        Ensemble([one, one.encoder, one.decoder])
    with pytest.raises(ValueError, match="one model twice"):
        Ensemble([one, member(), one])
    with pytest.raises(ValueError, match=r"\[\(7, 6\), \(7, 9\)\]"):
        Ensemble([one, member(target=9)])


@pytest.mark.slow
def test_an_ensemble_of_built_members_is_saved_with_their_weights(tmp_path):
    ensemble = Ensemble(members())
    ensemble.save(tmp_path / "ensemble.keras")
    loaded = keras.models.load_model(tmp_path / "ensemble.keras")
    found = loaded((SOURCE, TARGET_IN))
    np.testing.assert_allclose(found, ensemble((SOURCE, TARGET_IN)), atol=1e-6)
