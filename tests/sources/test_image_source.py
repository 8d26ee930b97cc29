"""Images as a source: pixels by hand, other decoders, hostile files, inputs that aren't images."""

import io
import struct
import time
import zlib
from pathlib import Path

import numpy as np
import PIL.Image
import PIL.ImageOps
import pytest
import tensorflow as tf

from keras_bahdanau import ImageToText, SearchOptions
from keras_bahdanau.exporters.litert.litert_exporter import LiteRTExporter
from keras_bahdanau.files import whole_file
from keras_bahdanau.layers import Pixels
from keras_bahdanau.sources import FeatureSource, ImageSource
from keras_bahdanau.sources.image_decoding import is_harmless

SOURCE = ImageSource(16, 48)
COLOURED = ImageSource(16, 48, channels=3)
RANDOM = np.random.default_rng(0)


def read(source, *inputs):
    """Compute features in Python, after checking that the graph computes the same."""
    features = source.batch([*inputs])
    served = source.features(**source.requests([*inputs]))
    # Broken pixels after a valid header leave wider padding.
    width = served.values.shape[2]
    np.testing.assert_array_equal(features.values[:, :, :width], served.values)
    np.testing.assert_array_equal(features.lengths, served.lengths)
    return features


def file_of(array, kind="PNG", **settings):
    """Return the bytes of an image file written by another library."""
    file = io.BytesIO()
    PIL.Image.fromarray(array).save(file, kind, **settings)
    return file.getvalue()


def chunk(name, content):
    whole = name + content
    return struct.pack(">I", len(content)) + whole + struct.pack(">I", zlib.crc32(whole))


