"""The weights of a file of 8 or 4 bits are those of training: `training.rounded_weights`."""

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
    """A pipeline with random weights."""
    source = new_source(kind)
    target = source.subwords or Subwords.train(SENTENCES, 60, exact=False, model_type="char")
    model = presets.new_model(preset, source, target, **{**SIZES, **options})
    model.build()
    random = np.random.default_rng(0)
    for weight, _ in roundings_of(model):
        weight.assign(random.normal(size=weight.shape))
    return pipeline_of(source, model, target, SearchOptions(beam_width=2, max_length=6))


def rounded_tensors(content):
    """(numbers of 8 or 4 bits, their scales in float64) of each.

    A matrix of which `joined_inputs` made several, with the very same scale, is one again. A
    table of whole numbers, such as which tokens begin a word, has no scale.
    """
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content))
    for graph in tree.subgraphs:
        parts = {}  # by scales: the arrays of each buffer
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
    """The two numbers of 4 bits in each byte, the lower half first; 8 stands for -8."""
    numbers = np.stack([data & 15, data >> 4], axis=-1).reshape(-1).astype(np.int8)
    return np.where(numbers < 8, numbers, numbers - 16)


NUMBERS = {schema.TensorType.INT8: lambda data: data.view(np.int8), schema.TensorType.INT4: halves}


def in_order(array):
    """All numbers of an array, which a file may have turned over."""
    return np.sort(np.ravel(array))


def parts_of(model, quantization):
    """(numbers, scales) that training makes of large weights, in the parts that a file has."""
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
    """The same numbers and the same scale to 1e-6; those of filters are times a gain.

    The scale of what a Transformer reads is times sqrt(units), by which it multiplies its inputs.

    Of 100,000 random weights one or two are so near the middle of two steps that float32 decides.
    """
    numbers, scales = part
    found, of_file = in_order(tensor[0]), tensor[1]
    if numbers.shape != found.shape or (np.abs(numbers - found) > 1e-3).mean() > 1e-4:
        return False
    if len(scales) > 1 and numbers.max() > LEVELS["int4"] + 0.5:
        return True  # those of filters
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
    assert met == set(range(len(expected)))  # and none is left in floats
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
