"""Images in the graph: damaged files, decompression bombs, huge declared sizes, any bytes."""

import struct
import zlib

import numpy as np

from fuzz.attack import attack
from fuzz.served import asked, case_of, equal_rows, strings

ROWS = 16  # per request
HEIGHT, LONGEST = 16, 12  # of `image_source`: pixels, and cells of the widest image
PNG = b"\x89PNG\r\n\x1a\n"


def chunk(name, content):
    whole = name + content
    return struct.pack(">I", len(content)) + whole + struct.pack(">I", zlib.crc32(whole))


def png(pixels, depth=8, colour=0, size=None, chunks=(), interlaced=0):
    """Return a PNG file of grey pixels, or of arbitrary bytes declared as pixels."""
    if isinstance(pixels, np.ndarray):
        size = size or pixels.shape
        pixels = np.pad(pixels, ((0, 0), (1, 0))).tobytes()  # each row begins with a filter byte
    header = struct.pack(">IIBBBBB", size[1], size[0], depth, colour, 0, 0, interlaced)
    parts = [(b"IHDR", header), *chunks, (b"IDAT", zlib.compress(pixels)), (b"IEND", b"")]
    return PNG + b"".join(chunk(*part) for part in parts)


def gradient():
    """Return the valid image that each request contains."""
    return png(np.add.outer(np.arange(16), 8 * np.arange(24)).astype(np.uint8))


def damaged(random, files):
    """Return a damaged image file."""
    content = bytearray(random.choice(files))
    kind = random.randrange(6)
    if kind == 0:
        return random.randbytes(random.randrange(60))
    if kind == 1:
        return bytes(content[: random.randrange(len(content))])
    if kind == 2:  # continues with another file
        other = random.choice(files)
        return bytes(content[: random.randrange(len(content))] + other[random.randrange(60) :])
    if kind == 3:  # a random header with a valid checksum
        numbers = [random.choice([0, 1, 2, 3, 16, 255, 2**16, 2**24, 2**31, 2**32 - 1])] * 2
        numbers[1] = random.choice([0, 1, 2, 7, 2**12, 2**31 - 1])
        fields = [random.randrange(20) for _ in range(5)]
        header = struct.pack(">IIBBBBB", *numbers, *fields)
        return PNG + chunk(b"IHDR", header) + bytes(content[33:])
    if kind == 4:  # not as many pixels as the header declares
        size = random.choice([1, 2, 9, 40]), random.choice([1, 3, 17, 60])
        depth, colour = random.choice([(1, 0), (2, 3), (4, 3), (8, 2), (8, 6), (16, 4), (16, 6)])
        chunks = random.sample(
            [(b"PLTE", bytes(9)), (b"tRNS", b"\0\7"), (b"gAMA", b"\0\0\0\1"), (b"bKGD", b"\0")], 2
        )
        content = random.randbytes(random.randrange(400))
        return png(content, depth, colour, size, chunks, random.randrange(3))
    for _ in range(random.choice([1, 1, 2, 30])):
        content[random.randrange(len(content))] = random.randrange(256)
    return bytes(content)


