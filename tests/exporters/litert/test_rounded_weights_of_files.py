"""The weights of an 8-bit or 4-bit file equal those of training's `rounded_weights`."""

import keras
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from sources_of_each_kind import SENTENCES, new_source

from keras_bahdanau import presets
from keras_bahdanau.exporters import describe
from keras_bahdanau.exporters.card import read_card
from keras_bahdanau.exporters.litert import conversion
from keras_bahdanau.exporters.litert.litert_exporter import LiteRTExporter
from keras_bahdanau.exporters.litert.tflite_file import unpack
from keras_bahdanau.optimizers.rounded_weights import LEAST, LEVELS, roundings_of
from keras_bahdanau.pipelines.tasks import pipeline_of
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.text import Subwords

SIZES = {"units": 32, "embedding_units": 36, "attention_units": 40}
MODELS = {
    "a tied embedding": ("small", "bpe", {}),
    "a long v": ("small", "bpe", {"attention_units": 1030}),
    "Keras' GRU with the reset gate before": ("rnnsearch", "bpe", {}),
    "Keras' LSTM": ("luong-local", "bpe", {}),
    "minimal cells and a table of places": (
        *("small", "bpe"),
        {"cell": "sru", "encoder_cell": "min-lstm", "attention": "location"},
    ),
    "convolutions of a text": ("small", "bpe", {"encoder": "convolutional"}),
    "convolutions of an image": ("images", "images", {}),
    "a Transformer under parallel cells": ("ssru-student", "bpe", {"depth": 1, "decoder_depth": 2}),
    "a Transformer": ("transformer-tiny", "bpe", {"depth": 1, "decoder_depth": 2}),
    "exact hard attention": ("characters", "bpe", {"hard_alignment": "first-monotonic"}),
    "copying": ("characters", "bpe", {"copy": True}),
}


def new_pipeline(preset, kind, options):
    """Return a pipeline with random weights."""
    source = new_source(kind)
    target = source.subwords or Subwords.train(SENTENCES, 60, exact=False, model_type="char")
    model = presets.new_model(preset, source, target, **{**SIZES, **options})
    model.build()
    random = np.random.default_rng(0)
    for weight, _ in roundings_of(model):
        weight.assign(random.normal(size=weight.shape))
    return pipeline_of(source, model, target, SearchOptions(beam_width=2, max_length=6))


def rounded_tensors(content):
    """Yield (values in 8 or 4 bits, their scales in float64) for each rounded tensor.

    The parts into which `joined_inputs` split a matrix share one scale; they are joined again. A
    table of integers, such as one that marks the tokens that begin a word, has no scale.
    """
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content))
    for graph in tree.subgraphs:
        parts = {}  # from scales to the arrays of each buffer
        for tensor in graph.tensors:
            data = tree.buffers[tensor.buffer].data
            is_rounded = tensor.type in NUMBERS and tensor.quantization is not None
            if is_rounded and data is not None:
                assert not np.any(tensor.quantization.zeroPoint)
                scales = np.float64(tensor.quantization.scale)
                arrays = parts.setdefault(scales.tobytes(), (scales, {}))[1]
                arrays[tensor.buffer] = NUMBERS[tensor.type](data)[: np.prod(tensor.shape)]
        for scales, arrays in parts.values():
            yield np.concatenate([*arrays.values()]), scales


def halves(data):
    """Unpack two signed 4-bit values from each byte, the lower half first."""
    numbers = np.stack([data & 15, data >> 4], axis=-1).reshape(-1).astype(np.int8)
    return np.where(numbers < 8, numbers, numbers - 16)


NUMBERS = {schema.TensorType.INT8: lambda data: data.view(np.int8), schema.TensorType.INT4: halves}


def in_order(array):
    """Return an array's values sorted, since a file may store it transposed."""
    return np.sort(np.ravel(array))


def parts_of(model, quantization):
    """Yield training's (values, scales) for each large weight, split into parts as in a file."""
    for variable, nearest_to in roundings_of(model, quantization):
        value = keras.ops.convert_to_numpy(nearest_to(variable.value)).astype("float64")
        settings = nearest_to.keywords
        levels = LEVELS[settings.get("quantization", "int8")]
        axis = settings.get("axis")
        axes = None if axis is None else tuple({*range(value.ndim)} - {axis % value.ndim})
        for part in np.split(value, settings.get("sections", 1), axis=-1):
            if part.size >= LEAST:
                scales = np.abs(part).max(axis=axes) / levels
                yield in_order(part / scales), np.ravel(scales)


def same(part, tensor):
    """Return whether the values are equal, and the scales to 1e-6; filters' scales include a gain.

    The scale of a Transformer's input embedding includes sqrt(units), by which it multiplies its
    inputs.

    In 100,000 random weights, one or two are so close to the middle between two steps that float32
    precision decides which way they round.
    """
    numbers, scales = part
    found, of_file = in_order(tensor[0]), tensor[1]
    if numbers.shape != found.shape or (np.abs(numbers - found) > 1e-3).mean() > 1e-4:
        return False
    if len(scales) > 1 and numbers.max() > LEVELS["int4"] + 0.5:
        return True  # convolution filters
    scales, of_file = in_order(scales), in_order(of_file)
    gains = (1.0, SIZES["units"] ** 0.5)
    return any(np.allclose(scales * gain, of_file, rtol=1e-6, atol=0) for gain in gains)


@pytest.mark.slow
@pytest.mark.parametrize("quantization", ["int4", "int8"])
@pytest.mark.parametrize("name", MODELS)
def test_each_rounded_tensor_is_a_weight_as_training_rounds_it(name, quantization, tmp_path):
    pipeline = new_pipeline(*MODELS[name])
    longest = pipeline.source.whole_columns(16)
    content = conversion.convert(pipeline, quantization, (), longest, 8, tmp_path)
    expected, met = [*parts_of(pipeline.model, quantization)], set()
    for tensor in rounded_tensors(content):
        (place,) = (place for place, part in enumerate(expected) if same(part, tensor))
        met.add(place)
    assert met == set(range(len(expected)))  # and no large weight is left in float
    Interpreter(model_content=content).allocate_tensors()


@pytest.mark.slow
@pytest.mark.parametrize(
    "training,aware,said",
    [
        ({"quantization_aware": True}, True, ", from a model trained with 8-bit weights."),
        ({"quantization_aware": True, "quantization": "int4"}, True, " with 4-bit weights."),
        ({"quantization_aware": False, "quantization": "int8"}, False, "Weights: int8.\n"),
    ],
)
def test_a_file_says_what_weights_its_model_was_trained_with(training, aware, said, tmp_path):
    pipeline = new_pipeline(*MODELS["a tied embedding"])
    pipeline.training = training
    path = tmp_path / "model.tflite"
    LiteRTExporter(quantization="int8", signatures=()).write(pipeline, path)
    card = read_card(unpack(path.read_bytes()).files["card.json"])
    assert card.get("quantization_aware", False) == aware
    assert said in describe(path)