def png(*chunks, wide=2, high=2, depth=8, colour=0, content=b"\0\1\2\0\3\4"):
    """Return the bytes of a PNG file with some chunks before its pixels."""
    header = struct.pack(">IIBBBBB", wide, high, depth, colour, 0, 0, 0)
    parts = [(b"IHDR", header), *chunks, (b"IDAT", zlib.compress(content)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


@pytest.mark.slow
def test_an_image_of_the_full_height_is_taken_as_it_is():
    image = RANDOM.integers(0, 256, (16, 20), np.uint8)
    values, lengths = read(SOURCE, image, file_of(image), image[..., np.newaxis], image / 255)
    assert values.shape == (4, 16, 24, 1) and lengths.tolist() == [6] * 4
    for one in values:
        np.testing.assert_array_equal(one[:, :20, 0], image)
    assert (values[:, :, 20:] == 255).all(), "paper up to whole cells"


@pytest.mark.slow
def test_colours_are_kept_or_become_their_luma():
    image = RANDOM.integers(0, 256, (16, 16, 3), np.uint8)
    values, _ = read(COLOURED, image, file_of(image), file_of(image[..., 0]))
    np.testing.assert_array_equal(values[:2], [image, image])
    np.testing.assert_array_equal(values[2], np.repeat(image[..., :1], 3, axis=2))
    (grey, *_), _ = read(SOURCE, image, file_of(image))
    np.testing.assert_allclose(grey[..., 0], image @ [0.299, 0.587, 0.114], atol=1.5)


@pytest.mark.few(1)
@pytest.mark.parametrize("settings", [{}, {"quality": 95, "progressive": True}])
def test_jpeg_files_are_read_as_another_library_reads_them(settings):
    smooth = np.add.outer(np.arange(16), 3 * np.arange(32)).astype(np.uint8)
    content = file_of(np.stack([smooth, smooth[::-1], smooth], -1), "JPEG", **settings)
    expected = np.asarray(PIL.Image.open(io.BytesIO(content)))
    values, _ = read(COLOURED, content)
    np.testing.assert_allclose(values[0], np.float64(expected), atol=6)


@pytest.mark.few(1)
@pytest.mark.parametrize("byte_order", ["<", ">"])
@pytest.mark.parametrize("side", [16, 32])
def test_photographs_are_turned_as_their_camera_asks(byte_order, side):
    smooth = np.add.outer(3 * np.arange(16), 7 * np.arange(side)).astype(np.uint8)
    contents = [file_of(smooth, "JPEG", quality=95)]
    for orientation in range(1, 10):  # 9 is not an orientation
        exif = PIL.Image.Exif()
        exif.endian = byte_order
        exif[274] = orientation
        contents.append(file_of(smooth, "JPEG", quality=95, exif=exif))
    expected = SOURCE.batch(
        [
            np.asarray(PIL.ImageOps.exif_transpose(PIL.Image.open(io.BytesIO(content))))
            for content in contents
        ]
    )
    found = read(SOURCE, *contents)
    np.testing.assert_array_equal(found.lengths, expected.lengths)
    assert np.abs(found.values - np.float64(expected.values)).max() <= 6


def test_transparent_pixels_show_the_paper():
    image = np.zeros((16, 8, 4), np.uint8)
    image[:, 2:, 3] = 255
    image[:, 4:, 3] = 128
    (dark,), _ = read(SOURCE, file_of(image))
    assert dark[0, :, 0].tolist() == [255, 255, 0, 0, 127, 127, 127, 127]


@pytest.mark.slow
def test_light_ink_on_dark_paper_is_turned_around():
    source = ImageSource(16, 48, ink="light")
    image = RANDOM.integers(0, 256, (16, 8), np.uint8)
    np.testing.assert_array_equal(read(source, image).values[0, ..., 0], 255 - image)
    clear = np.full((16, 8, 4), 255, np.uint8)
    clear[:, :2, 3], clear[:, 4:, 3] = 0, 128
    (pixels,), _ = read(source, file_of(clear))
    assert pixels[0, :, 0].tolist() == [255, 255, 0, 0, 127, 127, 127, 127]


def test_palettes_sixteen_bits_interlaced_and_animated_files_are_read():
    image = RANDOM.integers(0, 256, (16, 8), np.uint8)
    palette = PIL.Image.fromarray(image).convert("P", palette=PIL.Image.Palette.ADAPTIVE)
    file = io.BytesIO()
    palette.save(file, "PNG")
    frames = [PIL.Image.fromarray(other) for other in (image, 255 - image)]
    animated = io.BytesIO()
    frames[0].save(animated, "PNG", save_all=True, append_images=frames[1:])
    deep = tf.io.encode_png(image[..., np.newaxis].astype(np.uint16) * 257).numpy()
    values, lengths = read(SOURCE, file.getvalue(), deep, animated.getvalue())
    assert lengths.tolist() == [2, 2, 2]
    for one in values:
        np.testing.assert_allclose(one[..., 0], np.float64(image), atol=1)
    # A 2 x 2 image in seven passes, four of which are empty.
    passes = bytearray(png(content=b"\0\1\0\2\0\3\4"))
    passes[28] = 1
    passes[29:33] = struct.pack(">I", zlib.crc32(passes[12:29]))
    assert PIL.Image.open(io.BytesIO(passes)).getpixel((1, 1)) == 4
    one, other = read(SOURCE, bytes(passes), png()).values
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("colors", [2, 4, 16, 256])
@pytest.mark.parametrize("clear", [False, True])
def test_files_of_few_bits_are_read_as_another_library_reads_them(colors, clear):
    image = PIL.Image.fromarray(RANDOM.integers(0, 256, (16, 8, 3), np.uint8)).quantize(colors)
    files = [io.BytesIO(), io.BytesIO()]
    image.save(files[0], "PNG", **({"transparency": 1} if clear else {}))
    image.convert("1").save(files[1], "PNG")  # 1-bit gray
    for file, channels in zip(files, (COLOURED, SOURCE), strict=True):
        paper = PIL.Image.new("RGBA", image.size, "white")
        paper.alpha_composite(PIL.Image.open(file).convert("RGBA"))
        expected = np.asarray(paper)[..., : 3 if channels is COLOURED else 1]
        np.testing.assert_array_equal(read(channels, file.getvalue()).values[0], expected)


def test_proportions_are_kept():
    black = [np.zeros(shape, np.uint8) for shape in ((32, 32), (8, 40), (16, 480), (160, 16))]
    for image in black:
        image[-1, -1] = 255  # single-color images would count as empty
    values, lengths = read(SOURCE, *black)
    # 16 x 16; 10 rows of 48 columns, centered (80 would be too wide); 2 rows of 48; 16 rows of 2.
    assert lengths.tolist() == [4, 12, 12, 2]
    ink = values[..., 0] < 128
    assert ink.any(axis=(1,)).sum(axis=1).tolist() == [16, 48, 48, 2]
    assert ink.any(axis=(2,)).sum(axis=1).tolist() == [16, 10, 2, 16]
    assert ink[1].any(axis=1).tolist() == [False] * 3 + [True] * 10 + [False] * 3


def test_large_images_are_smoothed_before_they_are_made_small():
    stripes = np.tile(np.array([[0, 255]], np.uint8), (160, 80))
    values, _ = read(SOURCE, stripes)
    np.testing.assert_allclose(values[0, 4:12, 4:12, 0], 127.5, atol=2)


def test_names_are_columns_and_rows():
    features = read(SOURCE, np.eye(16), b"")
    assert SOURCE.labels(features) == [["0,0", "0,1", "1,0", "1,1"], []]
    assert (SOURCE.grid_height, SOURCE.longest) == (2, 12)


def test_paths_are_read_when_their_pixels_are_wanted(tmp_path):
    image = RANDOM.integers(0, 256, (16, 20), np.uint8)
    path = tmp_path / "one.png"
    path.write_bytes(file_of(image))
    rows = SOURCE.rows([path])
    assert rows.lengths.tolist() == [6] and SOURCE.key(path) == SOURCE.key(path.read_bytes())
    path.write_bytes(file_of(255 - image))
    np.testing.assert_array_equal(rows.padded([0], (1, 6)).values[0, :, :20, 0], 255 - image)
    # If a disk goes away, training continues without the image and names it.
    path.unlink()
    assert rows.padded([0], (1, 6)).lengths.tolist() == [0] and rows.broken.tolist() == [True]


def test_a_header_is_that_of_the_whole_file_and_needs_its_beginning_alone(tmp_path, monkeypatch):
    image = RANDOM.integers(0, 256, (16, 24), np.uint8)
    good, jpeg = file_of(image), tf.io.encode_jpeg(image[..., np.newaxis]).numpy()
    comment = b"\xff\xfe" + struct.pack(">H", 60_002) + bytes(60_000)
    with_comments = [jpeg[:2] + count * comment + jpeg[2:] for count in (1, 4, 5)]
    large = [good + bytes(size - len(good)) for size in (2**24, 2**24 + 1)]
    cases = [b"", b"no image", good[:20], good, jpeg, jpeg[:30], *with_comments, *large]
    paths = [tmp_path / f"{number}" for number in range(len(cases))]
    for path, content in zip(paths, cases, strict=True):
        path.write_bytes(content)
    taken, plain = [], whole_file.content_of
    monkeypatch.setattr(
        *(whole_file, "content_of"), lambda *given: taken.append(given[1]) or plain(*given)
    )
    lengths = SOURCE.rows(paths).lengths.tolist()
    # One file is read again in full, because its size comes after 2^18 bytes of comments.
    assert sorted(taken) == [2**18] * len(paths) + [2**24]
    assert lengths == SOURCE.rows(cases).lengths.tolist()
    # A server also refuses more than 2^24 bytes.
    assert lengths == [0, 0, 0, 6, 6, 0, 6, 6, 6, 6, 0]
    assert lengths[6:] == SOURCE.features(tf.constant(cases[6:])).lengths.numpy().tolist()


@pytest.mark.slow
def test_the_edge_cases_of_an_export_leave_standard_error_empty(capfd):
    source = ImageSource(16, 64)
    lengths = source.features(tf.constant(source.edge_cases[:6])).lengths.numpy().tolist()
    assert lengths[:4] == [0, 0, 0, 0] == source.rows(source.edge_cases[:4]).lengths.tolist()
    assert min(lengths[4:]) > 0 and capfd.readouterr().err == ""


def test_broken_pixels_behind_a_right_header_are_an_empty_row_of_any_batch():
    good = file_of(RANDOM.integers(0, 256, (16, 24), np.uint8))
    features = read(SOURCE, good[:-40], good, good[:100])
    assert features.lengths.tolist() == [0, 6, 0]
    assert SOURCE.rows([good[:-40]]).lengths.tolist() == [6], "the header alone is read"


def png_bombs():
    return {
        "60,000 x 60,000": png(wide=60_000, high=60_000),
        "more than 2^31": png(wide=2**32 - 1, high=1),
        "no width": png(wide=0),
        "a pixel high": png(wide=2**20, high=1, content=bytes(2**20 + 1)),
        "a pixel wide": png(wide=1, high=2**20, content=bytes(2**21)),
        "texts": png(*[(b"zTXt", b"k\0\0" + zlib.compress(bytes(7_900_000), 9))] * 40),
        "international texts": png(
            *[(b"iTXt", b"k\0\1\0\0\0" + zlib.compress(b"a" * 7_900_000, 9))] * 40
        ),
        "more bytes than pixels": png(content=b"\0\xff" + bytes(2**27)),
    }


def test_pixels_that_unfold_to_more_than_the_header_says_are_refused_unread():
    lines = b"".join(b"\0" + bytes(range(row, row + 32)) for row in range(16))
    plain = png(wide=32, high=16, content=lines)
    bomb = png(wide=32, high=16, content=lines + bytes(2**27))
    hidden = png((b"IDAT", b"\0\0\0\0IDAT" * 9000), wide=32, high=16, content=lines)
    many = png(*[(b"tEXt", b"k\0")] * 20_000, wide=32, high=16, content=lines + bytes(2**27))
    film = plain[:-12] + chunk(b"fdAT", RANDOM.bytes(2**20)) + plain[-12:]
    assert [bool(is_harmless(tf.constant(one))) for one in (plain, film)] == [True, True]
    assert [bool(is_harmless(tf.constant(one))) for one in (bomb, hidden, many)] == [False] * 3
    grey = RANDOM.integers(0, 2**16, (200, 300), np.uint16)  # incompressible for any encoder
    assert is_harmless(tf.io.encode_png(grey[..., np.newaxis]))


def jpeg_bombs():
    content = file_of(np.full((4000, 4000, 3), 200, np.uint8), "JPEG", progressive=True)
    scan = content[content.rindex(b"\xff\xda") : -2]
    yield "scans", content[:-2] + scan * 500 + content[-2:]
    size = content.index(b"\xff\xc2") + 5
    yield "declared", content[:size] + struct.pack(">HH", 60_000, 60_000) + content[size + 4 :]
    yield "no height", content[:size] + struct.pack(">HH", 0, 100) + content[size + 4 :]


def test_what_stands_behind_a_photo_does_not_count():
    """A phone's film, for example, contains the two bytes of a scan marker by chance."""
    content = file_of(np.uint8(np.eye(40, 60) * 255), "JPEG")
    behind = content + b"\xff\xda\x5a" * 1000
    plain, longer = (
        tf.nest.flatten(SOURCE.features(**SOURCE.requests([one]))) for one in (content, behind)
    )
    for one, other in zip(plain, longer, strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.any(one)


@pytest.mark.few(1)
@pytest.mark.parametrize("new_bombs", [png_bombs, jpeg_bombs])
def test_bombs_are_empty_rows_at_little_cost(new_bombs):
    good = np.eye(16, dtype=np.uint8) * 255
    SOURCE.features(**SOURCE.requests([good]))
    for name, bomb in dict(new_bombs()).items():
        began = time.process_time()
        _, lengths = SOURCE.features(image_bytes=tf.constant([bomb, file_of(good)]))
        assert lengths.numpy().tolist() == [0, 4], name
        assert time.process_time() - began < 1.5, name


def test_requests_of_features_may_be_padded_with_anything():
    values = RANDOM.integers(0, 256, (2, 16, 13, 1), np.uint8)
    found = SOURCE.features_from(pixels=values, lengths=np.array([99, -3], "int32"))
    np.testing.assert_array_equal(found.values[:, :, :13], values)
    assert found.values.shape == (2, 16, 16, 1) and (found.values[:, :, 13:].numpy() == 255).all()
    assert found.lengths.numpy().tolist() == [4, 0]
    found = SOURCE.features_from(pixels=values[:, :, :0], lengths=np.array([1, 0], "int32"))
    assert found.values.shape == (2, 16, 8, 1)


def test_settings_of_the_front_end_are_passed_on():
    front_end = SOURCE.front_end(5, convolutions=(2, 3, 4), augmentation=0.5)
    assert (front_end.convolutions, front_end.augmentation) == ((2, 3, 4), 0.5)
    features = Pixels(np.zeros((1, 16, 8, 1), np.uint8), np.array([2], "int32"))
    assert front_end(features)[0].shape == (1, 2, 5)


@pytest.mark.parametrize(("width", "reduction"), [(256, 1), (264, 2)])
def test_images_that_may_be_very_wide_are_read_column_by_column(width, reduction):
    source = ImageSource(16, width)
    front_end = source.front_end(5)
    assert front_end.reduction == reduction
    features = source.batch([np.eye(16, 40, dtype=np.float32)])
    assert front_end(features)[0].shape == (1, 10 // reduction, 5)


@pytest.mark.parametrize(("longest", "whole"), [(8, 8), (15, 8), (16, 16), (100, 96)])
def test_a_limit_is_that_of_whole_columns(longest, whole):
    source = ImageSource(64, 512)  # columns of 8 cells
    pipeline = ImageToText.__new__(ImageToText)
    pipeline.source, pipeline.search = source, SearchOptions(max_source_length=longest)
    assert pipeline.longest() == source.whole_columns(longest) == whole
    assert LiteRTExporter(max_source_length=longest).longest(pipeline) == whole
    assert FeatureSource(3).whole_columns(longest) == longest


def test_a_limit_below_one_column_is_refused():
    with pytest.raises(ValueError, match="Received: max_source_length=7, with columns of 8 pos"):
        ImageSource(64, 512).whole_columns(7)
    source = ImageSource(96, 9600)  # columns of 12 cells
    assert source.fixed_length == 4092 == source.whole_columns(4096)


def test_its_card_states_what_a_file_may_be():
    limits = SOURCE.limits(12)
    assert limits == {
        "max_source_length": 12,
        "max_image_bytes": 2**24,
        "max_image_pixels": 2**24,
    }


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"height": 20}, "`height` must be a multiple of `cell`. Received: height=20, cell=8"),
        ({"width": 2**20}, "`width`.* must be at most 16384"),
        ({"channels": 2}, "`channels` must be one of 1, 3. Received: channels=2"),
        ({"cell": 5}, "`cell` must be one of 2, 4"),
        ({"cell": 8.0}, "`cell` must be one of 2, 4.* Received: cell=8.0"),
        ({"ink": "blue"}, "`ink` must be one of 'dark', 'light'"),
    ],
)
def test_arguments_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        ImageSource(**settings)


