"""WAV files in a graph: every sample format, as read by Python's `wave`, and damaged files."""

import io
import struct
import wave

import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.sources.wav import WavFormat, wav_format, wav_samples


@tf.function(input_signature=[tf.TensorSpec((), tf.string)], autograph=False)
def _read(content):
    form = wav_format(content, tf.cast(tf.strings.length(content), tf.int64))
    return form, wav_samples(content, form, form.frames)


def read(content):
    """Return (`WavFormat` with integers, mean of the channels) for the bytes of a file."""
    form, values = _read(content)
    return WavFormat(*(int(part) for part in form)), values.numpy()


def chunk(name, content, size=None):
    declared = struct.pack("<I", len(content) if size is None else size)
    return name + declared + content + b"\0" * (len(content) % 2)


def form(tag=1, channels=1, rate=16_000, bits=16, more=b"", block=None):
    block = channels * -(-bits // 8) if block is None else block
    numbers = (tag, channels, rate, rate * block % 2**32, block % 2**16, bits)
    return chunk(b"fmt ", struct.pack("<HHIIHH", *numbers) + more)


def riff(*chunks, size=None):
    return chunk(b"RIFF", b"WAVE" + b"".join(chunks), size)


DATA = chunk(b"data", np.array([1, -2, 3], "<i2").tobytes())
VALUES = np.array([1, -2, 3]) / 2**15


@pytest.mark.few(6)
@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2, 5])
def test_files_of_whole_numbers_that_python_writes(width, channels):
    rows = np.random.default_rng(width).integers(-(2 ** (8 * width - 1)), 2 ** (8 * width - 1), 35)
    rows[:2] = [-(2 ** (8 * width - 1)), 2 ** (8 * width - 1) - 1]
    unsigned = rows + 128 if width == 1 else rows  # in 8 bits, zero is 128
    numbers = b"".join(int(n).to_bytes(width, "little", signed=width > 1) for n in unsigned)
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((channels, width, 11_025, 0, "NONE", ""))
        writer.writeframes(numbers)
    found, values = read(file.getvalue())
    frames = 35 // channels
    assert (found.rate, found.channels, found.width, found.frames) == (
        *(11_025, channels, width),
        frames,
    )
    expected = rows[: frames * channels].reshape(frames, channels) / 2.0 ** (8 * width - 1)
    np.testing.assert_allclose(values, expected.mean(axis=1), atol=2e-7)
    assert values.dtype == np.float32


