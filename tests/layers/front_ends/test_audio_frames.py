"""Front end for speech: normalization, convolutions, masks, and augmentation in training."""

import functools

import keras
import modes
import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.layers import AudioFrames, Samples
from keras_bahdanau.layers.front_ends.log_mel import log_mel

RANDOM = np.random.default_rng(0)
LENGTHS = np.array([9, 4, 1, 0], "int32")
VALUES = RANDOM.normal(0, 0.1, (4, 9 * 160)).astype("float32")
REAL = np.arange(9) < LENGTHS[:, np.newaxis]
ZEROED = np.where(np.repeat(REAL, 160, axis=1), VALUES, 0)
SAMPLES = Samples(VALUES, LENGTHS)


def built(convolutions=(2, 3), bands=6, **settings):
    layer = AudioFrames(5, bands, convolutions, **settings)
    layer.build()
    for weight in layer.trainable_weights:
        weight.assign(RANDOM.normal(size=weight.shape))
    return layer


def halved(image, kernel, bias):
    """Return relu of a 3 x 3 convolution with stride 2 over an image `(time, bands, in)`."""
    wide = np.pad(image, ((1, 2), (1, 2), (0, 0)))
    rows, columns = (-(-size // 2) for size in image.shape[:2])
    return np.array(
        [
            [
                np.einsum("xyi,xyio->o", wide[2 * t : 2 * t + 3, 2 * b : 2 * b + 3], kernel) + bias
                for b in range(columns)
            ]
            for t in range(rows)
        ]
    ).clip(0)


def test_vectors_are_those_of_the_equations(run):
    layer = built()
    vectors, mask = run(layer, SAMPLES)
    weights = [np.float64(weight) for weight in layer.get_weights()]
    spectra = np.float64(modes.eager(functools.partial(log_mel, bands=6), ZEROED, LENGTHS))
    for row, length in enumerate(LENGTHS[:3]):
        y = spectra[row, :length]
        z = (y - y.mean(axis=0)) / np.sqrt(y.var(axis=0) + 0.1)
        first = halved(z[..., np.newaxis], *weights[:2])
        second = halved(first, *weights[2:4])
        expected = second.reshape(len(second), -1) @ weights[4] + weights[5]
        np.testing.assert_allclose(vectors[row, : len(second)], expected, atol=1e-3)
    np.testing.assert_array_equal(mask, REAL[:, ::4])


@pytest.mark.few(3)
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
@pytest.mark.parametrize("normalization", ["utterance", "global", "none"])
def test_what_stands_behind_a_length_reaches_no_vector_and_no_gradient(value, normalization):
    layer = built(normalization=normalization)
    wide = np.pad(VALUES, ((0, 0), (0, 777)), constant_values=value)
    wide[:, : 9 * 160][np.repeat(~REAL, 160, axis=1)] = value
    with tf.GradientTape() as tape:
        vectors, mask = layer(Samples(wide, LENGTHS), training=True)
        loss = tf.reduce_sum(tf.where(mask[..., tf.newaxis], vectors, 0) ** 2)
    plain, real = layer(SAMPLES, training=True)
    found = vectors[:, : plain.shape[1]]
    np.testing.assert_allclose(found[real], plain[real], atol=1e-4)
    for gradient in tape.gradient(loss, layer.trainable_variables):
        assert np.isfinite(gradient).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("convolutions", [(), (2,), (2, 2), (2, 2, 2)])
def test_any_length_becomes_its_part_whatever_is_padded(convolutions):
    layer = built(convolutions)
    assert layer.reduction == 2 ** len(convolutions)
    for length in range(10):
        values, lengths = VALUES[:1, : max(1, length * 160)], np.array([length], "int32")
        alone, real = modes.eager(layer, Samples(values, lengths))
        wide = np.pad(values, ((0, 0), (0, 999)), constant_values=7)
        vectors, mask = modes.eager(layer, Samples(wide, lengths))
        assert real.sum() == mask.sum() == -(-length // layer.reduction)
        np.testing.assert_allclose(vectors[mask], alone[real], atol=1e-4)


def test_silence_and_single_samples_are_finite_under_every_policy():
    values = np.zeros((3, 480), "float32")
    values[1, 0] = 1
    values[2] = 1e3
    for policy in ("float32", "mixed_float16", "mixed_bfloat16"):
        vectors, _ = built(dtype=policy)(Samples(values, np.array([3, 1, 3], "int32")))
        assert np.isfinite(np.float32(vectors)).all()


def test_spectra_keep_their_precision_in_half_of_it():
    expected, _ = built(dtype="float32").spectra(SAMPLES)
    found, _ = built(dtype="mixed_bfloat16").spectra(SAMPLES)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == tf.float32


def test_a_steady_tone_is_normalized_as_in_double_precision():
    tone = 0.5 * np.sin(2 * np.pi * 100 * np.arange(32_000) / 16_000)  # period: a frame shift
    samples = Samples(tone[np.newaxis].astype("float32"), np.array([200], "int32"))
    spectra, _ = AudioFrames(4, 20).spectra(samples)
    levels = np.array(log_mel(*samples, 20), np.float64)
    centred = levels - levels.mean(axis=1, keepdims=True)
    expected = centred / np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + 0.1)
    np.testing.assert_allclose(spectra, expected, atol=2e-6)


def test_global_statistics_are_those_of_training():
    layer = built(normalization="global")
    frames = modes.eager(functools.partial(log_mel, bands=6), ZEROED, LENGTHS)[REAL]
    layer.statistics.momentum = 0.0  # the moving average forgets its initial value
    layer(SAMPLES, training=True)
    found, mask = layer.spectra(SAMPLES)
    expected = (frames - frames.mean(axis=0)) / np.sqrt(frames.var(axis=0) + 0.1)
    np.testing.assert_allclose(found.numpy()[REAL], expected, atol=1e-3)
    trained, _ = layer.spectra(SAMPLES, training=True)  # statistics of the batch
    np.testing.assert_allclose(trained.numpy()[REAL], expected, atol=1e-3)
    assert not np.any(found.numpy()[~REAL])


def test_changes_are_for_training_only_and_follow_the_seed():
    plain = built(augmentation=0.0).spectra(SAMPLES)[0]
    layers = [built(augmentation=1.0, seed=3) for _ in "ab"]
    np.testing.assert_array_equal(layers[0].spectra(SAMPLES)[0], plain)
    first, again = (layer.spectra(SAMPLES, training=True)[0] for layer in layers)
    np.testing.assert_array_equal(first, again)
    assert first.shape[1] > plain.shape[1]
    second = layers[0].spectra(SAMPLES, training=True)[0]
    assert not np.allclose(first, second)


def test_its_config_round_trips():
    layer = AudioFrames(5, 20, [3, 4, 5], normalization="none", augmentation=0.3, seed=1)
    restored = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert restored.get_config() == layer.get_config()
    assert (restored.source_size, restored.units, restored.reduction) == (20, 5, 8)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"units": 0}, "`units`.* positive integer. Received: units=0"),
        ({"bands": 258}, "`bands`.* at most 257. Received: bands=258"),
        ({"convolutions": 32}, "must be a list of 0 to 12 widths. Received: convolutions=32"),
        ({"convolutions": [1] * 13}, "`convolutions` must be a list of 0 to 12 widths"),
        ({"convolutions": (0,)}, "`convolutions`.* positive integer. Received: .*=0"),
        ({"normalization": "batch"}, "`normalization` must be one of 'utterance', "),
        ({"augmentation": 1.5}, r"`augmentation`.* must be in \[0, 1\]. Received: .*=1.5"),
    ],
)
def test_arguments_must_be_in_range(settings, message):
    with pytest.raises(ValueError, match=message):
        AudioFrames(**{"units": 4, **settings})
