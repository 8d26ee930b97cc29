"""Every public layer and model fulfills the contracts of Keras layers.

Each layer that is public in `keras_bahdanau.layers` or `keras_bahdanau.models` needs a row in
`layer_table.TABLE`.
"""

import inspect
import json

import extract
import keras
import modes
import numpy as np
import pytest
import tensorflow as tf
from layer_table import BATCH, SOURCE_TIME, TABLE, TARGET_TIME

from keras_bahdanau import layers, models

HALF = [pytest.param("mixed_float16", marks=pytest.mark.slow), "mixed_bfloat16"]
BASES = {"AttentionBase", "Cell", "CoverageBase", "Normalizer", "ParallelCell", "ProjectedCell"}
BASES |= {"RecurrentCell", "Score", "Window"}
NEVER_CALLED = {"ForcedAlignment"}  # only a decoder has an alignment to look up
SLOW = {"Ensemble", "HardDecoder"}  # slow to build; tests/models has fast tests of them
READY = {}


def those(condition):
    """Parametrize with rows that fulfill a condition; variants of a class and `SLOW` are slow."""
    return pytest.mark.parametrize(
        "row",
        [
            pytest.param(
                row, id=name, marks=[pytest.mark.slow] if "," in name or name in SLOW else []
            )
            for name, row in TABLE.items()
            if condition(row)
        ],
    )


EVERY = those(lambda row: True)


def built(row, **kwargs):
    layer = row.new(**kwargs)
    if row.shapes:
        layer.build(*row.shapes)
    modes.eager(call(layer), *row.inputs_for(layer))
    return extract.randomize(layer)


def ready(row):
    """Return a built layer that is shared by all tests that don't change it."""
    if id(row) not in READY:
        READY[id(row)] = built(row)
    return READY[id(row)]


def call(layer, **kwargs):
    """Return a function of the inputs that returns a flat list of output tensors."""

    def function(*inputs):
        outputs = layer(*inputs, **kwargs)
        if isinstance(outputs, models.TrainingOutput):
            outputs = layer.logits(outputs)
        if isinstance(outputs, models.DecoderOutput):
            outputs = outputs.logits
        outputs = tf.nest.flatten(outputs)
        return [output for output in outputs if hasattr(output, "dtype")]

    return function


def assert_close(found, expected, **tolerance):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.float64(one), np.float64(other), **tolerance)


def test_every_public_layer_and_model_has_a_row():
    public = [getattr(module, name) for module in (layers, models) for name in module.__all__]
    classes = {
        item.__name__
        for item in public
        if isinstance(item, type) and issubclass(item, keras.layers.Layer)
    }
    assert classes - BASES - NEVER_CALLED <= {name.partition(",")[0] for name in TABLE}


@pytest.mark.few(11)
@EVERY
def test_its_config_round_trips_through_json(row):
    layer = row.new(name="mine", dtype="mixed_bfloat16", trainable=False)
    config = json.loads(json.dumps(layer.get_config()))
    copy = type(layer).from_config(config)
    assert copy.get_config() == layer.get_config()
    assert (copy.name, copy.dtype_policy.name, copy.trainable) == ("mine", "mixed_bfloat16", False)


def test_channels_are_last_whatever_the_data_format_of_keras():
    before, found = keras.config.image_data_format(), []
    keras.config.set_image_data_format("channels_first")
    try:
        for name, row in TABLE.items():
            if not name.startswith("KerasGrid"):  # contains a user's model
                found += [one for one in row.new()._flatten_layers() if hasattr(one, "data_format")]
    finally:
        keras.config.set_image_data_format(before)
    assert len(found) > 5 and {one.data_format for one in found} == {"channels_last"}


PASSED_ON = {  # arguments that are in the config of a sublayer, or aren't stored
    "Attention": {"units"},
    "HardAlignment": {"units"},
    "Encoder": {
        *("cell", "depth", "embedding_units", "kind", "recurrent_dropout", "units"),
        "vocabulary_size",
    },
    **dict.fromkeys(("MinGRUCell", "MinLSTMCell", "SRUCell", "SSRUCell"), {"recurrent_dropout"}),
    **dict.fromkeys(("Coverage", "Everywhere", "Hardmax", "NoCoverage", "Sigmoid"), {"autocast"}),
}


@pytest.mark.few(8)
@EVERY
def test_its_config_has_each_of_its_arguments(row):
    layer = row.new()
    given = inspect.signature(type(layer).__init__).parameters.values()
    names = {one.name for one in given if one.kind is one.POSITIONAL_OR_KEYWORD} - {"self"}
    assert names - {*layer.get_config()} <= PASSED_ON.get(type(layer).__name__, set())


@pytest.mark.few(8)
@EVERY
def test_it_is_registered_under_the_package(row):
    layer = row.new()
    name = f"keras_bahdanau>{type(layer).__name__}"
    assert keras.saving.get_registered_name(type(layer)) == name


