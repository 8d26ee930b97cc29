"""Augmentation of speech: tones rise with the speed, and masks have the sizes in the papers."""

import functools

import keras
import modes
import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.layers.front_ends import augmentation


def seed(number=0):
    return keras.random.SeedGenerator(number)


def changed(values, lengths, strength=1.0):
    found = augmentation.change_speed(tf.constant(values), tf.constant(lengths), strength, seed())
    return [part.numpy() for part in found]


def test_a_faster_tone_is_shorter_and_higher():
    rows, samples = 40, 16_000
    tone = np.sin(2 * np.pi * 1000 * np.arange(samples) / 16_000)
    values, lengths = changed(np.tile(tone, (rows, 1)).astype("float32"), np.full(rows, 100, "i4"))
    ends = np.array([np.flatnonzero(np.abs(row) > 1e-6).max() + 1 for row in values])
    speeds = samples / ends
    assert 0.9 <= speeds.min() < 0.93 and 1.07 < speeds.max() <= 1.1
    for row, speed, length, end in zip(values, speeds, lengths, ends, strict=True):
        spectrum = np.abs(np.fft.rfft(row[:10_000] * np.hanning(10_000), 2**17))
        assert spectrum.argmax() / 2**17 * 16_000 == pytest.approx(1000 * speed, rel=2e-3)
        assert 0 <= length * 160 - end < 320 and not row[length * 160 :].any()


def test_values_are_interpolated_between_two_samples():
    ramp = np.arange(1, 1601, dtype="float32")[np.newaxis]
    (found,), (length,) = changed(ramp, np.array([10], "i4"))
    inside = found[found > 0][:1300]
    step = np.diff(inside)
    np.testing.assert_allclose(step, step.mean(), rtol=1e-2)
    assert inside[0] == 1 and 0.9 <= step.mean() <= 1.1


@pytest.mark.few(1)
@pytest.mark.parametrize("strength", [0.1, 1.0])
def test_lengths_follow_the_speed_and_fit_the_buffer(strength):
    for frames in (0, 1, 2, 7, 300):
        values = np.ones((50, max(frames, 1) * 160), "float32")
        found, lengths = changed(values, np.full(50, frames, "i4"), strength)
        low, high = frames / (1 + 0.1 * strength), frames / (1 - 0.1 * strength)
        assert (np.floor(low) <= lengths).all() and (lengths <= np.ceil(high)).all()
        assert (lengths > 0).all() == (frames > 0)
        assert lengths.max() <= found.shape[1] // 160 + 1


def kept(lengths, time, bands, strength):
    lengths = tf.constant(lengths, tf.int32)
    return augmentation.visible_parts(lengths, time, bands, strength, seed()).numpy()


@pytest.mark.few(1)
@pytest.mark.parametrize("strength", [0.5, 1.0])
def test_masks_have_the_sizes_of_the_papers(strength):
    found = kept(np.full(400, 300), 300, 80, strength)
    assert found.shape == (400, 300, 80)
    hidden_bands = ~found.any(axis=1)  # -> (rows, bands)
    hidden_times = ~found.any(axis=2)
    # two masks of up to 27 bands; 12 masks of up to 12 frames
    assert 0 < hidden_bands.sum(axis=1).max() <= 2 * 27 * strength
    assert hidden_times.sum(axis=1).max() <= 12 * 12 * strength
    assert hidden_bands.mean() == pytest.approx(1 - (1 - 27 / 160 * strength) ** 2, abs=0.04)
    assert hidden_times.mean() == pytest.approx(1 - (1 - 6 / 300 * strength) ** 12, abs=0.04)
    np.testing.assert_array_equal(~found, hidden_times[..., None] | hidden_bands[:, None])


def test_masks_lie_within_each_row():
    lengths = [0, 1, 20, 40]
    found = kept(np.repeat(lengths, 100), 40, 10, 1.0).any(axis=2).reshape(4, 100, 40)
    for length, rows in zip(lengths, found, strict=True):
        assert rows[:, length:].all()
        assert rows[:, :length].any() or not length
    assert found[:2].all()  # too short for a mask of at least one frame
    assert not found[3].all()


@pytest.mark.slow
def test_they_run_in_graphs_and_under_xla():
    values, lengths = np.ones((2, 800), "float32"), np.array([5, 3], "int32")

    seeds = [seed() for _ in range(3)]

    def augmented(values, lengths, seed):
        values, lengths = augmentation.change_speed(values, lengths, 1.0, seed)
        return values, lengths, augmentation.visible_parts(lengths, 6, 4, 1.0, seed)

    found = [
        mode(functools.partial(augmented, seed=seed), values, lengths)
        for mode, seed in zip((modes.eager, modes.graph, modes.xla), seeds, strict=True)
    ]
    for one, other, compiled in zip(*found, strict=True):
        np.testing.assert_allclose(np.float32(one), np.float32(other), atol=1e-5)
        assert compiled.shape == one.shape and np.isfinite(np.float32(compiled)).all()
