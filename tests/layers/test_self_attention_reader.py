"""The Transformer encoder matches its equations and ignores padding."""

import extract
import numpy as np
import pytest
import reference

from keras_bahdanau.layers import SelfAttentionReader
from keras_bahdanau.layers.sublayers import sinusoids

INPUTS = np.random.default_rng(6).normal(size=(2, 4, 5)).astype("float32")
LENGTHS = np.array([4, 2], "int32")
UNITS, HEADS = 6, 2


def built(**options):
    reader = SelfAttentionReader(UNITS, 2, HEADS, 7, **options)
    reader.build(INPUTS.shape)
    return extract.randomize(reader)


def dense(x, layer):
    kernel, bias = extract.arrays(layer)
    return x @ kernel + bias


def layer_norm(x, layer):
    gain, shift = extract.arrays(layer)
    centred = x - x.mean(axis=-1, keepdims=True)
    return gain * centred / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-6) + shift


def placed(time):
    """Return sin(j / 10000^(2k / units)) for all k, followed by the cosines."""
    angles = [[j / 10000 ** (2 * k / UNITS) for k in range(UNITS // 2)] for j in range(time)]
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)


def oracle(reader, rows):
    x = np.sqrt(UNITS) * dense(np.float64(rows), reader.input_projection) + placed(len(rows))
    width = UNITS // HEADS
    for block in reader.blocks:
        q, k, v = np.split(dense(layer_norm(x, block.attention_norm), block.projection), 3, axis=-1)
        heads = []
        for head in range(HEADS):
            part = slice(head * width, (head + 1) * width)
            scores = q[:, part] @ k[:, part].T / np.sqrt(width)
            heads.append(np.array([reference.softmax(row) for row in scores]) @ v[:, part])
        x = x + dense(np.concatenate(heads, axis=-1), block.output_projection)
        inner = dense(layer_norm(x, block.feed_forward_norm), block.feed_forward.inner)
        x = x + dense(np.maximum(inner, 0), block.feed_forward.outer)
    return layer_norm(x, reader.last_norm)


def test_values_are_those_of_the_equations_without_padding(run):
    reader = built()
    found = run(reader, INPUTS, LENGTHS)
    for row, length in enumerate(LENGTHS):
        expected = oracle(reader, INPUTS[row, :length])
        np.testing.assert_allclose(found[row, :length], expected, atol=1e-5)


def test_places_have_sines_and_cosines():
    np.testing.assert_allclose(sinusoids(np.arange(4), UNITS), placed(4), atol=1e-6)
    assert sinusoids(np.arange(4), 5).shape == (4, 5)


@pytest.mark.parametrize(
    ("units", "heads", "expected"), [(512, None, 8), (96, None, 1), (100, 4, 4), (12, None, 1)]
)
def test_a_head_is_64_wide_where_nothing_is_said(units, heads, expected):
    assert SelfAttentionReader(units, heads=heads).heads == expected


def test_arguments_must_be_in_range():
    with pytest.raises(ValueError, match="must divide the width.*Received: heads=5, units=12"):
        SelfAttentionReader(12, heads=5)
    with pytest.raises(ValueError, match="works only for readers with a recurrent"):
        SelfAttentionReader.stack(1, 12, "gru", 0.5, 0.0)