@keras.saving.register_keras_serializable(package="conformance")
class Holder(keras.Model):
    """A user-defined model that contains a layer."""

    def __init__(self, layer, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.layer = layer

    def call(self, inputs):
        return self.layer(*inputs)

    def get_config(self):
        layer = keras.saving.serialize_keras_object(self.layer)
        return {**super().get_config(), "layer": layer}

    @classmethod
    def from_config(cls, config):
        layer = keras.saving.deserialize_keras_object(config.pop("layer"))
        return cls(layer, **config)

    def build_from_config(self, config):
        """Do nothing: the layer is already built."""


@pytest.mark.few(6)
@EVERY
@pytest.mark.parametrize(
    "policy", ["float32", pytest.param("mixed_float16", marks=pytest.mark.slow)]
)
def test_it_is_saved_and_loaded_in_a_users_model(row, policy, tmp_path):
    holder = Holder(built(row, dtype=policy))
    inputs = row.inputs_for(holder.layer)
    expected = modes.eager(call(holder), inputs)
    holder.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.layer.dtype_policy.name == policy
    assert_close(modes.eager(call(loaded), inputs), expected, atol=0)


@pytest.mark.slow
@EVERY
@pytest.mark.filterwarnings("ignore:.*does not have a `quantize` method")
def test_it_is_quantized_saved_and_loaded_in_a_users_model(row, tmp_path):
    holder = Holder(built(row))
    inputs = row.inputs_for(holder.layer)
    modes.eager(call(holder), inputs)
    holder.quantize("int8")
    holder.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    if isinstance(holder.layer, models.HardDecoder):
        with pytest.raises(ValueError, match="can't be quantized by Keras"):
            loaded(inputs)
        return
    expected = modes.eager(call(holder), inputs)
    assert_close(modes.eager(call(loaded), inputs), expected, atol=0)


@pytest.mark.few(2)
@EVERY
@pytest.mark.parametrize("policy", HALF)
def test_mixed_precision_computes_in_half_and_keeps_float32_where_promised(row, policy):
    layer = built(row, dtype=policy)
    outputs = modes.eager(call(layer), *row.inputs_for(layer))
    expected = [layer.compute_dtype if dtype == "compute" else dtype for dtype in row.outputs]
    assert [output.dtype.name for output in outputs] == expected
    assert all(np.isfinite(np.float64(output)).all() for output in outputs)
    assert {weight.dtype for weight in layer.weights} <= {"float32"}
    exact = modes.eager(call(ready(row)), *row.inputs)
    assert_close(outputs, exact, atol=0.2)


@pytest.mark.few(5)
@those(lambda row: row.padding is not None)
def test_further_padding_changes_nothing(row):
    layer = ready(row)
    expected = modes.eager(call(layer), *row.inputs)
    wide = modes.eager(call(layer), *row.padding(*row.inputs))
    cut = [
        output[tuple(slice(size) for size in one.shape)]
        for output, one in zip(wide, expected, strict=True)
    ]
    assert_close(cut, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.few(18)
@EVERY  # replaces graph tests of single layers
@pytest.mark.parametrize("mode", [modes.graph, pytest.param(modes.xla, marks=pytest.mark.slow)])
def test_a_graph_and_xla_compute_what_eager_does(row, mode):
    layer = ready(row)
    expected = modes.eager(call(layer), *row.inputs)
    assert_close(mode(call(layer), *row.inputs), expected, atol=1e-5)


@pytest.mark.few(14)
@those(lambda row: row.learns)
def test_every_weight_gets_a_gradient(row):
    layer = ready(row)
    inputs = tf.nest.map_structure(tf.constant, row.inputs)
    with tf.GradientTape() as tape:
        outputs = [tf.cast(output, "float32") for output in call(layer)(*inputs)]
        loss = sum(tf.reduce_sum(tf.sin(3 * output)) for output in outputs)
    gradients = tape.gradient(loss, layer.trainable_variables)
    assert gradients
    for weight, gradient in zip(layer.trainable_variables, gradients, strict=True):
        reached = gradient is not None and np.any(tf.convert_to_tensor(gradient))
        assert reached != any(part in weight.path for part in row.apart), weight.path


@EVERY
def test_each_weight_has_a_path_of_its_own(row):
    paths = [weight.path for weight in ready(row).weights]
    assert len(set(paths)) == len(paths)


@pytest.mark.few(6)
@those(lambda row: row.drops)
def test_dropout_is_for_training_only(row):
    layer = ready(row)
    plain, still, trained = (
        np.concatenate([output.ravel() for output in modes.eager(call(layer, **kw), *row.inputs)])
        for kw in ({}, {"training": False}, {"training": True})
    )
    np.testing.assert_array_equal(still, plain)
    assert not np.allclose(trained, plain)


@pytest.mark.few(3)
@those(lambda row: row.functional)
def test_a_functional_model_knows_its_shapes_and_dtypes(row):
    layer = built(row, dtype="mixed_bfloat16")
    given = tf.nest.map_structure(tf.constant, row.inputs_for(layer))
    inputs = tf.nest.map_structure(
        lambda tensor: keras.Input(_unknown_time(tensor)[1:], dtype=tensor.dtype.name), given
    )
    symbols = call(layer)(*inputs)
    found = tf.nest.flatten(keras.Model(inputs, symbols)(given))
    for symbol, output in zip(symbols, found, strict=True):
        assert symbol.dtype == keras.backend.standardize_dtype(output.dtype)
        assert symbol.shape == _unknown_time(output)


def _unknown_time(array):
    """Return an array's shape with None for all axes but the width of vectors."""
    *axes, last = array.shape
    if array.dtype == bool:
        return (None,) * len(array.shape)
    return (*(None for _ in axes), None if last in (BATCH, SOURCE_TIME, TARGET_TIME) else last)
