"""Casting a model rounds its weights to nearest; products are bfloat16, and sums float32."""

import extract
import keras
import numpy as np
import pytest
from decoders import new_decoder, new_hard_decoder
from options import OPTIONS, new_model, new_subwords

import keras_bahdanau as kb
from keras_bahdanau.models import Encoder, Ensemble, Seq2Seq
from keras_bahdanau.models.precision import cast_model, precision_of
from keras_bahdanau.search import search_model

SOURCE = np.array([[3, 1, 4, 1], [5, 2, 0, 0]], "int32")
TARGET_IN = np.array([[2, 5, 1], [2, 3, 4]], "int32")

OPTIONS_OF_SEARCH = kb.SearchOptions(beam_width=2, max_length=3)
OF_OTHER_SOURCES = {"preset images", "preset ink", "preset speech"}
MODELS = {
    "one": lambda: member(0),
    "of two architectures": lambda: Ensemble(
        [member(0), member(1, attention="general", when="after", cell="lstm", depth=2)]
    ),
}


def member(seed, **options):
    model = Seq2Seq(Encoder(7, 8, 6), new_decoder(6, 8, 12, **options))
    model.build()
    return extract.randomize(model, seed)


def log_probs_of(model):
    """Return the log-probabilities and weights of the first step."""
    prepared = model.encode(SOURCE)
    state = model.initial_state(prepared)
    distribution, weights, _ = model.decode_step(TARGET_IN[:, 0], state, prepared)
    return distribution.log_probs, weights


@pytest.mark.few(1)
@pytest.mark.parametrize("name", MODELS)
def test_the_nearest_weights_give_nearly_the_same_probabilities(name):
    model = MODELS[name]()
    twin = cast_model(model, "bfloat16")
    assert type(twin) is type(model)
    for weight, other in zip(model.weights, twin.weights, strict=True):
        nearest = np.float32(keras.ops.cast(weight, other.dtype))
        np.testing.assert_array_equal(np.float32(other.value), nearest)
    kept = {weight.name for weight in twin.weights if weight.dtype == "float32"}
    assert kept <= {"v"}  # of scores, which are always float32
    (expected, attended), (found, weights) = log_probs_of(model), log_probs_of(twin)
    assert found.dtype == weights.dtype == "float32"
    np.testing.assert_allclose(np.sum(np.exp(found), axis=-1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(np.sum(weights, axis=-1), 1.0, rtol=1e-5)
    # the relative error of a weight or product in bfloat16 is at most 2^-8
    np.testing.assert_allclose(found, expected, atol=0.1)
    np.testing.assert_allclose(weights, attended, atol=0.05)
    assert np.abs(found - expected).max() > 1e-5  # otherwise it was computed in float32


def test_a_model_that_has_the_precision_stays_what_it_is():
    model = MODELS["one"]()
    assert cast_model(model, "float32") is model
    twin = cast_model(model, "bfloat16")
    assert cast_model(twin, "bfloat16") is twin
    back = cast_model(twin, "float32")
    assert (precision_of(model), precision_of(twin), precision_of(back)) == (
        *("float32", "bfloat16", "float32"),
    )
    for weight, other in zip(model.weights, back.weights, strict=True):
        assert other.dtype == "float32"
        np.testing.assert_allclose(weight, other, rtol=2**-8, atol=0)


def test_a_part_in_another_precision_counts():
    parts = [cast_model(member(seed), "bfloat16") for seed in range(2)]
    ensemble = Ensemble(parts)
    assert ensemble.compute_dtype == "float32" and precision_of(ensemble) == "bfloat16"
    whole = cast_model(ensemble, "float32")
    assert {weight.dtype for weight in whole.weights} == {"float32"}
    policies = keras.dtype_policies.DTypePolicyMap(default_policy="mixed_bfloat16")
    model = Seq2Seq(Encoder(7, 8, 6, dtype=policies), new_decoder(6, 8, 12))
    model.build()
    assert precision_of(model) == "bfloat16"
    assert precision_of(cast_model(model, "float32")) == "float32"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*OPTIONS} - OF_OTHER_SOURCES))
def test_each_kind_of_model_has_finite_probabilities(name):
    words = new_subwords()
    model = new_model(OPTIONS[name], words)
    model.build()
    twin = cast_model(model, "bfloat16")
    assert precision_of(twin) == "bfloat16"
    try:
        pipeline = kb.Translator(words, twin, words, kb.SearchOptions(beam_width=2, max_length=4))
        results = pipeline.decode(["a b c", "z"])
    except ValueError as error:  # such as for alignments, which exist only in training
        assert "Received: " in str(error)
    else:
        assert all(np.isfinite(one.score) for one in results)
    back = cast_model(twin, "float32")
    assert [weight.dtype for weight in back.weights] == [weight.dtype for weight in model.weights]


@pytest.mark.few(1)
@pytest.mark.parametrize("policies", [("mixed_bfloat16", "float32"), ("float32", "mixed_bfloat16")])
def test_encoder_and_decoder_of_different_precision_are_searched(policies):
    encoder, decoder = policies
    model = Seq2Seq(
        Encoder(7, 8, 6, dtype=encoder), new_decoder(6, 8, 12, when="after", dtype=decoder)
    )
    found = search_model(model, SOURCE, OPTIONS_OF_SEARCH, start=2, end=3)
    assert np.all(np.isfinite(found.scores[:, 0]))


def test_a_hard_decoder_of_elementwise_recurrences_is_searched_in_bfloat16():
    attention = kb.layers.HardAlignment("general", dtype="mixed_bfloat16")
    decoder = new_hard_decoder(6, 8, 12, attention, cell="sru", dtype="mixed_bfloat16")
    model = Seq2Seq(Encoder(7, 8, 6, dtype="mixed_bfloat16"), decoder)
    found = search_model(model, SOURCE, OPTIONS_OF_SEARCH, start=2, end=3)
    assert np.all(np.isfinite(found.scores[:, 0]))


def test_a_cell_of_keras_can_be_in_bfloat16():
    """Keras' orthogonal initializer doesn't support that dtype."""
    cells = keras.layers.GRUCell(6), keras.layers.LSTMCell(12)
    model = Seq2Seq(Encoder(7, 8, 6, cell=cells[0]), new_decoder(6, 8, 12, cell=cells[1]))
    model.build()
    (found, _), (expected, _) = (
        log_probs_of(one) for one in (cast_model(model, "bfloat16"), model)
    )
    np.testing.assert_allclose(found, expected, atol=0.1)


def test_the_precision_of_later_layers_is_left_alone():
    cast_model(MODELS["one"](), "bfloat16")
    assert keras.config.dtype_policy().name == "float32"
    assert keras.layers.Dense(1).compute_dtype == "float32"


def test_another_precision_is_refused():
    with pytest.raises(ValueError, match="float32, bfloat16. Received: precision='float16'"):
        cast_model(MODELS["one"](), "float16")
