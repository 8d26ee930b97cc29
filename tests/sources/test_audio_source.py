"""Sound as a source: bytes, paths and arrays; long sounds; inputs that aren't sound."""

import io
import pathlib
import sys
import wave

import numpy as np
import pytest
import tensorflow as tf
from sources_of_each_kind import padded

from keras_bahdanau.layers import Samples
from keras_bahdanau.sources import AudioSource
from keras_bahdanau.sources.sounds import encoded, size_of, wav_of

SOURCE = AudioSource(20)
RANDOM = np.random.default_rng(0)
NOISE = RANDOM.integers(-9000, 9000, (4000, 1)).astype(np.int16)


def cut_by_the_graph(content, longest):
    graph = tf.function(lambda audio_bytes: SOURCE.cut_request(longest, audio_bytes=audio_bytes))
    _, features, truncated = graph(tf.constant(content))
    return features, truncated.numpy().tolist()


def test_features_by_hand():
    steady = np.ones((480, 2)) * [0.5, 1]
    steady[0] = 0  # otherwise it would count as silence
    sounds = [encoded(NOISE[:200], 16_000), b"", (steady, 48_000)]
    rows = SOURCE.rows(sounds)
    assert rows.lengths.tolist() == [2, 0, 1]
    values, lengths = rows.padded([0, 1, 2], (4, 3))
    assert lengths.tolist() == [2, 0, 1, 0] and values.shape == (4, 480)
    np.testing.assert_array_equal(values[0, :200], NOISE[:200, 0] / np.float32(2**15))
    np.testing.assert_allclose(values[2, 20:140], 0.75, atol=0.1)
    assert not values[0, 200:].any() and not values[[1, 3]].any() and not values[2, 160:].any()
    labels = SOURCE.labels(Samples(values, lengths))
    assert labels == [["0.00", "0.01"], [], ["0.00"], []]
    long = Samples(np.zeros((1, 160 * 1235), "float32"), np.array([1235], "int32"))
    assert SOURCE.labels(long)[0][-1] == SOURCE.label_tensor(long)[0, -1] == b"12.34".decode()


@pytest.mark.parametrize("channels, rate", [(1, 16_000), (2, 22_050)])
def test_a_path_its_bytes_and_its_samples_are_one_sound(tmp_path, channels, rate):
    array = NOISE.reshape(-1, channels)
    path = tmp_path / "a.wav"
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, 2, rate, 0, "NONE", ""))
        file.writeframes(array.tobytes())
    first, *others = padded(SOURCE, [path, path.read_bytes(), (array, rate)]).values
    for other in others:
        np.testing.assert_array_equal(other, first)
    assert SOURCE.key(path) == SOURCE.key(path.read_bytes())


def test_a_header_longer_than_the_beginning_that_is_read(tmp_path):
    whole = encoded(NOISE, 16_000)
    path = tmp_path / "a.wav"
    path.write_bytes(
        whole[:12] + b"LIST" + (50_000).to_bytes(4, "little") + bytes(50_000) + whole[12:]
    )
    assert size_of(path) == size_of(whole) == (16_000, 2, 4000)


def test_a_header_that_the_beginning_cuts_in_two():
    """The two low bytes of the size alone would give at most 2^16."""
    whole = encoded(np.resize(NOISE, (40_000, 1)), 16_000)
    for place in range(8180, 8196, 2):
        more = place - 12 - 24 - 8
        content = whole[:36] + b"LIST" + more.to_bytes(4, "little") + bytes(more) + whole[36:]
        assert content[place : place + 4] == b"data"
        assert size_of(content) == (16_000, 2, 40_000)


@pytest.mark.parametrize("kind", ["PCM_16", "PCM_24"])
def test_flac_is_its_wav_file_with_the_same_samples(tmp_path, kind):
    soundfile = pytest.importorskip("soundfile")
    path = tmp_path / "a.flac"
    soundfile.write(path, NOISE[:, 0], 16_000, subtype=kind)
    content = path.read_bytes()
    for flac in (path, content):
        SOURCE.check("sounds", [flac])
        (row,) = padded(SOURCE, [flac]).values
        np.testing.assert_array_equal(row[:4000], NOISE[:, 0] / np.float32(2**15))
    request = SOURCE.requests([path, content])
    np.testing.assert_array_equal(
        SOURCE.features(**request).values, padded(SOURCE, [path] * 2).values
    )
    _, rows, truncated = SOURCE.cut([path], 7)
    assert truncated.tolist() == [True] and rows.lengths.tolist() == [7]
    assert len(wav_of(path, 100)) < 700 < len(wav_of(path))


