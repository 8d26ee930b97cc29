"""Empty inputs, such as single-color images and silence, and the least ink or sound that counts."""

import io

import numpy as np
import PIL.Image
import pytest

from keras_bahdanau.sources import AudioSource, ImageSource
from keras_bahdanau.sources.sounds import encoded

IMAGES = {
    (channels, ink): ImageSource(16, 48, channels=channels, ink=ink)
    for channels in (1, 3)
    for ink in ("dark", "light")
}
SOUND = AudioSource(20)


def file_of(array, kind="PNG", **settings):
    file = io.BytesIO()
    PIL.Image.fromarray(np.squeeze(array)).save(file, kind, **settings)
    return file.getvalue()


def lengths_of(source, inputs):
    """Return the lengths on the host, after checking that the graph computes the same lengths."""
    rows = source.rows(inputs)
    shape = (len(inputs), max(1, int(rows.lengths.max())))
    host = rows.padded(np.arange(len(inputs)), shape).lengths
    served = source.features(**source.requests(inputs)).lengths
    np.testing.assert_array_equal(host, served)
    np.testing.assert_array_equal(rows.broken, (rows.lengths > 0) & (host == 0))
    return host.tolist()


def solid(*colour):
    return np.full((16, 24, len(colour)), colour, np.uint8)


@pytest.mark.few(1)
@pytest.mark.parametrize(("channels", "ink"), IMAGES)
def test_an_image_of_one_colour_is_empty(channels, ink):
    clear = solid(0, 0, 0, 0)
    clear[..., :3] = np.random.default_rng(0).integers(0, 256, (16, 24, 3))
    files = [
        *(file_of(solid(*colour)) for colour in ((255,) * 3, (0, 0, 0), (200, 30, 90))),
        *(file_of(image) for image in (solid(9)[..., 0], solid(50, 60, 70, 128), clear)),
        *(file_of(solid(*colour), "JPEG") for colour in ((255,) * 3, (200, 30, 90))),
        *(solid(255), np.zeros((3, 70)), np.ones((1, 1))),
    ]
    assert lengths_of(IMAGES[channels, ink], files) == [0] * len(files)


@pytest.mark.few(1)
@pytest.mark.parametrize(("channels", "ink"), IMAGES)
def test_noise_of_eight_levels_is_no_ink_and_one_darker_pixel_is(channels, ink):
    noise = np.random.default_rng(0).integers(247, 256, (16, 24, 1), np.uint8)
    noise[0, :2, 0] = 247, 255
    grey = np.repeat(noise, 3, axis=2)
    inked = grey.copy()
    inked[8, 8] = 246
    assert lengths_of(IMAGES[channels, ink], [grey, inked, file_of(inked)]) == [0, 6, 6]


def test_a_colour_that_is_another_in_one_channel_alone_is_seen_by_a_model_of_colours():
    image = solid(200, 100, 50)
    image[4:8, :, 2] = 90  # four levels of luma
    assert lengths_of(IMAGES[3, "dark"], [image]) == [6]
    assert lengths_of(IMAGES[1, "dark"], [image]) == [0]


def sound(values, kind=np.int16):
    return encoded(np.asarray(values).astype(kind)[:, np.newaxis], 16_000)


@pytest.mark.few(1)
@pytest.mark.parametrize("rate", [16_000, 44_100])
def test_digital_silence_and_a_constant_are_empty(rate):
    random = np.random.default_rng(0)
    dither = random.integers(-1, 2, rate // 10).astype(np.int16)
    constant = np.full(rate // 10, 7000, np.int16)
    opposite = np.stack([dither * 900, dither * -900], axis=1)  # the mean of its channels is 0
    arrays = [np.zeros(rate // 10), dither, constant, constant / 9e3, opposite, 128 + 0 * dither]
    arrays[-1] = arrays[-1].astype(np.uint8)
    assert lengths_of(SOUND, [(array, rate) for array in arrays]) == [0] * len(arrays)


def test_a_click_in_silence_is_a_sound():
    values = np.zeros(1600)
    values[800] = 3
    assert lengths_of(SOUND, [sound(values), sound(values * 1e-4, np.float32)]) == [10, 10]


def test_reports_say_why(tmp_path):
    contents = {
        "blank.png": (IMAGES[1, "dark"], file_of(solid(255)), "of one colour, so there is nothing"),
        "silent.wav": (SOUND, sound(np.zeros(1600)), "silent from beginning to end"),
        "cut.png": (IMAGES[1, "dark"], file_of(solid(255))[:-20], "empty or can't be read"),
        "cut.wav": (SOUND, sound(np.arange(1600))[:999], "empty or can't be read"),
        "none.wav": (SOUND, b"", "empty or can't be read"),
    }
    for name, (source, content, reason) in contents.items():
        (tmp_path / name).write_bytes(content)
        assert source.emptiness(tmp_path / name).reason.startswith(reason), name
        assert source.emptiness(content) == source.emptiness(tmp_path / name)
    assert SOUND.emptiness(tmp_path / "gone.wav").reason == "empty or can't be read"