@pytest.mark.few(6)
@pytest.mark.parametrize("kind", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
@pytest.mark.parametrize("container", ["WAV", "WAVEX", "RF64"])
def test_files_that_libsndfile_writes(kind, container):
    soundfile = pytest.importorskip("soundfile")
    rows = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    file = io.BytesIO()
    soundfile.write(file, rows, 44_100, subtype=kind, format=container)
    expected, _ = soundfile.read(io.BytesIO(file.getvalue()))
    found, values = read(file.getvalue())
    assert (found.rate, found.channels, found.frames) == (44_100, 2, 50)
    np.testing.assert_allclose(values, expected.mean(axis=1), atol=1e-6)


EXTENSIBLE = form(0xFFFE, more=struct.pack("<HHIH", 22, 16, 4, 1) + bytes(14))
WHOLE = {
    "as usual": riff(form(), DATA),
    "another chunk between, of odd size": riff(form(), chunk(b"LIST", b"odd"), DATA),
    "the data first": riff(DATA, form()),
    "a second form and second data, which do not count": riff(form(), DATA, form(bits=8), DATA),
    "a size of 0 for the whole": riff(form(), DATA, size=0),
    "a size of 4 GB for the whole": riff(form(), DATA, size=2**32 - 1),
    "4 GB of data": riff(form(), chunk(b"data", DATA[8:], 2**32 - 1)),
    "half a number at the end": riff(form(), chunk(b"data", DATA[8:] + b"x")),
    "a subformat": riff(EXTENSIBLE, DATA),
    "12 bits in 16": riff(form(bits=12), DATA),
    "more behind the form": riff(form(more=b"\0\0"), DATA),
    "no padding at the end": riff(form(), chunk(b"data", DATA[8:] + b"x"))[:-1],
}


@pytest.mark.parametrize("name", WHOLE)
def test_sizes_that_lie_and_chunks_in_any_order(name):
    found, values = read(WHOLE[name])
    assert found.frames == 3
    np.testing.assert_allclose(values, VALUES)


def test_a_size_that_counts_the_header_in_is_read_and_a_file_that_was_cut_is_not():
    whole = WHOLE["as usual"]
    frames = [read(whole[:size])[0].frames for size in range(len(whole) + 1)]
    assert frames == [0] * 46 + [1, 1, 2, 2, 3]
    header, data = whole[:40], DATA[8:]
    for declared, expected in ((len(data) + 44, 3), (len(data) + 45, 0), (10**6, 0)):
        assert read(header + struct.pack("<I", declared) + data)[0].frames == expected


@pytest.mark.parametrize("size", [0, 2**32 - 1, 2**31, 2**31 - 1, 0x7FFFF000, 0x7FFFFFFF - 36])
def test_the_size_of_a_stream_is_all_that_follows(size):
    found, values = read(riff(form(), chunk(b"data", DATA[8:], size)))
    assert found.frames == 3
    np.testing.assert_allclose(values, VALUES)
    if not size:
        assert read(riff(form(), chunk(b"data", b"", 0), chunk(b"LIST", b"abcd")))[0].frames == 0


@pytest.mark.parametrize("between", [b"odd", b"other"])
def test_an_odd_chunk_needs_no_padding(between):
    unpadded = chunk(b"LIST", between)[:-1]
    for chunks in ((form(), unpadded, DATA), (unpadded, form(), chunk(b"bext", b"1"), DATA)):
        assert read(riff(*chunks))[1].tolist() == VALUES.tolist()


@pytest.mark.parametrize(
    ("bits", "block", "shift"), [(24, 4, 16), (20, 3, 8), (20, 4, 16), (12, 2, 0), (16, 4, 16)]
)
def test_numbers_in_a_wider_block_count_from_their_high_bytes(bits, block, shift):
    numbers = np.array([1, -2, 3, -30_000], "int64") << shift
    data = b"".join(int(number).to_bytes(block, "little", signed=True) for number in numbers)
    stereo = riff(form(bits=bits, channels=2, block=2 * block), chunk(b"data", data * 2))
    assert read(stereo)[0].frames == 4
    found, values = read(riff(form(bits=bits, block=block), chunk(b"data", data)))
    assert (found.width, found.frames) == (block, 4)
    np.testing.assert_allclose(values, np.array([1, -2, 3, -30_000]) / 2**15, atol=1e-9)


def test_a_wide_file_has_its_size_in_a_chunk_of_its_own():
    def wide(size, name=b"RF64"):
        sizes = chunk(b"ds64", struct.pack("<QQQI", 0, size, 3, 0))
        data = chunk(b"data", DATA[8:], 2**32 - 1)
        behind = chunk(b"LIST", b"is no sound")
        return name + b"\xff" * 4 + b"WAVE" + sizes + form() + data + behind

    for name in (b"RF64", b"BW64"):
        assert read(wide(6, name))[1].tolist() == VALUES.tolist()
    assert read(wide(10**10))[0].frames == 0  # 10 GB, of which the rest was cut off


NOT_READ = {
    "nothing": b"",
    "zeros": bytes(100),
    "another form": b"RIFX" + WHOLE["as usual"][4:],
    "another content": b"RIFF\0\0\0\0AVI " + WHOLE["as usual"][12:],
    "no form": riff(DATA),
    "no data": riff(form()),
    "a short form": riff(chunk(b"fmt ", b"\1\0\1\0"), DATA),
    "no channels": riff(form(channels=0), DATA),
    "65 channels": riff(form(channels=65), DATA),
    "0 Hz": riff(form(rate=0), DATA),
    "999 Hz": riff(form(rate=999), DATA),
    "192,001 Hz": riff(form(rate=192_001), DATA),
    "4 GHz": riff(form(rate=2**32 - 1), DATA),
    "no bits": riff(form(bits=0), DATA),
    "a block of no whole number": riff(form(bits=16, channels=2, block=5), DATA),
    "a block narrower than its bits": riff(form(bits=24, block=2), DATA),
    "floats in a wider block": riff(form(3, bits=32, block=8), DATA),
    "40 bits": riff(form(bits=40), DATA),
    "65,535 bits": riff(form(bits=65_535), DATA),
    "floats of 16 bits": riff(form(3), DATA),
    "mu-law": riff(form(7, bits=8), DATA),
    "a subformat that is missing": riff(form(0xFFFE), DATA),
    "a chunk of 4 GB before the data": riff(form(), chunk(b"LIST", b"", 2**32 - 1), DATA),
    "300 chunks before the data": riff(form(), *[chunk(b"none", b"")] * 300, DATA),
}


@pytest.mark.parametrize("name", NOT_READ)
def test_what_is_no_such_file_has_no_samples(name):
    found, values = read(NOT_READ[name])
    assert found.frames == 0 and values.shape == (0,)


@pytest.mark.parametrize("kind", ["<f4", "<f8"])
def test_floats_that_are_no_sound_are_bounded(kind):
    with np.errstate(over="ignore"):
        numbers = np.array([np.nan, np.inf, -np.inf, 1e300, -1e30, 0.5]).astype(kind)
    bits = numbers.itemsize * 8
    _, values = read(riff(form(3, bits=bits), chunk(b"data", numbers.tobytes())))
    assert values.tolist() == [0, 0, 0, 0, -1000, 0.5]
