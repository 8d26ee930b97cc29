"""Log-mel spectra match NumPy in float64, SciPy and librosa."""

import functools

import modes
import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.layers.front_ends.log_mel import frames_of, hann, log_mel, mel_filters

RANDOM = np.random.default_rng(0)
NOISE = RANDOM.normal(0, 0.1, (2, 1000)).astype("float32")
LENGTHS = np.array([7, 7], "int32")


def of_bands(bands):
    return functools.partial(log_mel, bands=bands)


def slaney(hertz):
    """Slaney's scale: 3 mel per 200 Hz up to 1 kHz, then 27 mel per factor of 6.4."""
    above = 15 + 27 * np.log(np.maximum(hertz, 1000) / 1000) / np.log(6.4)
    return np.where(hertz < 1000, 3 * hertz / 200, above)


def spectra(samples, bands):
    """Return log-mel spectra in float64, computed frame by frame from the equations."""
    samples = np.append(np.float64(samples), np.zeros(560))
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
    starts = range(0, len(samples) - 560, 160)
    steps = 2**15 * window  # 16-bit scale
    powers = [np.abs(np.fft.fft(steps * samples[t : t + 400], 512)[:257]) ** 2 for t in starts]
    fine = np.linspace(0, 8000, 800_001)
    edges = np.interp(np.linspace(0, slaney(8000.0), bands + 2), slaney(fine), fine)
    frequencies = np.arange(257) * 31.25
    filters = [
        np.interp(frequencies, edges[b : b + 3], [0, 2 / (edges[b + 2] - edges[b]), 0])
        for b in range(bands)
    ]
    energies = np.array(powers) @ np.transpose(filters)
    return np.log(np.maximum(10 * energies, max(1, 10 * energies.max() / 1e8)))


@pytest.mark.parametrize("bands", [80, 23])
def test_spectra_are_those_of_the_equations(run, bands):
    found = run(of_bands(bands), NOISE, LENGTHS)
    expected = [spectra(row, bands) for row in NOISE]
    assert found.shape == (2, 7, bands) and found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.slow
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
    energies = (np.abs(powers * 200 * 2**15).T ** 2) @ mel_filters(80)  # undoes SciPy's scaling
    found = modes.eager(of_bands(80), NOISE[:1], LENGTHS[:1])[0, : len(energies)]
    assert len(energies) == 4  # only complete windows
    np.testing.assert_allclose(found, np.log(10 * energies), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("types", [None, [], [tf.float16]], ids=["float32", "int8", "float16"])
def test_a_phone_computes_the_same_with_weights_of_any_width(types):
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    specs = [tf.TensorSpec((1, 1000)), tf.TensorSpec((1,), tf.int32)]
    graph = tf.function(of_bands(80), specs, autograph=False)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([graph.get_concrete_function()])
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    if types is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.target_spec.supported_types = types
    model = interpreter.Interpreter(model_content=converter.convert())
    model.allocate_tensors()
    places = {tuple(one["shape"]): one["index"] for one in model.get_input_details()}
    model.set_tensor(places[1,], LENGTHS[:1])
    quiet = NOISE[:1] * np.float32(1e-3)
    for values in (NOISE[:1], quiet, np.zeros((1, 1000), "float32")):
        model.set_tensor(places[1, 1000], values)
        model.invoke()
        found = model.get_tensor(model.get_output_details()[0]["index"])
        np.testing.assert_allclose(found[0], spectra(values[0], 80), atol=5e-3)


@pytest.mark.slow
def test_filters_are_those_of_librosa():
    filters = pytest.importorskip("librosa.filters")
    expected = filters.mel(sr=16_000, n_fft=512, n_mels=80)
    np.testing.assert_allclose(mel_filters(80), expected.T, atol=1e-7)


def test_every_filter_of_the_usual_number_sees_some_frequency():
    assert (mel_filters(80).max(axis=0) > 0.1 * mel_filters(80).max()).sum() >= 40
    assert (mel_filters(80).sum(axis=0) > 0).all()
    # the area is 1, sampled every 31.25 Hz, which is less exact for narrow triangles
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
