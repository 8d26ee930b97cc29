"""Checks of small Keras models with the package's layers: saving, fitting, copying and so on.

Each row is a function of a layer's name and a folder that raises AssertionError if its check
fails. Rows run on every backend: `python keras_rows.py FOLDER` prints the errors of each row and
layer as JSON.
"""

import functools
import json
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

import keras_bahdanau as kb
from keras_bahdanau import layers

BACKEND = keras.backend.backend()
IDS = np.array([[3, 4, 5, 2], [1, 7, 0, 0], [6, 0, 0, 0]], "int32")
WIDE_IDS = np.pad(IDS, ((0, 0), (0, 3)))
LABELS = np.array([0, 2, 1])
RANDOM = np.random.default_rng(74)
WORDS = RANDOM.normal(size=(3, 4, 6)).astype("float32")


def attend(layer, words, mask=None, **kwargs):
    """Attend to the words with a single query: their mean."""
    query = keras.layers.GlobalAveragePooling1D()(words, mask=mask)
    return layer(query, words, value_mask=mask, **kwargs)


def read(layer, words, mask=None, **kwargs):
    return layer(words, mask=mask, **kwargs)


def decode(layer, words, mask=None, **kwargs):
    """Attend to the words in a loop over the same words."""
    return layer(words, words, mask=mask, memory_mask=mask, **kwargs)


class Kind(NamedTuple):
    """How to create a layer and call it with words `(batch, time, units)` and a mask or None."""

    new: Callable
    call: Callable
    has_weights: bool = True


KINDS = {  # other backends run only the first ones
    "BahdanauAttention": Kind(lambda: kb.BahdanauAttention(5), attend),
    "AttentionPooling": Kind(lambda: kb.AttentionPooling(5), read),
    "AttentionRNN": Kind(lambda: kb.AttentionRNN(keras.layers.GRUCell(5)), decode),
    "RNN, LSTMCell": Kind(lambda: keras.layers.RNN(layers.LSTMCell(5)), read, False),
    "MultiHeadAttention": Kind(
        lambda: layers.MultiHeadAttention(kb.BahdanauAttention(3), 2), attend
    ),
    "LuongAttention": Kind(lambda: layers.LuongAttention(), attend),
    **{
        f"Attention, {score}": Kind(functools.partial(layers.Attention, score, units=5), attend)
        for score in ("dot", "scaled-dot", "cosine", "concat", "pair-tanh")
    },
    "LuongAttention, local-p": Kind(lambda: layers.LuongAttention(window="local-p"), attend),
    "BahdanauAttention, coverage": Kind(lambda: kb.BahdanauAttention(5, coverage="sum"), attend),
    "AttentionPooling, last": Kind(lambda: kb.AttentionPooling(4, heads=2, query="last"), read),
    "AttentionRNN, LSTMCell": Kind(
        lambda: kb.AttentionRNN(layers.LSTMCell(5), "general", return_sequences=True), decode
    ),
    "RNN, GRUCell": Kind(lambda: keras.layers.RNN(layers.GRUCell(5)), read, False),
}
FIRST = 4


def new_model(name, encoder=None, explicit=False, has_weights=False):
    """Return a classifier of padded ids with random weights; its mask is implicit or an input."""
    kind = KINDS[name]
    ids, mask = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="bool")
    words = keras.layers.Embedding(9, 6, mask_zero=not explicit)(ids)
    words = words if encoder is None else encoder(words)
    arguments = {"return_attention_scores": True} if has_weights else {}
    vector = kind.call(kind.new(), words, mask if explicit else None, **arguments)
    vector, *weights = vector if has_weights else (vector,)
    if len(vector.shape) == 3:
        vector = keras.layers.GlobalAveragePooling1D()(vector)
    logits = keras.layers.Dense(3, dtype="float32")(vector)
    outputs = [logits, *weights] if has_weights else logits
    return randomized(keras.Model([ids, mask] if explicit else ids, outputs))


def randomized(model):
    random = np.random.default_rng(7)
    model.set_weights([random.normal(0, 0.5, weight.shape) for weight in model.get_weights()])
    return model


def arrays(outputs):
    return [ops.convert_to_numpy(output) for output in keras.tree.flatten(outputs)]


def assert_same(outputs, expected, atol=0.0):
    for output, array in zip(arrays(outputs), arrays(expected), strict=True):
        np.testing.assert_allclose(output, array, atol=atol, rtol=0)


def assert_padding_is_ignored(call, atol=1e-6):
    """Assert that rows of `call(ids)` don't depend on padding or other rows; return the outputs."""
    expected = arrays(call(IDS))[0]
    assert_same(call(WIDE_IDS), expected, atol)
    for row, ids in enumerate(IDS):
        assert_same(call(ids[None, ids > 0]), expected[row : row + 1], atol)
    return expected


