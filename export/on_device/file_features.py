"""Convert a WAV or PNG file to the inputs of a model, as in training but with NumPy only.

Sound is resampled with the Fourier transform, and images with linearly decreasing weights, as in
`sources/resampling.py` and `tf.image.resize`. Files with the model's rate or height give exactly
the values of training; other files differ only by rounding. See read_files.py.
"""

import io
import math
import struct
import zlib

import numpy as np
import translate
from translate import InputError

RATE, HOP = 16_000, 160  # samples per second, and per position
RATES, MOST_CHANNELS = (1000, 192_000), 64  # limits for a WAV file
LOUDEST = 1e3  # largest magnitude of a sample, where full scale is 1
STILL = 2 / 2**15  # largest range of the samples in silence: 16-bit dither
ROLL_OFF, MARGIN = 0.95, 50  # where the spectrum begins to fade; 1 / MARGIN s of silence follow
FORM = struct.Struct("<HHIIHH8xH14x")  # format of a WAV file, with the tag of an extensible one
PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
MOST_CHUNKS = 256
STREAMED = 2**31 - 2**16  # data of this declared size or more is a stream of unknown size
COUNTED_IN = 44  # size of the usual header, which some writers add to the size of the data
MOST_DATA = 2**40  # maximum number of bytes that a "ds64" chunk may declare
PAPER = 255
FAINTEST = 8  # an image is blank if its pixels, from 0 to 255, differ by no more than this
# EXIF tag 274, the orientation of an image, in little-endian and big-endian byte order
ORIENTATIONS = {
    b"II": (b"\x12\x01\x03\x00\x01\x00\x00\x00", 0),
    b"MM": (b"\x01\x12\x00\x03\x00\x00\x00\x01", 1),
}
GREY = (77, 150, 29)  # weights of red, green and blue, in 256ths
MOST_BYTES = MOST_PIXELS = 2**24  # limits for a file
LARGEST_IMAGE = {
    "height": 1024,
    "width": 16_384,
    "cell": 64,
    "channels": 3,
}  # limits for the settings of images
# the beginning and the end of a PNG file
HEADER, LAST_CHUNK = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\0\0\0\0IEND\xaeB`\x82"


def features_of(path, card):
    """Return the inputs of a model for one file, and the names of the positions in alignments.

    Args:
        path: String, the path of the file.
        card: Dictionary, the card of the model.

    Returns:
        (dictionary from the names of the inputs to arrays without a batch axis, list of strings).

    Raises:
        InputError: If the model does not read such files, or the file is not valid.
    """
    source = card.get("source", {})
    kinds = {"ImageSource": _image, "AudioSource": _sound}
    if source.get("class_name") not in kinds:
        raise InputError(
            "A model must read images or sound. "
            f"Received: a model of {source.get('class_name', 'text')}. "
            "Use translate.py for text, and translate.mjs for ink."
        )
    try:
        with open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(translate.unreadable(path, error)) from None
    if len(content) > MOST_BYTES:
        raise _wrong(path, f"a file of at most {MOST_BYTES:,} bytes", "a larger one")
    settings = _checked_settings(source)
    features, labels = kinds[source["class_name"]](path, content, settings, card)
    return features, labels[:: card.get("reduction", 1)]


def _checked_settings(source):
    """Return the settings of a source, after checking that the sizes fit in memory."""
    settings = source.get("config")
    sizes = LARGEST_IMAGE if source["class_name"] == "ImageSource" else {}
    if not isinstance(settings, dict):
        raise InputError("A card must contain the settings of its source. Export the model again.")
    for name, most in sizes.items():
        size = settings.get(name)
        if type(size) is not int or not 1 <= size <= most:
            raise InputError(
                f"A card must have a {name} of 1 to {most:,}. Received: {name}={size!r:.40}. "
                "Export the model again."
            )
    if sizes and (settings["cell"] > settings["height"] or settings.get("ink") is None):
        raise InputError(
            "A card must have a cell no higher than its image, and a kind of ink. Received: "
            f"{settings!r:.200}. Export the model again."
        )
    return settings


def _sound(path, content, settings, card):
    form, data = _chunks(content)
    if data is None:
        raise _wrong(path, "a whole WAV file", "one that ends before its data does")
    tag, channels, rate, _, block, bits, extended = form
    tag, least = extended if tag == EXTENSIBLE else tag, (bits + 7) // 8
    # each sample is an equal part of a block; 24 bits may be the upper bytes of four
    width = block // channels if block and channels else least
    known = RATES[0] <= rate <= RATES[1] and 1 <= channels <= MOST_CHANNELS and least >= 1
    known &= block in (0, width * channels) and (least == width or least < width and tag == PCM)
    if not known or (tag, width) not in _NUMBERS or len(data) < channels * width:
        wanted = "a WAV file of 1 to 192 kHz, PCM of 8 to 32 bits or floats"
        received = f"{rate:,} Hz, {bits} bits, {channels} channels" if data else "no samples"
        raise _wrong(path, wanted, received)
    frames = len(data) // (channels * width)
    count = -(-frames * RATE // (rate * HOP))
    _check_length(path, count, card)
    values = _NUMBERS[tag, width](data[: frames * channels * width]).reshape(frames, channels)
    values = values.mean(axis=1, dtype=np.float32)
    if np.ptp(values) <= STILL:  # digital silence
        values, count = values[:0], 0
    samples = resampled(values, rate)
    return {"samples": samples, "lengths": count}, [f"{n * HOP / RATE:.2f}" for n in range(count)]


def _chunks(content):
    """Return the numbers in the first "fmt " chunk of a WAV file, and the bytes of its "data".

    The latter is None if it is incomplete. As in training, only the sizes of the chunks and of the
    file count.
    """
    found, place, count, total = {}, 12, 0, 0
    if content[:4] not in (b"RIFF", b"RF64", b"BW64") or content[8:12] != b"WAVE":
        place = len(content)
    while place + 8 <= len(content) and len(found) < 2 and count < MOST_CHUNKS:
        name, size = struct.unpack_from("<4sI", content, place)
        body, end = place + 8, place + 8 + size
        if name == b"fmt " and size >= 16:
            found.setdefault(name, content[body:end])
        elif name == b"data":
            found.setdefault(name, _data(content[body:], size, total))
        elif name == b"ds64":
            total = int.from_bytes(content[body + 8 : body + 15], "little")
        is_padded = size % 2 and not _is_text(content[end : end + 1])
        place, count = end + is_padded, count + 1
    form = found.get(b"fmt ", b"")[: FORM.size]
    return FORM.unpack(form.ljust(FORM.size, b"\0")), found.get(b"data", b"")


def _data(content, declared, total):
    """Return the bytes of samples at the beginning of `content`; None if their end is missing.

    A stream declares a size of 0, or the largest possible size. Then all of the content counts,
    unless another chunk follows those 0 bytes. `total` is the size in a "ds64" chunk, or 0.
    """
    is_wide = declared == 2**32 - 1 and 0 < total < MOST_DATA
    size = total if is_wide else declared
    next_size = int.from_bytes(content[4:8], "little")
    is_followed = _is_text(content[:4]) and next_size + 8 <= len(content)
    if size == 0 and not is_followed:
        return content
    is_whole = size <= len(content) + COUNTED_IN or size >= STREAMED and not is_wide
    return content[:size] if is_whole else None


def _is_text(name):
    return bool(name) and all(ord(" ") <= byte <= ord("~") for byte in name)


def _integers(dtype, full_scale, zero=0):
    return lambda data: np.frombuffer(data, dtype) / np.float32(full_scale) - np.float32(zero)


def _signed_24(data):
    # store the three bytes as the upper bytes of four
    numbers = np.zeros((len(data) // 3, 4), np.uint8)
    numbers[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
    return (numbers.view("<i4") // 256).astype(np.float32) / np.float32(2**23)


def _floats(dtype):
    def read(data):
        values = np.frombuffer(data, dtype)
        return np.where(np.isfinite(values), values, 0).clip(-LOUDEST, LOUDEST).astype(np.float32)

    return read


_NUMBERS = {  # (tag, bytes per sample) -> reader; full scale is 1
    (PCM, 1): _integers("u1", 2**7, 1),
    (PCM, 2): _integers("<i2", 2**15),
    (PCM, 3): _signed_24,
    (PCM, 4): lambda data: np.frombuffer(data, "<i4").astype(np.float32) / np.float32(2**31),
    (FLOAT, 4): _floats("<f4"),
    (FLOAT, 8): _floats("<f8"),
}


def resampled(values, rate):
    """Resample sound to 16 kHz, float32 `(ceil(samples * 16000 / rate),)`, band-limited.

    The spectrum is cut off at the lower of the two Nyquist frequencies, or padded with 0. It fades
    between 95% and 100% of that frequency.
    """
    count = len(values)
    if rate == RATE or not count:
        return values
    common = math.gcd(rate, RATE)
    # both lengths are integers if the length at the old rate is a multiple of rate / common
    multiple = -(-(count + rate // MARGIN) * common // rate)
    before, after = multiple * rate // common, multiple * RATE // common
    bins = min(before, after) // 2 + 1
    share = np.arange(bins) * 2 / min(before, after)  # relative to the highest remaining frequency
    fading = np.clip((share - ROLL_OFF) / (1 - ROLL_OFF), 0, 1)
    gain = (0.5 + 0.5 * np.cos(np.pi * fading)) * after / before
    spectrum = np.fft.rfft(values.astype(np.float64), before)[:bins] * gain
    found = np.fft.irfft(spectrum, after)[: -(-count * RATE // rate)]
    return found.clip(-LOUDEST, LOUDEST).astype(np.float32)


def _image(path, content, settings, card):
    height, width, cell = settings["height"], settings["width"], settings["cell"]
    image = upright(_pixels(path, content), _orientation(content))  # (high, wide, 4)
    high, wide = image.shape[:2]
    # scale to the full height or the full width, and round the other side
    rows = min((2 * high * width + wide) // (2 * wide), height)
    columns = min((2 * wide * height + high) // (2 * high), width)
    grid, cells = height // cell, -(-columns // cell) if rows else 0
    ink = _ink(image, settings)
    # an image of a single color is blank
    cells *= bool((np.ptp(ink, axis=(0, 1)) > FAINTEST * 256).any())
    _check_length(path, cells * grid, card)
    whole = -(-card["max_source_length"] // grid) * cell
    pixels = np.full((height, whole, settings["channels"]), PAPER, np.uint8)
    if cells:
        ink = resized(ink, rows, columns)
        above = (height - rows) // 2  # centered vertically
        drawn = PAPER - np.rint(ink / 256).clip(0, PAPER)
        pixels[above : above + rows, :columns] = drawn
    labels = [f"{x},{y}" for x in range(cells) for y in range(grid)]
    return {"pixels": pixels, "lengths": len(labels)}, labels


def _ink(image, settings):
    """Return 256 times the ink on blank paper, float32 `(high, wide, channels)`."""
    ink = image[..., :3].astype(np.uint16)
    ink = PAPER - ink if settings["ink"] == "dark" else ink
    ink = ink * image[..., 3:] + np.uint16(128)
    ink = (ink + (ink >> 8)) >> 8  # alpha * ink / 255, rounded
    if settings["channels"] == 1:
        return (ink @ np.array(GREY, np.uint16))[..., np.newaxis].astype(np.float32)
    return (ink * np.uint16(256)).astype(np.float32)


def resized(image, rows, columns):
    """Resize an image as `tf.image.resize` with `antialias` does.

    Args:
        image: Float32 array `(high, wide, channels)`.
        rows: Integer, the new height.
        columns: Integer, the new width.
    """
    between = _weighted(image, rows)  # -> (rows, wide, channels)
    return _weighted(between.swapaxes(0, 1), columns).swapaxes(0, 1)


def _weighted(image, after):
    """Return weighted means of neighbors along the first axis.

    The weights fall linearly with the distance, to 0 at a distance of one old or one new pixel,
    whichever is larger.
    """
    before = len(image)
    step = np.float32(1) / (np.float32(after) / np.float32(before))
    reach = max(step, np.float32(1))  # in old pixels
    middle = (np.arange(after, dtype=np.float32) + np.float32(0.5)) * step
    first = np.maximum(np.ceil(middle - reach - np.float32(0.5)), 0).astype(int)
    last = np.minimum(np.floor(middle + reach - np.float32(0.5)), before - 1).astype(int)
    places = first + np.arange((last - first).max() + 1)[:, np.newaxis]  # (taps, after)
    distances = np.abs(places.astype(np.float32) + np.float32(0.5) - middle) / reach
    weights = np.where(places <= last, np.maximum(1 - distances, 0), 0)
    weights /= weights.sum(axis=0)
    found = np.zeros((after, *image.shape[1:]), np.float32)
    for place, weight in zip(np.minimum(places, before - 1), weights, strict=True):
        found += weight[:, np.newaxis, np.newaxis] * image[place]
    return found


def _pixels(path, content):
    """Return the pixels of a PNG file with alpha, uint8 `(high, wide, 4)`."""
    try:
        from PIL import Image
    except ImportError:
        raise InputError(
            "Images need the package pillow. Received: no pillow. Run pip install pillow"
        ) from None
    wide, high = _declared_size(content)
    if wide * high > MOST_PIXELS:
        raise _wrong(path, f"a PNG file of at most {MOST_PIXELS:,} pixels", f"{wide} x {high}")
    try:
        Image.open(io.BytesIO(content), formats=["PNG"]).verify()  # a broken file may load
        image = Image.open(io.BytesIO(content), formats=["PNG"])
        image.load()
        if LAST_CHUNK not in content:
            raise ValueError("its end is missing")
    except (
        *(IndexError, OSError, SyntaxError, ValueError),  # Pillow's errors for a broken file
        struct.error,
    ) as error:
        raise _wrong(path, "a whole PNG file", str(error)) from None
    bits, key = content[24], image.info.get("transparency")
    if image.mode in ("P", "LA", "RGBA"):
        return np.asarray(image.convert("RGBA"))
    if key is not None and bits == 16 and image.mode == "RGB":
        wanted = "a PNG file with 8 bits per channel if one of its colors is transparent"
        raise _wrong(path, wanted, "16 bits")  # Pillow keeps only 8 of them
    return _with_alpha(np.asarray(image.convert("L") if bits == 1 else image), bits, key)


def _orientation(content):
    """Return the EXIF orientation in the eXIf chunk of a PNG file; 1 (upright) if unknown."""
    camera = content.partition(b"eXIf")[2]
    tag, place = ORIENTATIONS.get(camera[:2], (b"", 0))
    number = camera.partition(tag)[2][place : place + 1] if tag else b""
    return number[0] if number and 1 <= number[0] <= 8 else 1


def upright(image, orientation):
    """Rotate and mirror an image `(high, wide, channels)` so that it is upright."""
    if orientation >= 5:
        image = image.swapaxes(0, 1)
    if orientation in (2, 3, 6, 7):
        image = image[:, ::-1]
    return image[::-1] if orientation in (3, 4, 7, 8) else image


def _declared_size(content):
    """Return (width, height) from the header of a PNG file; (0, 0) if it has none."""
    head, check = content[12:29], content[29:33]
    if not content.startswith(HEADER) or zlib.crc32(head) != int.from_bytes(check, "big"):
        return 0, 0
    return struct.unpack_from(">II", head, 4)


def _with_alpha(array, bits, key):
    """Add alpha to gray `(high, wide)` or color `(high, wide, 3)`; `key` is transparent."""
    array = array.reshape(*array.shape[:2], -1)
    alpha = np.full((*array.shape[:2], 1), PAPER, np.uint8)
    if key is not None:
        levels = 2**bits - 1
        key = np.array(key) & levels
        alpha[(array == (key * PAPER // levels if bits < 8 else key)).all(axis=2)] = 0
    if array.dtype != np.uint8:
        array = (array >> 8).astype(np.uint8)  # from 16 bits
    return np.concatenate([np.broadcast_to(array, (*array.shape[:2], 3)), alpha], axis=2)


def _check_length(path, count, card):
    longest = card["max_source_length"]
    if count > longest:
        raise _wrong(path, f"a file of at most {longest} positions", f"{count}")


def _wrong(path, wanted, received):
    return InputError(
        f"This program reads {wanted}. Received: {path!r}, {received}. "
        "Convert it, or use keras-bahdanau read."
    )