@attack(12, "images: damaged files, in the graph", full=10_000)
def damaged_images(world, count):
    """A row has the same pixels in two batches, and a valid one has the same as alone."""
    random, files = world.random("images"), [gradient(), *world.image_files]
    contents = [damaged(random, files) for _ in range(count)]
    requests = [("serving_default", {"image_bytes": strings([gradient()])})]
    for first in range(0, count, ROWS - 1):
        rows = [*contents[first : first + ROWS - 1], gradient()]
        requests += [
            ("serving_default", {"image_bytes": strings(order)}) for order in (rows, rows[::-1])
        ]
    answer, answers = asked(world, world.image_graph, requests, seconds=400)
    good, *pairs = answers or [None] * len(requests)
    for number in range(len(pairs) // 2):
        found = answers and [good, *pairs[2 * number : 2 * number + 2]]
        first = number * (ROWS - 1)
        for row in range(len(contents[first : first + ROWS - 1])):
            name = repr(contents[first + row][:40])
            yield case_of(name, answer, found, _right(row))._replace(seconds=0)


def _right(row):
    """Return a check of answers (valid row alone, batch, reversed batch) for a damaged row."""

    def right(answers):
        alone, batch, turned = answers
        width = alone["pixels"].shape[2]
        as_alone = np.array_equal(batch["pixels"][-1, :, :width], alone["pixels"][0])
        as_alone &= batch["lengths"][-1] == alone["lengths"][0]
        fits = 0 <= batch["lengths"][row] <= LONGEST and batch["pixels"].shape[1] == HEIGHT
        same = np.array_equal(batch["pixels"][row], turned["pixels"][-1 - row])
        return as_alone and fits and same and not (batch["pixels"][row, :, 48:] != 255).any()

    return right


def bombs():
    """Yield (name, bytes, whether the image may be read)."""
    paper, two = np.full((4, 4), 255, np.uint8), (2, 2)
    deep = b"\0\1\2\0\3\4"
    yield "60,000 x 60,000", png(deep, size=(60_000, 60_000)), False
    yield "2^31 x 2^31", png(deep, size=(2**31, 2**31)), False
    yield "2^32 - 1 wide", png(deep, size=(1, 2**32 - 1)), False
    yield "no width", png(deep, size=(2, 0)), False
    yield "2^24 pixels in one row", png(bytes(2**24 + 1), size=(1, 2**24)), False
    yield "2^24 pixels in one column", png(bytes(2**25), size=(2**24, 1)), False
    yield "2^24 + 4096 pixels", png(bytes(4097**2), size=(4097, 4096)), False
    yield "4096 x 4096, blank", png(bytes(4097 * 4096), size=(4096, 4096)), True
    yield "as many, all with alpha", png(bytes(4096 * (4096 * 8 + 1)), 16, 6, (4096, 4096)), True
    yield "128 MB behind four pixels", png(bytes(2**27), size=two), True
    unfolded = zlib.compress(bytes(7_900_000), 9)
    for name, head in ((b"zTXt", b"k\0\0"), (b"iTXt", b"k\0\1\0\0\0"), (b"iCCP", b"k\0\0")):
        texts = [(name, head + unfolded)] * 400
        yield f"400 x 8 MB of {name.decode()}", png(paper, chunks=texts), name == b"iCCP"
    yield "a million chunks", png(paper, chunks=[(b"tEXt", b"k\0")] * 10**6), True
    yield "more than 2^24 bytes", png(paper, chunks=[(b"tEXt", bytes(2**24))]), False


@attack(12, "images: small files that declare or unfold to much, in the graph", full=20)
def image_bombs(world, count):
    """A valid row next to a bomb keeps its pixels, within 20 seconds and 1.5 GB."""
    jpegs = [(f"JPEG, {name}", content, False) for name, content in world.image_bombs]
    for name, bomb, may in [*jpegs, *bombs()][:count]:
        requests = [
            ("serving_default", {"image_bytes": strings(rows)})
            for rows in ([gradient()], [bomb, gradient()])
        ]
        answer, answers = asked(world, world.image_graph, requests)

        def right(answers, may=may):
            alone, batch = answers
            same = np.array_equal(batch["pixels"][1], alone["pixels"][0])
            return same and (may or batch["lengths"][0] == 0)

        yield case_of(name, answer, answers, right)


@attack(12, "images: damaged files, in every signature of a model", full=300)
def images_of_a_model(world, count):
    """A row gets the same text in a batch as alone, and a finite score."""
    random, files = world.random("model"), [gradient(), *world.image_files]
    signatures = ("serving_default", "decode_with_alignment", "decode_nbest")
    requests = []
    for number in range(count):
        rows = strings([damaged(random, files) for _ in range(3)])
        name = signatures[number % 3]
        requests += [(name, {"image_bytes": rows}), (name, {"image_bytes": rows[:1]})]
    answer, answers = asked(world, world.images / "1", requests, seconds=200)

    def right(answers):
        batch, alone = answers
        finite = all(np.isfinite(v).all() for v in batch.values() if v.dtype.kind == "f")
        return finite and equal_rows(batch, [alone])

    for number in range(count):
        pair = answers and answers[2 * number : 2 * number + 2]
        yield case_of(f"request {number}", answer, pair, right)._replace(seconds=0)
