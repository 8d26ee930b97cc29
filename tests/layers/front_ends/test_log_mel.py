"""Log-mel spectra against NumPy in float64 and against scipy's and librosa's."""

import functools

import modes
import numpy as np
import pytest

from keras_bahdanau.layers.front_ends.log_mel import frames_of, hann, log_mel, mel_filters

RANDOM = np.random.default_rng(0)
NOISE = RANDOM.normal(0, 0.1, (2, 1000)).astype("float32")
LENGTHS = np.array([7, 7], "int32")


def of_bands(bands):
    return functools.partial(log_mel, bands=bands)


def slaney(hertz):
    """Slaney's scale: 3 mel for 200 Hz up to 1 kHz, then 27 for each factor of 6.4."""
    above = 15 + 27 * np.log(np.maximum(hertz, 1000) / 1000) / np.log(6.4)
    return np.where(hertz < 1000, 3 * hertz / 200, above)


def spectra(samples, bands):
    """The equations in float64, one frame after another."""
    samples = np.append(np.float64(samples), np.zeros(560))
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
    starts = range(0, len(samples) - 560, 160)
    powers = [np.abs(np.fft.fft(window * samples[t : t + 400], 512)[:257]) ** 2 for t in starts]
    fine = np.linspace(0, 8000, 800_001)
    edges = np.interp(np.linspace(0, slaney(8000.0), bands + 2), slaney(fine), fine)
    frequencies = np.arange(257) * 31.25
    filters = [
        np.interp(frequencies, edges[b : b + 3], [0, 2 / (edges[b + 2] - edges[b]), 0])
        for b in range(bands)
    ]
    energies = np.array(powers) @ np.transpose(filters)
    return np.log(np.maximum(energies / 1e-10, max(1, energies.max() / 1e2)))


@pytest.mark.parametrize("bands", [80, 23])
def test_spectra_are_those_of_the_equations(run, bands):
    found = run(of_bands(bands), NOISE, LENGTHS)
    expected = [spectra(row, bands) for row in NOISE]
    assert found.shape == (2, 7, bands) and found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_powers_are_those_of_scipy():
    signal = pytest.importorskip("scipy.signal")
    _, _, powers = signal.spectrogram(
        np.float64(NOISE[0]),
        fs=16_000,
        window=np.float64(hann()),
        nperseg=400,
        noverlap=240,
        nfft=512,
        detrend=False,
        scaling="spectrum",
        mode="complex",
    )
    energies = (np.abs(powers * 200).T ** 2) @ mel_filters(80)  # scaled by the window's sum
    found = modes.eager(of_bands(80), NOISE[:1], LENGTHS[:1])[0, : len(energies)]
    assert len(energies) == 4  # whole windows
    np.testing.assert_allclose(found, np.log(energies / 1e-10), atol=1e-4)


@pytest.mark.slow
def test_filters_are_those_of_librosa():
    filters = pytest.importorskip("librosa.filters")
    expected = filters.mel(sr=16_000, n_fft=512, n_mels=80)
    np.testing.assert_allclose(mel_filters(80), expected.T, atol=1e-7)


def test_every_filter_of_the_usual_number_sees_some_frequency():
    assert (mel_filters(80).max(axis=0) > 0.1 * mel_filters(80).max()).sum() >= 40
    assert (mel_filters(80).sum(axis=0) > 0).all()
    # area 1 Hz, sampled each 31.25 Hz: narrow triangles less exactly
    np.testing.assert_allclose(mel_filters(80).sum(axis=0)[40:], 1 / 31.25, rtol=0.02)


@pytest.mark.parametrize(
    ("samples", "frames"), [(0, 0), (1, 1), (159, 1), (160, 1), (161, 2), (48_000, 300)]
)
def test_any_sample_makes_a_frame(samples, frames):
    assert frames_of(samples) == frames
    values = np.ones((1, samples), "float32")
    found = modes.eager(of_bands(5), values, np.array([frames], "int32"))
    assert found.shape == (1, frames, 5) and np.isfinite(found).all()


def test_silence_is_zero_and_a_tone_stands_out_by_at_most_80_decibels(run):
    tone = np.sin(2 * np.pi * 1000 * np.arange(1600) / 16_000)
    values = np.stack([np.zeros(1600), tone]).astype("float32")
    silence, loud = run(of_bands(80), values, np.array([10, 10], "int32"))
    assert not silence.any()
    assert np.ptp(loud) == pytest.approx(np.log(1e8), rel=1e-5)
    centres = np.arange(1, 81) * slaney(8000.0) / 81
    np.testing.assert_array_equal(loud[:7].argmax(axis=1), np.abs(centres - 15).argmin())