@pytest.mark.parametrize(
    "one, kind, received",
    [
        ("a.png", TypeError, r"images\[1\]='a.png'. Pass a path as pathlib.Path"),
        (Path("no_such.png"), ValueError, r"images\[1\]='no_such.png', which is not a file"),
        (np.zeros(3), ValueError, r"images\[1\] of shape \(3,\)"),
        (np.zeros((2, 2, 4)), ValueError, r"of shape \(2, 2, 4\)"),
        (np.full((2, 2), np.nan), ValueError, r"images\[1\] of dtype float64. Use uint8, or"),
        (np.full((2, 2), 1.1), ValueError, "from 0 to 1"),
        (np.zeros((2, 2), int), ValueError, "images.* of dtype int64. Use uint8"),
        ([[0.0]], ValueError, "of type list. Convert it to an array"),
        (None, ValueError, "of type NoneType"),
    ],
)
def test_what_is_no_image_is_refused(one, kind, received):
    with pytest.raises(kind, match=f"`images` must contain bytes of PNG .* Received: .*{received}"):
        SOURCE.check("images", [b"", one])


@pytest.mark.parametrize("one", [b"", "a", Path("a"), np.zeros((2, 2))])
def test_one_image_is_no_list(one):
    with pytest.raises(TypeError, match="`images` must be a list of images. .* Put it in a list"):
        SOURCE.check("images", one)


def test_a_setting_may_be_an_integer_of_numpy():
    source = ImageSource(64, 128, cell=np.int64(8), channels=np.int64(3))
    assert (source.cell, source.channels) == (8, 3)
    assert (
        source.front_end(16).get_config() == ImageSource(64, 128, 3, 8).front_end(16).get_config()
    )
