"""Files in other formats: errors name a remedy, and formats that soundfile supports are read."""

import io
import sys

import numpy as np
import PIL.Image
import PIL.ImageOps
import pytest

from keras_bahdanau.files.media_forms import form_of
from keras_bahdanau.sources import AudioSource, ImageSource
from keras_bahdanau.sources.sounds import encoded, size_of

IMAGE, SOUND = ImageSource(16, 48), AudioSource(20)
BOX = b"\0\0\0\x18ftyp"
WAV = encoded(np.arange(-800, 800, dtype=np.int16)[:, np.newaxis], 16_000)
FORMS = {
    "PNG": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "JPEG": b"\xff\xd8\xff\xe0\0\x10JFIF",
    "WebP": b"RIFF\x24\0\0\0WEBPVP8 ",
    "GIF": b"GIF89a\1\0",
    "TIFF": b"II*\0\x08\0\0\0",
    "BMP": b"BM\x46\0\0\0\0\0\0\0\x36\0",
    "JPEG 2000": b"\0\0\0\x0cjP  \r\n\x87\n",
    "JPEG XL": b"\xff\x0a\xfa",
    "HEIC": BOX + b"heic",
    "AVIF": BOX + b"avif",
    "SVG": b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>',
    "PDF": b"%PDF-1.7\n%\xe2\xe3",
    "Netpbm": b"P5\n8 8\n255\n",
    "WAV": WAV,
    "mu-law WAV": WAV[:20] + b"\7" + WAV[21:],
    "A-law WAV": WAV[:20] + b"\6" + WAV[21:],
    "ADPCM WAV": WAV[:20] + b"\x11" + WAV[21:],
    "FLAC": b"fLaC\0\0\0\x22",
    "OGG": b"OggS\0\2",
    "MP3": b"ID3\4\0\0",
    "AAC": b"\xff\xf1P\x80",
    "M4A": BOX + b"M4A ",
    "MP4": BOX + b"isom",
    "AIFF": b"FORM\0\0\1\0AIFFCOMM",
    "AU": b".snd\0\0\0\x18",
    "CAF": b"caff\0\1\0\0",
    "AMR": b"#!AMR\n<",
    "WMA": b"0&\xb2u\x8ef\xcf\x11\xa6\xd9",
    "NIST SPHERE": b"NIST_1A\n   1024\n",
    "RIFX": b"RIFX\0\0\1\0WAVEfmt ",
    "a gzip file": b"\x1f\x8b\x08\0",
    "a ZIP archive": b"PK\3\4\x14\0".ljust(30, b"\0") + b"a.wav",
    "an xz file": b"\xfd7zXZ\0\0",
    "a tar archive": b"a.wav".ljust(257, b"\0") + b"ustar\0",
    "a Git LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 9\n",
    "an HTML page": b"\xef\xbb\xbf\n<!DOCTYPE html>\n<html>",
    "an XML file": b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>",
    "a JSON Lines file": b'{"error": "not found"}',
    "a text": b"404: Not Found",
}


def test_forms_are_known_by_their_first_bytes():
    assert {name: form_of(content).name for name, content in FORMS.items()} == {
        name: name for name in FORMS
    }
    unknown = [b"", b" \n", bytes(40), b"\xff\xfeP\0N\0", bytes(range(40))]
    assert [form_of(content) for content in unknown] == [None] * len(unknown)


@pytest.mark.parametrize("source", [IMAGE, SOUND], ids=["image", "sound"])
def test_each_form_is_named_with_the_way_out(source, tmp_path):
    wanted = "PNG or JPEG" if source is IMAGE else "WAV or FLAC"
    path = tmp_path / "any.jpg"
    told = {}
    for name, content in FORMS.items():
        path.write_bytes(content)
        reason, remedy = source.emptiness(path)
        if reason == f"{name}, not {wanted}":
            told[name] = remedy
    read = {"PNG", "JPEG"} if source is IMAGE else {"WAV", "FLAC", "OGG", "MP3", "AIFF", "AU"}
    if source is SOUND:
        read |= {"CAF", "RIFX", "mu-law WAV", "A-law WAV", "ADPCM WAV"}
    assert set(FORMS) - set(told) == read
    ways = ("Convert to ", "Use ", "Unpack ", "Download the actual", "It may be a failed")
    assert all(remedy.startswith(ways) for remedy in told.values())
    assert told["NIST SPHERE"] == (
        "Use an image." if source is IMAGE else "Convert to WAV, for example with sox or ffmpeg."
    )


def test_bytes_of_no_known_form_are_told_from_an_empty_file():
    assert IMAGE.emptiness(bytes(9)) == (
        "in an unknown format, not PNG or JPEG",
        "Convert to PNG, for example with ImageMagick.",
    )
    assert SOUND.emptiness(bytes(9)).reason == "in an unknown format, not WAV or FLAC"
    assert SOUND.emptiness(b"") == IMAGE.emptiness(b"") == ("empty or can't be read", "")


def written(kind, subtype, rate=16_000, **settings):
    soundfile = pytest.importorskip("soundfile")
    file, wave = io.BytesIO(), np.sin(np.arange(3200) * 0.2) * np.hanning(3200) * 0.5
    soundfile.write(file, wave, rate, format=kind, subtype=subtype, **settings)
    return file.getvalue(), wave