def compiled(model, **options):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.1), loss, **options)
    return model


ROWS = {}  # name -> function; its attribute `of` lists the backends that support it


def row(function=None, of=("tensorflow", "jax", "torch")):
    if function is None:
        return functools.partial(row, of=of)
    function.of = of
    ROWS[function.__name__] = function
    return function


class Classifier(keras.Model):
    """The classifier as a subclassed model."""

    def __init__(self, name, explicit):
        super().__init__()
        self.embedding = keras.layers.Embedding(9, 6, mask_zero=not explicit)
        self.kind = KINDS[name]
        self.layer = self.kind.new()
        self.dense = keras.layers.Dense(3)

    def call(self, ids, real=None):
        vector = self.kind.call(self.layer, self.embedding(ids), real)
        if len(vector.shape) == 3:
            vector = keras.layers.GlobalAveragePooling1D()(vector)
        return self.dense(vector)


@row
def padding(name, folder):
    """All kinds of Keras models ignore padding, with implicit and with explicit masks."""
    kind = KINDS[name]
    implicit, explicit = new_model(name), new_model(name, explicit=True)
    explicit.set_weights(implicit.get_weights())
    if "," not in name:  # otherwise the output may be a sequence, whose mean ignores the mask
        expected = assert_padding_is_ignored(implicit)
        assert_same(explicit([IDS, IDS > 0]), expected, 1e-6)
        assert_padding_is_ignored(lambda ids: explicit([ids, ids > 0]))
    subclassed = Classifier(name, False), Classifier(name, True)
    for model in subclassed:
        model(IDS)
    randomized(subclassed[0])
    subclassed[1].set_weights(subclassed[0].get_weights())
    expected = assert_padding_is_ignored(subclassed[0])
    if len(implicit.layers[-2].output.shape) == 2:
        assert_same(subclassed[1](IDS, real=IDS > 0), expected, 1e-6)
    if kind.call is read:
        embedding = keras.layers.Embedding(9, 6, mask_zero=True)
        assert_padding_is_ignored(keras.Sequential([embedding, kind.new(), keras.layers.Dense(3)]))
        model = keras.Sequential([kind.new(), keras.layers.Dense(3)])
        model.supports_masking = True  # otherwise Keras warns about its mask
        whole = model(WORDS, mask=ops.convert_to_tensor(IDS > 0))
        assert_same(model(WORDS[1:2, :2]), whole[1:2], 1e-6)


@row
def scores(name, folder):
    """`return_attention_scores` works in a Functional model: rows sum to 1, and padding gets 0."""
    if not KINDS[name].has_weights:
        return
    model = new_model(name, has_weights=True)
    assert model.outputs[1].dtype == "float32"
    logits, weights = arrays(model(WIDE_IDS))
    assert_same(new_model(name)(WIDE_IDS), logits, 1e-6)
    real = np.broadcast_to(
        (WIDE_IDS > 0)[:, None] if weights.ndim == 3 else WIDE_IDS > 0, weights.shape
    )
    assert not weights[~real].any()
    if weights.ndim == 3:
        weights = weights[WIDE_IDS > 0]  # real steps only
    sums = weights.sum(axis=-1)
    assert np.all(sums < 1 + 1e-5) and np.all(sums > 1e-3)
    if "local" not in name:
        np.testing.assert_allclose(sums, 1, atol=1e-5)


def _precision(name, policy):
    exact = new_model(name)
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        model = new_model(name)
    finally:
        keras.config.set_dtype_policy(before)
    model.set_weights(exact.get_weights())
    assert {weight.dtype for weight in model.weights} == {"float32"}
    logits = assert_padding_is_ignored(model, 0.02)
    assert_same(logits, exact(IDS), 0.1)
    history = compiled(model).fit(IDS, LABELS, epochs=3, verbose=0).history["loss"]
    assert np.all(np.isfinite(history)) and history[-1] < history[0]
    assert all(np.all(np.isfinite(weight)) for weight in model.get_weights())


@row
def mixed_float16(name, folder):
    _precision(name, "mixed_float16")


@row
def mixed_bfloat16(name, folder):
    _precision(name, "mixed_bfloat16")


@row(of=("tensorflow",))
def jit_compile(name, folder):
    """XLA, the default on JAX, gives the same results as eager execution, for each length."""
    model, eager = new_model(name), new_model(name)
    compiled(model, jit_compile=True)
    compiled(eager, run_eagerly=True)
    for ids in (IDS, WIDE_IDS):
        assert_same(model.predict(ids, verbose=0), eager(ids), 1e-5)
        losses = [
            one.fit(ids, LABELS, epochs=2, verbose=0).history["loss"] for one in (model, eager)
        ]
        np.testing.assert_allclose(*losses, atol=1e-5)


