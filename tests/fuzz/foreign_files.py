"""Recordings and images by other programs are read correctly, or reported with a remedy.

The files are written by Python's standard modules, Pillow and libsndfile and, if installed, by
sox, ffmpeg and ImageMagick.
"""

import io
import itertools
import shutil
import struct
import subprocess
import tempfile
import wave
import zlib
from pathlib import Path

import numpy as np

from fuzz.attack import attack, judged
from fuzz.outcomes import Case, Outcome

RATE = 16_000
READ = {"AIFF", "AU", "CAF", "FLAC", "MP3", "OGG", "RF64", "WAV", "WAVEX"}
UNREAD = {
    "DWVW_16",
    "DWVW_24",
    "G721_32",
    "G723_24",
    "G723_40",
    "NMS_ADPCM_16",
    "NMS_ADPCM_24",
    "NMS_ADPCM_32",
}
PICTURES = "webp gif tiff bmp ico jpeg2000 pdf ppm avif tga pcx sgi".split()
SOX_CODECS = (
    *(f"signed-integer -b {bits}" for bits in (16, 24, 32)),
    *("floating-point -b 32", "floating-point -b 64", "unsigned-integer -b 8"),
    *("mu-law", "a-law", "ima-adpcm", "ms-adpcm", "gsm-full-rate"),
)
SOX_KINDS = (
    "aiff aifc au caf flac ogg mp3 sph voc w64 amr-nb wv 8svx htk ircam sds gsm hcom cvsd vox dat "
    "wve avr maud paf pvf"
).split()
NUMBERS = "pcm_s16le pcm_s24le pcm_s32le pcm_u8 pcm_f32le pcm_f64le".split()
FFMPEG_CODECS = (
    "pcm_mulaw pcm_alaw adpcm_ima_wav adpcm_ms adpcm_g726 g722 libmp3lame mp2 aac ac3 wmav2"
).split()
FFMPEG_KINDS = (
    "mp3 ogg opus flac m4a mp4 aac ac3 wma aiff au caf mka webm wv tta mp2 mov avi spx voc sox"
).split()
DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}  # in PNG files
PNG_SETTINGS = (
    *("-interlace PNG", "-transparent white", "-quality 00", "-quality 95", "-comment text"),
    *(
        f"-define png:color-type={colour} -define png:bit-depth={depth}"
        for colour, depths in DEPTHS.items()
        for depth in depths
    ),
)
JPEG_SETTINGS = (
    *("-quality 40", "-quality 95", "-interlace JPEG", "-colorspace Gray", "-colorspace CMYK"),
    *("-sampling-factor 2x2", "-sampling-factor 4x1", "-sampling-factor 1x1"),
)
IMAGEMAGICK_KINDS = (
    "webp gif tiff bmp jp2 jxl heic avif svg pdf pnm ico psd tga pcx xpm dds hdr sgi xbm fits mng "
    "jng miff"
).split()


@attack(12, "recordings and images in each form that other programs write", full=600)
def foreign_files(world, count):
    """Each file is read correctly, or becomes an empty input with a reason in a report."""
    answer = world.heavy.call(
        "fuzz.foreign_files:try_forms", count, directory=world.files, seconds=300
    )
    lines = answer.out.decode().splitlines()
    yield judged("the program", answer, lambda _: len(lines) > min(count, 150))
    for line in lines:
        outcome, _, name = line.partition(" ")
        yield Case(name, Outcome(outcome))


def try_forms(count):
    """Print the outcome and name of each form."""
    from keras_bahdanau.sources import AudioSource, ImageSource

    sound, image = AudioSource(), ImageSource(32, 64, channels=3)
    cases = itertools.chain(
        ((sound, tone(), *case) for case in recordings()),
        ((image, np.repeat(page()[..., np.newaxis], 3, axis=2), *case) for case in images()),
    )
    for source, expected, name, content, is_read in itertools.islice(cases, count):
        print(outcome_of(source, expected, content, is_read).value, name)


def outcome_of(source, expected, content, is_read):
    """Return the `Outcome` of a file.

    `is_read` is True if the file must be read, False if it must be empty, and None for either.
    """
    (values, *_), (length, *_) = source.batch([content])
    if not length:
        reason, _ = source.emptiness(content)
        return Outcome.SILENT if is_read or not reason else Outcome.REFUSED
    if expected.ndim == 1:
        values = values[: 160 * length]  # the rest is padding
    same = is_read is not False and alike(np.float64(values), np.float64(expected))
    return Outcome.SURVIVED if same else Outcome.SILENT


def alike(found, expected):
    """Return whether two sounds, which may be shifted in time, or two images are about equal."""
    if expected.ndim > 1:
        same_size = found.shape == expected.shape
        return same_size and np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.95
    spectra = [np.fft.rfft(part, 2**17) for part in (found, expected)]
    correlation = np.fft.irfft(spectra[0] * spectra[1].conj())
    loudness = np.linalg.norm(found) * np.linalg.norm(expected)
    return abs(len(found) / len(expected) - 1) < 0.1 and correlation.max() > 0.9 * loudness