@pytest.mark.parametrize(
    ("kind", "subtype", "error"),
    [
        *((kind, law, 0.02) for kind in ("WAV", "WAVEX", "AU", "AIFF") for law in ("ULAW", "ALAW")),
        *((kind, "PCM_16", 5e-5) for kind in ("AIFF", "AU", "CAF", "VOC", "FLAC")),
        *(("OGG", "VORBIS", 0.05), ("OGG", "OPUS", 0.1), ("MP3", "MPEG_LAYER_III", 0.05)),
        *(("AIFF", "FLOAT", 1e-6), ("AU", "PCM_24", 1e-6), ("WAV", "IMA_ADPCM", 0.05)),
    ],
)
def test_what_soundfile_reads_is_read(kind, subtype, error, tmp_path):
    content, wave = written(kind, subtype)
    path = tmp_path / "any.wav"
    path.write_bytes(content)
    inputs = [content, path]
    SOUND.check("sounds", inputs)
    values, lengths = SOUND.batch(inputs)
    assert 20 <= int(lengths[0]) <= (27 if "ADPCM" in subtype else 22)  # in whole blocks
    np.testing.assert_array_equal(values[0], values[1])
    np.testing.assert_allclose(values[0, :3200], wave, atol=error)
    served = SOUND.features(**SOUND.requests([path]))
    np.testing.assert_array_equal(served.values[0], values[0])


def test_the_high_byte_first_is_read_too():
    content, wave = written("WAV", "PCM_16", endian="BIG")
    assert content.startswith(b"RIFX")
    np.testing.assert_allclose(SOUND.batch([content]).values[0, :3200], wave, atol=5e-5)


CUT = [("WAV", "ULAW"), ("AIFF", "PCM_16"), ("AU", "ALAW"), ("MP3", "MPEG_LAYER_III")]


@pytest.mark.parametrize(("kind", "subtype"), CUT)
def test_a_file_of_another_form_that_was_cut_is_empty(kind, subtype):
    content, _ = written(kind, subtype)
    cut = content[: len(content) * 2 // 3]
    assert size_of(content).frames == 3200 and size_of(cut).frames == 0
    assert SOUND.requests([cut])["audio_bytes"].tolist() == [b""]
    assert SOUND.emptiness(cut).reason == "empty or can't be read"


def test_what_soundfile_can_not_decode_is_named():
    reason, remedy = SOUND.emptiness(b"OggS" + bytes(60))
    assert reason == "OGG, damaged or with a codec that soundfile lacks"
    assert remedy == "Convert to WAV, for example with sox or ffmpeg."


def test_without_soundfile_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "soundfile", None)
    for name in ("OGG", "MP3", "AIFF", "mu-law WAV"):
        with pytest.raises(ImportError, match=rf"Received: {name}, .*'keras-bahdanau\[audio\]'"):
            SOUND.check("sounds", [FORMS[name]])


@pytest.mark.parametrize("orientation", range(1, 10))
def test_a_png_file_is_turned_as_its_exif_asks_and_as_a_jpeg_file_is(orientation, tmp_path):
    """The value 9 is not an orientation."""
    smooth = np.add.outer(3 * np.arange(16), 7 * np.arange(32)).astype(np.uint8)
    exif, files = PIL.Image.Exif(), []
    exif.endian, exif[274] = "<" if orientation % 2 else ">", orientation
    for kind in ("PNG", "JPEG"):
        file = io.BytesIO()
        PIL.Image.fromarray(smooth).save(file, kind, exif=exif, **{"quality": 95})
        files.append(file.getvalue())
    at = files[0].index(b"IDAT") - 4
    chunk = files[0][files[0].index(b"eXIf") - 4 : at]
    files.append(files[0].replace(chunk, b"")[:-12] + chunk + files[0][-12:])  # after the pixels
    turned = np.asarray(PIL.ImageOps.exif_transpose(PIL.Image.open(io.BytesIO(files[0]))))
    (tmp_path / "last.png").write_bytes(files[2])
    values, lengths = IMAGE.batch([turned, files[0], files[2], tmp_path / "last.png", files[1]])
    assert len({*lengths.tolist()}) == 1
    for other in values[1:4]:
        np.testing.assert_array_equal(other, values[0])
    assert np.abs(values[4] - np.float64(values[0])).max() <= 8
    served = IMAGE.features(**IMAGE.requests(files))
    np.testing.assert_array_equal(served.values[0], values[0])


def test_the_end_of_a_large_png_file_may_say_how_it_is_turned(tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, (400, 900), np.uint8)
    exif, file = PIL.Image.Exif(), io.BytesIO()
    exif[274] = 6
    PIL.Image.fromarray(noise).save(file, "PNG", exif=exif)
    content = file.getvalue()
    chunk = content[content.index(b"eXIf") - 4 : content.index(b"IDAT") - 4]
    path = tmp_path / "last.png"
    path.write_bytes(content.replace(chunk, b"")[:-12] + chunk + content[-12:])
    assert len(content) > 2**18
    (length,) = IMAGE.rows([path]).lengths
    assert length == IMAGE.batch([np.rot90(noise, -1)]).lengths[0] == 2  # 7 wide, 16 high
