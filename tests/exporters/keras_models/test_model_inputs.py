"""Names, dtypes and lengths of the inputs and outputs of any Keras model."""

import keras
import numpy as np
import pytest
from keras import layers as L

from keras_bahdanau.exporters.keras_models.model_inputs import inputs_of, named_outputs
from keras_bahdanau.exporters.keras_models.model_parity import distances
from keras_bahdanau.exporters.keras_models.model_signature import ModelCase


def two_towers(pack):
    left, right = (keras.Input((3,), name=name) for name in ("left", "right"))
    return keras.Model(pack(left, right), L.Dense(2, name="sum")(L.Add()([left, right])))


class Towers(keras.Model):
    def call(self, left, right, training=None):
        return left + right


def described(inputs):
    return {name: (spec.dtype.name, spec.shape.as_list()) for name, spec in inputs.specs.items()}


@pytest.mark.parametrize(
    "pack",
    [
        lambda left, right: [left, right],
        lambda left, right: (left, right),
        lambda left, right: {"left": left, "right": right},
        lambda left, right: [{"left": left}, right],
    ],
    ids=["list", "tuple", "dictionary", "nested"],
)
def test_inputs_keep_their_names_in_any_structure(pack):
    model = two_towers(pack)
    inputs = inputs_of(model)
    assert described(inputs) == dict.fromkeys(["left", "right"], ("float32", [None, 3]))
    tensors = {"left": np.ones((2, 3), "float32"), "right": np.zeros((2, 3), "float32")}
    assert inputs.call(model, tensors).shape == (2, 2)


def test_a_subclassed_model_with_several_arguments_is_called_by_their_names():
    model = Towers()
    tensors = {"left": np.ones((1, 3), "float32"), "right": 2 * np.ones((1, 3), "float32")}
    model(**tensors)
    inputs = inputs_of(model, tensors)
    assert [*inputs.specs] == ["left", "right"]
    assert np.array(inputs.call(model, tensors)).tolist() == [[3.0, 3.0, 3.0]]


def test_an_input_without_a_name_is_named_alike_in_every_process():
    assert [*inputs_of(keras.Sequential([keras.Input((3,)), L.Dense(2)])).specs] == ["inputs"]


def test_outputs_have_the_names_of_keys_or_layers():
    x = keras.Input((3,), name="x")
    a, b = L.Dense(1, name="a")(x), L.Dense(2, name="b")(x)
    for outputs, names in (([a, b], ["a", "b"]), ({"p": a, "q": [b, b]}, ["p", "q", "q_1"])):
        model = keras.Model(x, outputs)
        assert [*named_outputs(model, model(np.ones((1, 3))))] == names


@pytest.mark.parametrize(
    ("length", "shapes"),
    [
        (None, [[None, None, 4], [None, None]]),
        (9, [[None, 9, 4], [None, 9]]),
        ({"ids": 5}, [[None, None, 4], [None, 5]]),
        ("dynamic", [[None, None, 4], [None, None]]),
    ],
)
def test_a_length_is_for_the_axes_that_are_open(length, shapes):
    sample = keras.Input((None, 4), name="sample")
    ids = keras.Input((None,), dtype="int32", name="ids")
    model = keras.Model([sample, ids], [L.GRU(2)(sample), L.Embedding(5, 2)(ids)])
    specs = inputs_of(model).resized(length).specs
    assert [spec.shape.as_list() for spec in specs.values()] == shapes


@pytest.mark.parametrize(
    ("received", "difference"),
    [
        ([[1.0, 2.0]], 0.0),
        ([[1.0, 2.5]], 0.5),
        ([[1.0, np.nan]], np.inf),
        ([[1.0]], np.inf),
    ],
    ids=["equal", "other", "no number", "shape"],
)
def test_a_difference_is_the_largest_and_infinite_for_what_is_no_answer(received, difference):
    case = ModelCase("serving_default", {}, {"y": np.array([[1.0, 2.0]])})
    assert distances(case, {"y": np.array(received)})["y"].difference == difference
    assert distances(case, {})["y"].difference == np.inf


def test_steps_behind_the_real_length_are_not_compared():
    case = ModelCase("m", {}, {"y": np.array([[1.0, 2.0], [3.0, 0.0]])}, {"y": [2, 1]})
    assert distances(case, {"y": np.array([[1.0, 2.0], [3.0, 9.0]])})["y"].difference == 0.0