@row
def fit(name, folder):
    """When compiled with defaults, the loss falls and each weight that has an effect changes."""
    model = compiled(new_model(name))
    before = model.get_weights()
    history = model.fit(IDS, LABELS, epochs=3, verbose=0).history["loss"]
    assert history[-1] < history[0]
    fixed = [
        weight.path
        for weight, old in zip(model.weights, before, strict=True)
        if np.array_equal(ops.convert_to_numpy(weight), old)
    ]
    # without effect for a single query: the query's part of a softmax, and coverage
    assert not fixed or name in ("Attention, pair-tanh", "BahdanauAttention, coverage"), fixed


@row
def saved(name, folder):
    model = compiled(new_model(name))
    expected = model(IDS)
    model.save(folder / "model.keras")
    assert_same(keras.saving.load_model(folder / "model.keras")(IDS), expected)
    model.save_weights(folder / "model.weights.h5")
    copy = new_model(name)
    copy.set_weights([0 * weight for weight in copy.get_weights()])
    copy.load_weights(folder / "model.weights.h5")
    assert_same(copy(IDS), expected)


@row
def copied(name, folder):
    """`clone_model` and `model_from_json` create the same graph with separate weights."""
    model = new_model(name)
    for copy in (
        keras.models.clone_model(model),
        keras.models.model_from_json(model.to_json()),
    ):
        assert [weight.shape for weight in copy.weights] == [
            weight.shape for weight in model.weights
        ]
        copy.set_weights(model.get_weights())
        assert_same(copy(IDS), model(IDS))
        randomized(copy).set_weights([0 * weight for weight in copy.get_weights()])
        assert np.any(arrays(model(IDS))[0])


@row
def summary(name, folder):
    model, lines = new_model(name), []
    model.summary(print_fn=lines.append)
    text = "".join(map(str, lines))
    assert type(KINDS[name].new()).__name__[:10] in text
    (layer,) = [layer for layer in model.layers if isinstance(layer, type(KINDS[name].new()))]
    assert layer.count_params() == sum(int(np.prod(weight.shape)) for weight in layer.weights)


@row
def time_distributed(name, folder):
    """A sentence model works in `TimeDistributed`, as in a hierarchical attention network."""
    sentence = new_model(name)
    documents = keras.Input((2, None), dtype="int32")
    vectors = keras.layers.TimeDistributed(sentence)(documents)
    model = keras.Model(documents, vectors)
    ids = np.stack([IDS, IDS[[1, 2, 0]]], axis=1)
    expected = np.stack([arrays(sentence(ids[:, index]))[0] for index in range(2)], axis=1)
    assert_same(model(ids), expected, 1e-6)
    assert_same(model.predict(ids, verbose=0), expected, 1e-5)
    kind = KINDS[name]
    if kind.call is read:  # the layer itself, with a mask of the words in each sentence
        layer, words = kind.new(), keras.layers.Embedding(9, 6, mask_zero=True)(documents)
        model = keras.Model(documents, [keras.layers.TimeDistributed(layer)(words), words])
        vectors, words = arrays(model(ids))
        for index in range(2):
            expected = layer(words[:, index], mask=ops.convert_to_tensor(ids[:, index] > 0))
            assert_same(vectors[:, index], expected, 1e-6)


@row
def after_bidirectional(name, folder):
    encoder = keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True))
    model = new_model(name, encoder)
    expected = assert_padding_is_ignored(model)
    model.save(folder / "model.keras")
    assert_same(keras.saving.load_model(folder / "model.keras")(IDS), expected)


@row
def weights_of_classes_and_samples(name, folder):
    logits = arrays(new_model(name)(IDS))[0].astype("float64")
    losses = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(3), LABELS]
    classes, samples = {0: 2.0, 1: 0.5, 2: 0.0}, np.array([0.0, 3.0, 1.0])
    for options, factors in (
        ({"class_weight": classes}, [classes[label] for label in LABELS]),
        ({"sample_weight": samples}, samples),
    ):
        history = compiled(new_model(name)).fit(IDS, LABELS, verbose=0, **options).history
        np.testing.assert_allclose(history["loss"], [np.mean(losses * factors)], atol=1e-5)


class Batches(keras.utils.PyDataset):
    """Batches of different lengths and sizes."""

    parts = (IDS, IDS[1:, :2], WIDE_IDS[:1])

    def __len__(self):
        return len(self.parts)

    def __getitem__(self, index):
        return self.parts[index]


