"""PNG and WAV files as inputs of the programs for devices: valid, unusual and damaged ones."""

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
    """Return a PNG file of random pixels."""
    depth = {"RGB": (3,), "LA": (2,), "RGBA": (4,)}.get(mode, ())
    pixels = np.random.default_rng(high * wide).integers(0, 256, (high, wide, *depth), np.uint8)
    content = io.BytesIO()
    image = Image.fromarray(pixels)
    (image.quantize(16) if mode == "P" else image.convert(mode)).save(content, "PNG", **settings)
    return content.getvalue()


def sound_file(samples, rate=16_000, width=2, channels=1):
    """Return a WAV file of random samples."""
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setparams((channels, width, rate, 0, "NONE", None))
        file.writeframes(np.random.default_rng(0).bytes(samples * width * channels))
    return content.getvalue()


def float_file(values, rate=16_000, channels=1, extensible=False):
    """Return a WAV file of floats, with the array's precision of 32 or 64 bits."""
    tag = 0xFFFE if extensible else 3
    form = struct.pack("<HHIIHH", tag, channels, rate, 0, 0, 8 * values.itemsize)
    form += struct.pack("<HHIH", 22, 32, 4, 3) + bytes(14) if extensible else b""
    chunks = b"fmt " + struct.pack("<I", len(form)) + form
    chunks += b"data" + struct.pack("<I", values.nbytes) + values.tobytes()
    return b"RIFF\xff\xff\xff\xffWAVE" + chunks


def other_sounds():
    """Return WAV files of other rates, widths and channels than the model's, a common one first."""
    values = np.array([0.5, -1, np.nan, np.inf, 1e30, 0.1] * 40, "<f4")
    return [
        sound_file(5000, rate=22_050, width=3, channels=2),
        *(sound_file(700, rate=rate) for rate in (1000, 8000, 11_025, 44_100, 48_000, 192_000)),
        *(sound_file(1, rate=rate) for rate in (1000, 44_100, 12_347)),
        *(sound_file(300, width=width, channels=width) for width in (1, 3, 4)),
        float_file(values),
        float_file(values, extensible=True),
        float_file(values.astype("<f8"), 48_000, 3),
        *strange_sounds(),
    ]


def riff(*chunks, block=2, bits=16, channels=1, name=b"RIFF"):
    """Return a 16 kHz WAV file with a chunk "fmt " and the given chunks, without padding.

    A chunk is a tuple (name, content) or (name, content, declared size).
    """
    form = struct.pack("<HHIIHH", 1, channels, 16_000, 16_000 * block, block, bits)
    body = b"WAVE"
    for kind, content, *size in ((b"fmt ", form), *chunks):
        body += kind + struct.pack("<I", *(size or [len(content)])) + content
    return name + struct.pack("<I", len(body)) + body


def strange_sounds():
    """Return silent WAV files, and WAV files that violate the format but can still be read."""
    data = np.random.default_rng(1).integers(-9000, 9000, 480).astype("<i2").tobytes()
    sizes = struct.pack("<QQQI", 0, len(data), 480, 0)
    return [
        riff((b"data", data * 2), block=4, bits=24),
        riff((b"data", data * 2), block=8, bits=20, channels=2),
        riff((b"data", data), block=3, bits=20),
        riff((b"data", data), bits=12),
        riff((b"LIST", b"odd"), (b"data", data)),
        riff((b"LIST", b"odd\0", 3), (b"bext", b"1\xff", 1), (b"data", data)),
        *(riff((b"data", data, size)) for size in (0, 2**31 - 1, 2**32 - 1, 0x7FFFF000)),
        *(riff((b"data", data, len(data) + more)) for more in (1, 44)),
        riff((b"ds64", sizes), (b"data", data, 2**32 - 1), (b"LIST", b"none"), name=b"RF64"),
        *(riff((b"data", number * 480)) for number in (b"\0\0", b"\x11\x22", b"\0\0\1\0\xff\xff")),
        riff((b"data", b"\x80" * 480), block=1, bits=8),
    ]


def wrong_sounds():
    """Return WAV files that are empty or truncated, or have blocks too small for their bits."""
    data = bytes(range(200)) * 4
    return [
        sound_file(0),
        riff((b"data", b"", 0), (b"LIST", b"none")),
        riff((b"data", data, 845)),
        riff((b"data", data, 10**9)),
        riff((b"ds64", struct.pack("<QQQ", 0, 10**10, 9)), (b"data", data, 2**32 - 1)),
        riff((b"data", data), block=5, channels=2),
        riff((b"data", data), block=2, bits=24),
    ]