def test_broken_flac_is_an_empty_sound():
    soundfile = pytest.importorskip("soundfile")
    file = io.BytesIO()
    soundfile.write(file, NOISE[:, 0], 16_000, format="FLAC")
    whole = file.getvalue()
    for content in (b"fLaC", whole[:30], b"fLaC" + bytes(100), b"fLaC" + b"\xff" * 100):
        assert SOURCE.rows([content]).lengths.tolist() == [0]
        assert not padded(SOURCE, [content]).values.any()
    short = whole[: len(whole) // 2]  # its header still says 25 frames
    features = padded(SOURCE, [short])
    request = SOURCE.features(**SOURCE.requests([short]))
    assert features.lengths.tolist() == request.lengths.numpy().tolist()


def test_flac_needs_its_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(
        ImportError, match=r"soundfile.*Received: FLAC, .*'keras-bahdanau\[audio\]'"
    ):
        SOURCE.check("sounds", [b"fLaC"])
    SOURCE.check("sounds", [b"RIFF", b""])


@pytest.mark.few(1)
@pytest.mark.parametrize("rate", [16_000, 44_100])
@pytest.mark.parametrize("frames", [0, 99, 100, 101])
def test_a_long_sound_is_cut_for_itself_alone_on_both_sides(rate, frames):
    sounds = [encoded(np.resize(NOISE, (rate * frames // 100, 1)), rate), encoded(NOISE, 16_000)]
    _, rows, truncated = SOURCE.cut(sounds, 100)
    features, marked = cut_by_the_graph(sounds, 100)
    assert marked == truncated.tolist() == [frames > 100, False]
    assert rows.lengths.tolist() == features.lengths.numpy().tolist() == [min(frames, 100), 25]
    expected = rows.padded(np.arange(2), (2, max(25, min(frames, 100))))
    np.testing.assert_array_equal(features.values, expected.values)


def test_a_sound_of_many_bytes_is_cut_too():
    sound = encoded(np.resize(NOISE, (192_000 // 100 * 8, 32)), 192_000)  # 80 ms
    _, rows, truncated = SOURCE.cut([sound], 10)
    features, marked = cut_by_the_graph([sound], 10)
    # 7,680 bytes for each of 10 positions, which is 1,200 samples of 64 bytes.
    assert rows.lengths.tolist() == features.lengths.numpy().tolist() == [1]
    assert marked == truncated.tolist() == [True]
    np.testing.assert_array_equal(features.values, rows.padded([0], (1, 1)).values)


def test_hostile_samples_become_numbers_that_a_model_can_read():
    values = np.array([[np.nan, np.inf, -1e30, 0.5], [1, 2, 3, 4]], "float32")
    found = SOURCE.features_from(samples=values, lengths=np.array([9, -3], "int32"))
    assert found.values.shape == (2, 160) and found.lengths.numpy().tolist() == [1, 0]
    assert found.values.numpy()[0, :5].tolist() == [0, 0, -1000, 0.5, 0]


def test_its_settings_reach_the_front_end():
    source = AudioSource(13, normalization="global", longest=77)
    front_end = source.front_end(6, (3,), 0.5)
    assert (front_end.bands, front_end.normalization) == (13, "global")
    assert (front_end.reduction, front_end.augmentation, source.longest) == (2, 0.5, 77)
    assert SOURCE.front_end(6).reduction == 4 and source != SOURCE == AudioSource(20)
    assert source.limits(77) == {"max_source_length": 77, "max_source_bytes": 77 * 7680}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bands": 0}, "`bands`.* positive integer"),
        ({"normalization": "batch"}, "`normalization` must be one of"),
        ({"longest": 0}, r"`longest` must be an integer in \[1, 100000\]"),
    ],
)
def test_settings_must_be_in_range(settings, message):
    with pytest.raises(ValueError, match=message):
        AudioSource(**settings)


@pytest.mark.parametrize(
    ("one", "error", "received"),
    [
        ("a.wav", TypeError, r"Received: 'a.wav'. Pass pathlib.Path"),
        (np.zeros(5), TypeError, r"a pair \(array, rate\). Received: array"),
        (None, TypeError, "Received: None"),
        (
            pathlib.Path("no such file"),
            ValueError,
            "must be the path of a file. Received: 'no such",
        ),
        ((np.zeros(5),), TypeError, "a pair of an array"),
        ((np.zeros(5), 16_000.0), TypeError, "an integer sampling rate"),
        ((np.zeros((5, 2, 2)), 16_000), TypeError, "a pair of an array"),
        ((np.zeros(5, complex), 16_000), TypeError, "a pair of an array"),
        ((np.zeros(5, np.int64), 16_000), TypeError, "integers as in a WAV file"),
        ((np.zeros(5), 0), ValueError, "from 1000 to 192000 samples per second.*rate=0"),
        ((np.zeros((2, 500)), 16_000), ValueError, r"shape=\(2, 500\). Check that time is the"),
    ],
)
def test_what_is_no_sound_is_refused(one, error, received):
    with pytest.raises(error, match=received):
        SOURCE.check("sounds", [b"", one])


@pytest.mark.parametrize("one", [b"RIFF", pathlib.Path("a.wav"), "a.wav"])
def test_one_sound_is_no_list(one):
    with pytest.raises(TypeError, match="`sounds` must be a list of sounds.* Put it in a list"):
        SOURCE.check("sounds", one)