@row
def batches_of_lengths(name, folder):
    model = new_model(name)
    whole = arrays(model(IDS))[0]
    expected = np.concatenate([whole, whole[1:], whole[:1]])
    assert_same(model.predict(Batches(), verbose=0), expected, 1e-5)


@row(of=("tensorflow",))
def saved_model(name, folder):
    """`model.export` writes a SavedModel that accepts any batch size and length."""
    import tensorflow as tf

    model = new_model(name)
    model.export(folder / "saved_model", format="tf_saved_model", verbose=False)
    loaded = tf.saved_model.load(folder / "saved_model")
    for ids in (IDS, WIDE_IDS[:2]):
        assert_same(loaded.serve(ids), model(ids), 1e-6)


@row
def quantized(name, folder, mode="int8"):
    """Predictions are close to those in float32, and the same after loading."""
    model = new_model(name)
    exact = arrays(model(IDS))[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras warns about each layer that it skips
        model.quantize(mode)
    expected = assert_padding_is_ignored(model, 1e-5)
    assert_same(expected, exact, 0.1)
    assert not np.array_equal(expected, exact)
    parts = [layer for layer in model._flatten_layers() if layer.quantization_mode]
    model.save(folder / "quantized.keras")
    loaded = keras.saving.load_model(folder / "quantized.keras")
    assert_same(loaded(IDS), expected)
    assert len(parts) == len([one for one in loaded._flatten_layers() if one.quantization_mode])
    loaded.save(folder / "again.keras")
    assert_same(keras.saving.load_model(folder / "again.keras")(IDS), expected)
    assert_same(loaded.predict(WIDE_IDS, verbose=0), expected, 1e-5)


def input_gradient(function, inputs):
    """Return the gradient of the sum of squared outputs with respect to a function's inputs."""

    def total(tensor):
        return ops.sum(ops.square(ops.cast(function(tensor), "float32")))

    if BACKEND == "tensorflow":
        import tensorflow as tf

        tensor = tf.constant(inputs)
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            loss = total(tensor)
        return tape.gradient(loss, tensor).numpy()
    if BACKEND == "jax":
        import jax

        return np.asarray(jax.grad(total)(inputs))
    import torch

    tensor = torch.tensor(inputs, requires_grad=True)
    total(tensor).backward()
    return tensor.grad.numpy()


@row
def saliency(name, folder):
    """The gradient for the inputs is finite, zero at padding, and nonzero elsewhere."""
    kind, mask = KINDS[name], ops.convert_to_tensor(IDS > 0)
    layer = kind.new()
    kind.call(layer, WORDS, mask)
    randomized(layer)

    def last(words):
        output = kind.call(layer, words, mask)
        return output if len(output.shape) == 2 else output[:, 0]

    gradient = input_gradient(last, WORDS)
    assert np.all(np.isfinite(gradient)) and not np.any(gradient[IDS == 0])
    real = np.any(gradient, axis=-1)[IDS > 0]
    assert real.all() or (kind.call is decode and real.any())


@row
def image_grid(name, folder):
    """Layers attend to the cells of an image and return a map of attention weights."""
    kind = KINDS[name]
    if not kind.has_weights:
        return
    image = keras.Input((None, None, 3))
    cells = keras.layers.Conv2D(6, 2, strides=2, data_format="channels_last")(image)
    vector = keras.layers.GlobalAveragePooling2D(data_format="channels_last")(cells)
    inputs = {
        attend: (vector, cells),
        read: (cells,),
        decode: (keras.layers.RepeatVector(2)(vector), cells),
    }[kind.call]
    outputs = kind.new()(*inputs, return_attention_scores=True)
    model = randomized(keras.Model(image, outputs))
    images = np.random.default_rng(1).normal(size=(2, 4, 6, 3)).astype("float32")
    _, weights = arrays(model(images))
    assert weights.shape[-2:] == (2, 3) and weights.shape[0] == 2
    if "local" not in name:
        np.testing.assert_allclose(weights.sum(axis=(-2, -1)), 1, atol=1e-5)


def main(folder, names, rows):
    """Return a dictionary from row and layer to the traceback of its error."""
    errors = {}
    for name in rows:
        for kind in names:
            try:
                with tempfile.TemporaryDirectory(dir=folder) as path:
                    ROWS[name](kind, Path(path))
            except Exception:
                errors[f"{name} of {kind}"] = traceback.format_exc(limit=-4)
    return errors


if __name__ == "__main__":
    rows = [name for name, function in ROWS.items() if BACKEND in function.of]
    chosen = sys.argv[2:] or rows
    sys.stdout.write(json.dumps(main(sys.argv[1], [*KINDS][:FIRST], chosen)))