def tone():
    """Return one second of mono sound."""
    time = np.arange(RATE) / RATE
    return 0.5 * np.sin(2 * np.pi * (200 + 300 * time) * time) * np.hanning(RATE)


def recordings():
    """Yield (name, bytes, whether it must be read): True, False, or None for either."""
    numbers = (tone() * 2**31).astype("<i8")
    for width, channels in itertools.product((1, 2, 3, 4), (1, 2, 6)):
        file = io.BytesIO()
        with wave.open(file, "wb") as writer:
            writer.setparams((channels, width, RATE, 0, "NONE", ""))
            writer.writeframes(np.repeat(packed(numbers, width), channels, axis=0).tobytes())
        yield f"wave, {width} bytes, {channels} channels", file.getvalue(), True
    for bits, block in ((24, 4), (20, 4), (20, 3), (12, 2), (16, 4), (24, 3)):
        data = packed(numbers, block).tobytes()
        yield f"{bits} bits in {block} bytes", wav((b"data", data), block=block, bits=bits), True
    data = packed(numbers, 2).tobytes()
    for size in (0, 2**31 - 1, 2**31, 2**32 - 1, 0x7FFFF000, 2**31 - 37, len(data) + 44):
        yield f"a size of {size}", wav((b"data", data, size)), True
    for size in (len(data) + 100, 2 * len(data), 10**9):
        yield f"a size of {size}, which is missing", wav((b"data", data, size)), False
    for chunks in (
        [(b"LIST", b"INFOabc")],
        [(b"bext", b"1"), (b"LIST", b"odd")],
        [(b"cue ", b"\1")],
    ):
        yield f"unpadded {chunks}", wav(*chunks, (b"data", data)), True
        yield f"behind the data {chunks}", wav((b"data", data), *chunks), True
    for block, channels, bits in ((3, 2, 16), (1, 1, 16), (5, 2, 24), (2, 2, 16)):
        content = wav((b"data", data), block=block, channels=channels, bits=bits)
        yield f"a block of {block} for {channels} x {bits} bits", content, False
    yield "silence", wav((b"data", bytes(2 * RATE))), False
    yield "a constant", wav((b"data", b"\1\2" * RATE)), False
    yield from by_soundfile()
    with tempfile.TemporaryDirectory() as directory:
        yield from by_sox(Path(directory), wav((b"data", data)))
        yield from by_ffmpeg(Path(directory), wav((b"data", data)))


def by_sox(directory, content):
    """Yield a recording for each WAV encoding and each file type that sox writes."""
    settings = [(f"-e {codec} one.wav", True) for codec in SOX_CODECS]
    settings += [(f"-r {rate} one.wav", True) for rate in (8000, 11_025, 44_100, 48_000, 192_000)]
    settings += [(f"-c {channels} one.wav", True) for channels in (2, 6)]
    settings += [(f"-t {kind} one.{kind}", None) for kind in SOX_KINDS] + [("-B one.wav", None)]
    yield from written_by("sox", "-D ref.wav", settings, directory, content)


def by_ffmpeg(directory, content):
    """Yield a recording for each WAV codec and each container that ffmpeg writes."""
    settings = [(f"-c:a {codec} one.wav", None) for codec in FFMPEG_CODECS]
    settings += [(f"-c:a {codec} one.wav", True) for codec in NUMBERS]
    settings += [(f"-rf64 always -c:a {codec} one.wav", True) for codec in NUMBERS]
    settings += [("-metadata title=abcd one.wav", True), ("-write_bext 1 one.wav", True)]
    settings += [(f"-ac 6 -c:a {codec} one.wav", True) for codec in NUMBERS]
    settings += [(f"one.{kind}", None) for kind in FFMPEG_KINDS]
    yield from written_by("ffmpeg", "-v quiet -y -i ref.wav", settings, directory, content)


def written_by(program, begin, settings, directory, content):
    """Yield the files that a program writes.

    `settings` are pairs (end of the command line, whether the file must be read).
    """
    if shutil.which(program) is None:
        return
    (directory / "ref.wav").write_bytes(content)
    (directory / "ref.png").write_bytes(content)
    for end, is_read in settings:
        path = directory / end.split()[-1].split(":")[-1]
        path.unlink(missing_ok=True)
        command = [program, *begin.split(), *end.split()]
        done = subprocess.run(command, cwd=directory, capture_output=True, stdin=subprocess.DEVNULL)
        if done.returncode == 0 and path.is_file() and path.stat().st_size:
            yield f"{program} {end}", path.read_bytes(), is_read


def packed(numbers, width):
    """Return the high bytes of 32-bit numbers, uint8 `(samples, width)`."""
    columns = numbers[:, np.newaxis] >> np.arange(32 - 8 * width, 32, 8)
    columns = columns & 255
    return (columns ^ (128 if width == 1 else 0)).astype(np.uint8)


