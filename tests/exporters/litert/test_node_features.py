"""The JavaScript programs read files into the same features as in training."""

import base64
import json
import math
import random
import shutil
import struct
import subprocess
import wave
import zlib
from pathlib import Path

import numpy as np
import pytest
from device_files import (
    card_of,
    clear_colour_of_16_bits,
    damaged,
    float_file,
    image_file,
    other_images,
    other_sounds,
    png_of,
    sound_file,
    wrong_sounds,
)
from PIL import Image

from keras_bahdanau.sources import AudioSource, ImageSource, InkSource
from keras_bahdanau.sources.ink_source import pen_frames

PROGRAM = Path(__file__).parents[2] / "support" / "features.mjs"
IMAGES, SOUNDS, INK = ImageSource(16, 48), AudioSource(20), InkSource()
DTYPES = {"pixels": np.uint8, "samples": np.float32, "values": np.float32}

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")


def features_of(source, paths, folder, longest=12):
    """Return the program's result for each file: a dictionary with arrays, or with `refused`."""
    spec = source.batch_spec(1, longest)
    named = source.named(spec)
    card = card_of(source, longest)
    card["shapes"] = {name: list(one.shape) for name, one in named.items()}
    (folder / "card").write_text(json.dumps(card))
    command = ["node", PROGRAM, folder / "card", *paths]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for one in found:
        for name in DTYPES.keys() & one.keys():
            one[name] = np.frombuffer(base64.b64decode(one[name]), DTYPES[name])
    return found


def assert_same(source, path, found, longest=12, given=None, atol=0):
    """Assert that the program computed the same features as training does.

    Samples may differ by `atol`, or by that fraction of the largest magnitude.
    """
    expected = source.rows([path if given is None else given]).padded([0], (1, longest))
    named = {name: np.asarray(array[0]) for name, array in source.named(expected).items()}
    assert found["labels"] == source.labels(expected)[0]
    assert found["lengths"] == [named.pop("lengths")]
    ((name, array),) = named.items()
    padded = np.zeros(array.size, array.dtype)
    padded[: found[name].size] = found[name]
    atol = atol * max(1, np.abs(array).max(initial=0)) if name == "samples" else atol
    np.testing.assert_allclose(padded.astype(float), array.ravel(), rtol=0, atol=atol)


def written(folder, contents, ending=""):
    paths = [folder / f"{number}{ending}" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def interlaced(image):
    """Return a PNG file of the pixels `(height, width, 3)` in the seven passes of Adam7."""
    steps = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2)]
    parts = [image[y::down, x::right] for x, y, right, down in (*steps, (0, 1, 1, 2))]
    rows = [b"\0" + row.tobytes() for part in parts if part.size for row in part]
    high, wide = image.shape[:2]
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 1)),
        (b"IDAT", zlib.compress(b"".join(rows))),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("ink", ["dark", "light"])
def test_png_files_of_the_height_have_the_pixels_of_training(channels, ink, tmp_path):
    source = ImageSource(16, 48, channels=channels, ink=ink)
    contents = [image_file(mode, 16, w) for mode in ("1", "L", "P", "RGB") for w in (1, 8, 37, 48)]
    draw = np.random.default_rng(0)
    contents += [interlaced(draw.integers(0, 256, (16, w, 3), np.uint8)) for w in (1, 3, 29)]
    paths = written(tmp_path, contents)
    for path, found in zip(paths, features_of(source, paths, tmp_path), strict=True):
        assert_same(source, path, found)


@pytest.mark.few(1)
@pytest.mark.parametrize("channels", [1, 3])
def test_images_of_any_size_have_the_pixels_of_training_but_for_rounding(channels, tmp_path):
    source, draw = ImageSource(16, 48, channels=channels), np.random.default_rng(1)
    sizes = [(1, 1), (3, 70), (70, 3), (9, 20), (33, 47), (200, 310), (16, 200), (1, 400), (400, 1)]
    images = [draw.integers(0, 256, (*size, depth), np.uint8) for size in sizes for depth in (1, 3)]
    paths = []
    for number, image in enumerate(images):
        high, wide, depth = image.shape
        form = {"width": wide, "height": high, "channels": depth}
        form["data"] = base64.b64encode(image.tobytes()).decode()
        paths.append(tmp_path / f"{number}.image")
        paths[-1].write_text(json.dumps(form))
    for image, found in zip(images, features_of(source, paths, tmp_path), strict=True):
        assert_same(source, None, found, given=image, atol=1)


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(("channels", "ink"), [(1, "dark"), (3, "light")])
def test_png_files_of_any_size_and_form_have_the_pixels_of_training(channels, ink, tmp_path):
    source = ImageSource(16, 48, channels=channels, ink=ink)
    paths = written(tmp_path, [*other_images(), clear_colour_of_16_bits()])
    for path, found in zip(paths, features_of(source, paths, tmp_path), strict=True):
        assert_same(source, path, found, atol=1)


