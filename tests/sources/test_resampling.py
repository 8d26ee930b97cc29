"""Resampling to 16 kHz preserves tones at any rate."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.sources.wav import resampled, resampled_length

RATES = (1000, 4001, 8000, 11_025, 15_999, 16_001, 22_050, 32_000, 44_100, 48_000, 191_999, 192_000)


@tf.function(
    input_signature=[tf.TensorSpec((None,), tf.float32), tf.TensorSpec((), tf.int64)],
    autograph=False,
)
def _resampled(values, rate):
    return resampled(values, rate)


def tone(frequency, rate, count):
    return np.sin(2 * np.pi * frequency * np.arange(count) / rate)


def at_16_khz(values, rate):
    return _resampled(values.astype("float32"), rate).numpy()


@pytest.mark.few(6)
@pytest.mark.parametrize("rate", RATES)
def test_a_tone_is_the_same_tone(rate):
    found = at_16_khz(tone(300, rate, rate // 2), rate)
    assert len(found) == -(-(rate // 2) * 16_000 // rate)
    inside = slice(1000, -1000)  # the ends ring
    expected = tone(300, 16_000, len(found))
    np.testing.assert_allclose(found[inside], expected[inside], atol=0.02)
    middle = slice(3500, 4500)
    np.testing.assert_allclose(found[middle], expected[middle], atol=5e-3)


@pytest.mark.parametrize("rate", [22_050, 48_000])
def test_a_tone_above_8_khz_is_gone(rate):
    found = at_16_khz(tone(9000, rate, rate), rate)
    assert np.abs(found[1000:-1000]).max() < 1e-3


def test_sound_of_16_khz_stays_bit_for_bit():
    values = np.random.default_rng(0).normal(size=777).astype("float32")
    np.testing.assert_array_equal(at_16_khz(values, 16_000), values)


@pytest.mark.few(6)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("count", [0, 1, 2, 17])
def test_few_samples_keep_their_place(rate, count):
    found = at_16_khz(np.ones(count), rate)
    assert len(found) == resampled_length(count, rate) == -(-count * 16_000 // rate)
    assert np.isfinite(found).all()


def test_sound_of_low_frequencies_is_that_of_scipy():
    signal = pytest.importorskip("scipy.signal")
    values = np.random.default_rng(0).normal(size=4410)
    values = signal.sosfilt(signal.butter(8, 3000, fs=44_100, output="sos"), values)
    expected = signal.resample(np.append(values, np.zeros(4410)), 3200)[:1600]
    inside = slice(200, -200)
    np.testing.assert_allclose(at_16_khz(values, 44_100)[inside], expected[inside], atol=2e-3)