def wav(*chunks, block=2, bits=16, channels=1):
    """Return a WAV file of chunks (name, content) or (name, content, size), without padding."""
    form = struct.pack("<HHIIHH", 1, channels, RATE, RATE * block, block, bits)
    body = b"WAVE"
    for name, content, *size in ((b"fmt ", form), *chunks):
        body += name + struct.pack("<I", *(size or [len(content)])) + content
    return b"RIFF" + struct.pack("<I", len(body)) + body


def by_soundfile():
    """Yield a recording for each container and codec of libsndfile."""
    import soundfile

    for container in soundfile.available_formats():
        for codec, endian in itertools.product(
            soundfile.available_subtypes(container), ("FILE", "BIG")
        ):
            file = io.BytesIO()
            settings = {"format": container, "subtype": codec, "endian": endian}
            if container == "VOC" and codec == "PCM_U8":  # doesn't support 16 kHz
                continue
            try:
                soundfile.write(file, tone(), RATE, **settings)
            except (soundfile.LibsndfileError, ValueError):
                continue
            must = True if container in READ and codec not in UNREAD and endian == "FILE" else None
            yield f"{container} of {codec}, {endian}", file.getvalue(), must


def page():
    """Return a black-and-white image, uint8 `(32, 64)`."""
    image = np.full((32, 64), 255, np.uint8)
    image[4:20, 6:20] = image[25:28, 10:60] = image[8:24, 50:54] = 0
    return image


def images():
    """Yield (name, bytes, whether it must be read)."""
    import PIL.Image

    grey = page()
    kinds = ((depth, colour) for colour, depths in DEPTHS.items() for depth in depths)
    for depth, colour in (kind for kind in kinds if kind[1] != 3):
        yield f"PNG, {depth} bits, colour {colour}", png(grey, depth, colour), True
    drawn = PIL.Image.fromarray(grey)
    for mode in ("1", "L", "LA", "P", "RGB", "RGBA"):
        yield f"PNG by Pillow, {mode}", saved(drawn.convert(mode), "PNG"), True
    clear = drawn.convert("P")
    yield "PNG, a clear colour", saved(clear, "PNG", transparency=clear.getpixel((0, 0))), True
    yield (
        "PNG, animated",
        saved(drawn, "PNG", save_all=True, append_images=[drawn.rotate(180)]),
        True,
    )
    for mode, settings in itertools.product(
        ("L", "RGB", "CMYK"), ({}, {"progressive": True}, {"quality": 30}, {"subsampling": 0})
    ):
        yield f"JPEG, {mode}, {settings}", saved(drawn.convert(mode), "JPEG", **settings), True
    backwards = [None, 0, 3, 1, 5, 2, 6, 4]  # undone by the eight orientations
    for number, method in enumerate(backwards, start=1):
        exif = PIL.Image.Exif()
        exif[274] = number
        stored = drawn if method is None else drawn.transpose(PIL.Image.Transpose(method))
        for kind in ("PNG", "JPEG"):
            content = saved(stored.convert("RGB"), kind, exif=exif)
            yield f"{kind}, orientation {number}", content, True
    for kind in PICTURES:
        try:
            yield f"{kind}", saved(drawn.convert("RGB"), kind), False
        except (KeyError, OSError, ValueError):  # not supported by this Pillow
            continue
    for colour in (0, 90, 255):
        blank = PIL.Image.new("RGB", (64, 32), (colour, colour, 200))
        yield f"one colour, {colour}", saved(blank, "PNG"), False
        yield f"one colour, {colour}, JPEG", saved(blank, "JPEG", quality=40), False
    for content in (saved(drawn, "PNG")[:-40], saved(drawn, "JPEG")[:-60]):
        yield "cut", content, False
    with tempfile.TemporaryDirectory() as directory:
        yield from by_imagemagick(Path(directory), saved(drawn.convert("RGB"), "PNG"))


def by_imagemagick(directory, content):
    """Yield each form of PNG and JPEG, and each other file type, that ImageMagick writes."""
    program = "magick" if shutil.which("magick") else "convert-im6"
    settings = [(f"{each} one.png", True) for each in PNG_SETTINGS]
    settings += [(f"{each} one.jpg", True) for each in JPEG_SETTINGS]
    settings += [(f"one.{kind}", None) for kind in IMAGEMAGICK_KINDS]  # some are PNG, renamed
    yield from written_by(program, "ref.png", settings, directory, content)


def saved(image, kind, **settings):
    file = io.BytesIO()
    image.save(file, kind, **settings)
    return file.getvalue()


def png(image, depth, colour):
    """Return a PNG file of an image with values 0 and 255."""
    numbers = np.repeat(image[..., np.newaxis], {0: 1, 2: 3, 4: 2, 6: 4}[colour], axis=2)
    if colour >= 4:
        numbers[..., -1] = 255
    bits = np.repeat(numbers.reshape(len(image), -1) > 0, depth, axis=1)
    rows = np.packbits(bits, axis=1)
    head = struct.pack(">IIBBBBB", image.shape[1], len(image), depth, colour, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in ((b"IHDR", head), (b"IDAT", data), (b"IEND", b""))
    )