def test_sounds_of_any_rate_width_and_channels_have_the_samples_of_training(tmp_path):
    paths = written(tmp_path, other_sounds())
    for path, found in zip(paths, features_of(SOUNDS, paths, tmp_path, 70), strict=True):
        assert_same(SOUNDS, path, found, 70, atol=2e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("ink", ["dark", "light"])
def test_transparent_pixels_show_the_paper(ink, tmp_path):
    draw = np.random.default_rng(2)
    image = draw.integers(0, 256, (16, 40, 4), np.uint8)
    form = {"width": 40, "height": 16, "channels": 4}
    form["data"] = base64.b64encode(image.tobytes()).decode()
    (tmp_path / "one.image").write_text(json.dumps(form))
    Image.fromarray(image).save(tmp_path / "one.png")
    source = ImageSource(16, 48, channels=3, ink=ink)
    (found,) = features_of(source, [tmp_path / "one.image"], tmp_path)
    assert_same(source, tmp_path / "one.png", found)


def test_sounds_have_the_samples_of_training(tmp_path):
    whole = sound_file(700)
    contents = [sound_file(count) for count in (1, 159, 160, 161, 1920)]
    contents += [sound_file(300, width=width) for width in (1, 3, 4)]
    contents += [sound_file(300, channels=2), sound_file(300, channels=3, width=3)]
    contents += [whole[:-1], whole[:-43], whole[:36] + b"LIST\3\0\0\0abc\0" + whole[36:]]
    values = np.array([0.5, -1, np.nan, np.inf, 1e30, 0.1], "<f4")
    contents += [float_file(values), float_file(values, extensible=True)]
    contents.append(float_file(values.astype("<f8")))
    paths = written(tmp_path, contents)
    for path, found in zip(paths, features_of(SOUNDS, paths, tmp_path), strict=True):
        assert_same(SOUNDS, path, found, atol=1e-6)


def test_mono_files_of_16_bits_have_the_very_samples_of_training(tmp_path):
    paths = written(tmp_path, [sound_file(1920)])
    (found,) = features_of(SOUNDS, paths, tmp_path)
    assert_same(SOUNDS, paths[0], found, atol=0)
    with wave.open(str(paths[0])) as file:
        numbers = np.frombuffer(file.readframes(1920), "<i2")
    np.testing.assert_array_equal(found["samples"] * 2**15, numbers)


def lines_of(draw, strokes, points, scale):
    """Return strokes of random lengths, as JSON-compatible lists."""
    rows = [draw.normal(size=(draw.integers(1, points + 1), 2)) * scale for _ in range(strokes)]
    return [row.cumsum(axis=0).tolist() for row in rows]


INKS = {
    "nothing": [],
    "empty strokes": [[], []],
    "a dot": [[[3, 4]]],
    "a dot drawn twice": [[[3, 4], [3, 4]]],
    "two dots": [[[0, 0]], [[5, 5]]],
    "a dot far from a line": [[[0, 0], [100, 0]], [[1e6, 3]]],
    "a plus": [[[0, 5], [10, 5]], [[5, 0], [5, 10]]],
    "points that return": [[[0, 0], [1, 0], [1, 0], [0, 0], [0, 0], [2, 2]]],
    "a step and a half": [[[0, 0], [0.225, 0]], [[0, 0], [1.775, 0]]],
    "a long stroke": [[[place, 40 * math.sin(place)] for place in range(3000)]],
    "many strokes": [[[place, 0], [place, place % 7]] for place in range(300)],
    "the largest numbers": [[[-999_999_999, 5], [999_999_999.5, 7]]],
    "tiny numbers": [[[1e-9, 0], [3e-9, 2e-9]]],
}


def assert_same_ink(inks, folder):
    paths = written(folder, [json.dumps(ink).encode() for ink in inks], ".json")
    for ink, found in zip(inks, features_of(INK, paths, folder), strict=True):
        expected = pen_frames(ink)
        assert found["lengths"] == [len(expected)] == [len(found["labels"])]
        np.testing.assert_array_equal(found["values"], expected.ravel(), err_msg=str(ink)[:80])


def test_ink_has_the_frames_of_training_bit_for_bit(tmp_path):
    assert_same_ink([*INKS.values()], tmp_path)


def test_random_ink_has_the_frames_of_training_bit_for_bit(tmp_path):
    draw = np.random.default_rng(3)
    inks = [
        lines_of(draw, draw.integers(1, 20), 60, 10.0 ** draw.integers(-3, 4)) for _ in range(100)
    ]
    assert_same_ink(inks, tmp_path)


REFUSED = (
    (IMAGES, b"", "a whole PNG file. Received: "),
    (IMAGES, image_file("L", 16, 40)[:60], "a whole PNG file. Received: "),
    (IMAGES, png_of(40, 16), "a whole PNG file. Received: "),  # without pixel data
    (IMAGES, png_of(100_000, 100_000, (b"IDAT", b"")), "at most 16,777,216 pixels"),
    (IMAGES, png_of(40, 16, (b"tRNS", b"\0"), (b"IDAT", b"")), "its transparency is wrong"),
    (IMAGES, image_file("L", 16, 40) + bytes(2**24), "at most 16,777,216 bytes"),
    (SOUNDS, b"", "a WAV file of 1 to 192 kHz, PCM of 8 to 32 bits or floats. "),
    (SOUNDS, sound_file(99)[:30], "no such sound"),
    *((SOUNDS, content, "a W") for content in wrong_sounds()[:2]),
    *((SOUNDS, content, "ends before its data does") for content in wrong_sounds()[2:5]),
    *((SOUNDS, content, "no such sound") for content in wrong_sounds()[5:]),
    (SOUNDS, sound_file(99, rate=999), "no such sound"),
    (SOUNDS, sound_file(12 * 441 + 1, rate=44_100), "at most 12 positions in this file. "),
    (INK, b"", "ink as JSON, a list of strokes, each a list of points [x, y]. Received: "),
    (INK, b"\xff[]", "ink as JSON, a list of strokes"),
    (INK, b"[[[1, 2], [3]]]", "a list of strokes, each a list of points [x, y] of numbers"),
    (INK, b"[[[1, 1e999]]]", "a list of strokes, each a list of points"),
    (INK, b"[[[1, 1e9]]]", "of numbers below 1e9"),
    (INK, b"{}", "a list of strokes, each a list of points"),
    (INK, b"null", "a list of strokes, each a list of points"),
    (INK, b"[1]", "a list of strokes, each a list of points"),
    (INK, json.dumps([[[0, 0]] * 100_001]).encode(), "at most 100,000 points. Received: "),
)  # (source, file content, message)


@pytest.mark.few(1)
@pytest.mark.parametrize("source", [IMAGES, SOUNDS, INK])
def test_another_file_is_refused_with_its_value_and_a_mend(source, tmp_path):
    cases = [(content, message) for of, content, message in REFUSED if of is source]
    paths = written(tmp_path, [content for content, _ in cases])
    answers = features_of(source, paths, tmp_path)
    for path, found, (_, message) in zip(paths, answers, cases, strict=True):
        assert message in found["refused"] and f"'{path}'" in found["refused"]
        assert found["refused"].rsplit(". ", 1)[1].rstrip(".") in (
            *("Convert it, or use keras-bahdanau read", "Correct it", "Split it"),
        )


@pytest.mark.slow
@pytest.mark.parametrize(("source", "longest"), [(IMAGES, 12), (SOUNDS, 30)])
def test_a_damaged_file_is_refused_or_has_the_features_of_training(source, longest, tmp_path):
    files = {
        IMAGES: [image_file(mode, 16, 37) for mode in ("1", "L", "P", "RGB", "LA")],
        SOUNDS: [*(sound_file(samples) for samples in (1, 700, 2400)), *other_sounds()[:2]],
    }
    generator = random.Random(0)
    contents = [damaged(generator.choice(files[source]), generator) for _ in range(300)]
    paths = written(tmp_path, contents)
    found = features_of(source, paths, tmp_path, longest)
    read = [(path, one) for path, one in zip(paths, found, strict=True) if "refused" not in one]
    for path, one in read:
        assert_same(source, path, one, longest, atol=2e-6)
    assert len(read) < 300 and (read or source is IMAGES)  # checksums catch all damage to images
