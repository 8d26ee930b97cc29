"""PNG and WAV files to give to the programs for devices: whole ones, odd ones and damaged ones."""

import io
import struct
import wave
import zlib

import keras
import numpy as np
from PIL import Image


def card_of(source, longest, reduction=1):
    return {
        "source": keras.saving.serialize_keras_object(source),
        "max_source_length": longest,
        "reduction": reduction,
    }


def image_file(mode, high, wide, **settings):
    """A PNG file of random pixels."""
    depth = {"RGB": (3,), "LA": (2,)}.get(mode, ())
    pixels = np.random.default_rng(high * wide).integers(0, 256, (high, wide, *depth), np.uint8)
    content = io.BytesIO()
    image = Image.fromarray(pixels)
    (image.quantize(16) if mode == "P" else image.convert(mode)).save(content, "PNG", **settings)
    return content.getvalue()


def sound_file(samples, rate=16_000, width=2, channels=1):
    """A WAV file of random numbers."""
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setparams((channels, width, rate, 0, "NONE", None))
        file.writeframes(np.random.default_rng(0).bytes(samples * width * channels))
    return content.getvalue()


def png_of(wide, high, *chunks):
    """A PNG file of 8 bits grey that declares a size, and has other chunks than it needs."""
    head = (b"IHDR", struct.pack(">IIBBBBB", wide, high, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in (head, *chunks, (b"IEND", b""))
    )


def damaged(content, random):
    """A file with a few other bytes, cut off, or with bytes between."""
    content = bytearray(content)
    for _ in range(random.choice((1, 1, 3))):
        place = random.randrange(min(len(content), random.choice((80, 5000))))
        kind = random.randrange(4)
        content[place : place + (kind > 0)] = random.randbytes(kind != 3)
        del content[len(content) if kind else random.randrange(40, 5000) :]
    return bytes(content)
