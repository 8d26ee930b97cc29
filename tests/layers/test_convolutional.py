"""ConvolutionalReader matches its equations, ignores padding, and accepts long sources."""

import json

import extract
import modes
import numpy as np
import pytest
import reference

from keras_bahdanau.layers.readers.convolutional import ConvolutionalReader

LENGTHS = np.array([5, 1, 3, 0], "int32")
MASK = np.arange(5) < LENGTHS[:, None]
INPUTS = np.random.default_rng(7).normal(size=(4, 5, 3)).astype("float32")


def built(**kwargs):
    reader = ConvolutionalReader(4, **{"positions": 8, **kwargs})
    reader.build(INPUTS.shape)
    return extract.randomize(reader)


def convolve(x, kernel, bias):
    """Convolve with a kernel that is centred on each token; both ends are padded with zeros."""
    width = len(kernel)
    before = (width - 1) // 2
    padded = np.pad(x, ((before, width - 1 - before), (0, 0)))
    return np.array(
        [sum(padded[j + k] @ kernel[k] for k in range(width)) + bias for j in range(len(x))]
    )


def expected(reader, inputs):
    """Return the outputs for one sentence without padding."""
    W, b = extract.arrays(reader.input_projection)
    places = np.asarray(reader.table, "float64")[: len(inputs)]
    x = (inputs + places) @ W + b
    for layer in reader.convolutions:
        convolved = convolve(x, *extract.arrays(layer))
        if reader.activation == "tanh":
            x = np.tanh(convolved + x)
        else:
            content, gate = np.split(convolved, 2, axis=-1)
            x = (content * reference.sigmoid(gate) + x) / np.sqrt(2)
    return x


@pytest.mark.few(3)
@pytest.mark.parametrize("activation", ["glu", "tanh"])
@pytest.mark.parametrize("kernel_size", [1, 2, 3])
def test_each_sentence_is_read_as_if_it_were_alone(run, activation, kernel_size):
    reader = built(activation=activation, kernel_size=kernel_size, depth=3)
    found = run(reader, INPUTS, LENGTHS)
    for row, length in enumerate(LENGTHS[:3]):
        np.testing.assert_allclose(
            found[row, :length], expected(reader, INPUTS[row, :length]), atol=1e-5
        )


@pytest.mark.parametrize("value", [1e3, np.nan])
def test_padding_means_nothing(run, value):
    reader = built(depth=3)
    dirty = np.where(MASK[..., None], INPUTS, value)
    wide = np.pad(dirty, ((0, 0), (0, 9), (0, 0)), constant_values=value).astype("float32")
    found = run(reader, wide, LENGTHS)[:, :5]
    np.testing.assert_allclose(found[MASK], run(reader, INPUTS, LENGTHS)[MASK], atol=1e-5)


def test_places_beyond_the_last_known_one_share_its_embedding(run):
    reader = built(positions=2, kernel_size=1)
    same = np.tile(INPUTS[:, :1], (1, 5, 1))
    values = run(reader, same, LENGTHS)
    assert not np.allclose(values[0, 0], values[0, 1])
    np.testing.assert_allclose(values[0, 2:], np.tile(values[0, 1], (3, 1)), atol=1e-6)


def test_it_ends_with_the_mean(run):
    reader = built()
    values = run(reader, INPUTS, LENGTHS)
    means = [values[row, :length].mean(axis=0) for row, length in enumerate(LENGTHS[:3])]
    np.testing.assert_allclose(run(reader.last, values, MASK), [*means, np.zeros(4)], atol=1e-6)


def test_dropout_is_for_training_only():
    reader = built(dropout=0.5)
    plain = modes.eager(reader, INPUTS, LENGTHS)
    np.testing.assert_array_equal(reader(INPUTS, LENGTHS, training=False), plain)
    assert not np.allclose(reader(INPUTS, LENGTHS, training=True), plain)


def test_it_runs_under_xla():
    reader = built(depth=2)
    plain = modes.eager(reader, INPUTS, LENGTHS)
    np.testing.assert_allclose(modes.xla(reader, INPUTS, LENGTHS), plain, atol=1e-5)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "bfloat16"])
def test_half_precision_is_near(policy):
    found = built(depth=2, dtype=policy)(INPUTS, LENGTHS)
    assert found.dtype == policy.removeprefix("mixed_")
    plain = built(depth=2)(INPUTS, LENGTHS)
    np.testing.assert_allclose(np.float32(found)[MASK], plain[MASK], atol=0.2)


def test_its_config_round_trips():
    reader = ConvolutionalReader(4, 2, 5, "tanh", 9, 0.25, name="mine")
    config = json.loads(json.dumps(reader.get_config()))
    assert ConvolutionalReader.from_config(config).get_config() == reader.get_config()
    assert reader.compute_output_shape((None, None, 3)) == (None, None, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"units": 0}, "`units`.* positive integer. Received: units=0"),
        ({"depth": 1.0}, "`depth`.* positive integer. Received: depth=1.0"),
        ({"kernel_size": 0}, "`kernel_size`.* positive integer. Received: kernel_size=0"),
        ({"positions": -1}, "`positions`.* positive integer. Received: positions=-1"),
        ({"activation": "relu"}, "`activation` must be one of 'glu', 'tanh'."),
        ({"dropout": 1}, r"`dropout`.* must be in \[0, 1\). Received: dropout=1"),
    ],
)
def test_arguments_must_be_in_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        ConvolutionalReader(**{"units": 4, **arguments})