def png_of_rows(pixels, bits, colour, *chunks):
    """Return a PNG file of rows of bytes, with the given chunks before them."""
    high, wide = len(pixels), len(pixels[0]) * 8 // bits // {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    rows = zlib.compress(b"".join(b"\0" + bytes(row) for row in pixels))
    return png_of(wide, high, *chunks, (b"IDAT", rows), bits=bits, colour=colour)


def other_images():
    """Return PNG files of other sizes, with 16 bits or with transparency, an ordinary one first."""
    draw = np.random.default_rng(4)
    sizes = [(1, 1), (3, 70), (70, 3), (9, 20), (33, 47), (200, 310), (1, 400), (400, 1)]
    modes = ("RGBA", "L", "LA", "RGB", "P", "1")
    images = [image_file("RGBA", 37, 61), *(image_file(m, 16, 40) for m in ("LA", "RGBA"))]
    images += [image_file(modes[place % 6], *size) for place, size in enumerate(sizes)]
    images += [image_file(mode, 16, 40, transparency=3) for mode in ("L", "P")]
    images.append(image_file("P", 16, 40, transparency=bytes(range(0, 256, 30))))
    for bits, colour in ((1, 0), (2, 0), (4, 0), (16, 0), (8, 2), (16, 2), (16, 4), (16, 6)):
        numbers = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
        rows = draw.integers(0, 256, (16, 40 * bits * numbers // 8), np.uint8)
        images.append(png_of_rows(rows, bits, colour))
        if colour == 0 or bits == 8:
            first = int.from_bytes(rows[3, :2].tobytes(), "big") if bits == 16 else rows[3, 0]
            first = first if bits >= 8 else first >> (8 - bits)
            key = [first] if colour == 0 else rows[3, :3]
            images.append(
                png_of_rows(rows, bits, colour, (b"tRNS", struct.pack(f">{len(key)}H", *key)))
            )
    return images + turned_images() + blank_images()


def turned_images():
    """Return PNG files with each orientation in a chunk eXIf, before or after the pixels."""
    rows, images = np.random.default_rng(6).integers(0, 256, (9, 60), np.uint8), []
    pixels = (b"IDAT", zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows)))
    for number in range(10):  # 0 and 9 aren't valid
        order = "<>"[number % 2]
        exif = struct.pack(
            f"{order}2sHIHHHIHHI", b"IIMM"[number % 2 * 2 :][:2], 42, 8, 1, 274, 3, 1, number, 0, 0
        )
        chunks = [(b"eXIf", exif), pixels]
        images.append(png_of(20, 9, *chunks[:: -1 if number > 4 else 1], colour=2))
    return images


def blank_images():
    """Return PNG files of a single colour, some with a little ink."""
    images = [np.full((16, 20, 4), value, np.uint8) for value in (255, 0, 90)]
    images.append(images[0] - np.random.default_rng(7).integers(0, 9, (16, 20, 4), np.uint8))
    images[-1][..., 3] = 255
    images.append(images[0].copy())
    images[-1][3, 3, :3] = 240
    return [png_of_rows(image.reshape(16, -1), 8, 6) for image in images]


def clear_colour_of_16_bits():
    """Return a PNG file with 16 bits per channel and a transparent colour."""
    rows = np.random.default_rng(5).integers(0, 256, (16, 240), np.uint8)
    rows[5, :6] = rows[6, :6] = rows[7, :6]
    rows[6, 1] ^= 1  # differs from the transparent colour only in the low byte
    return png_of_rows(rows, 16, 2, (b"tRNS", rows[5, :6].tobytes()))


def png_of(wide, high, *chunks, bits=8, colour=0):
    """Return a PNG file, 8-bit grey by default, that declares a size and has only these chunks."""
    head = (b"IHDR", struct.pack(">IIBBBBB", wide, high, bits, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in (head, *chunks, (b"IEND", b""))
    )


def damaged(content, random):
    """Return a file with a few bytes changed, removed or inserted, or with its end cut off."""
    content = bytearray(content)
    for _ in range(random.choice((1, 1, 3))):
        place = random.randrange(min(len(content), random.choice((80, 5000))))
        kind = random.randrange(4)
        content[place : place + (kind > 0)] = random.randbytes(kind != 3)
        del content[len(content) if kind else random.randrange(40, 5000) :]
    return bytes(content)
