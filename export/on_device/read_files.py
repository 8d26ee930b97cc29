"""Reads images or transcribes recordings with one .tflite file, without TensorFlow.

    python read_files.py formulas.tflite formula.png
    python read_files.py an4.tflite hello.wav goodbye.wav

A file in, a line out. It takes what needs no resampling, and makes the same features of it as in
training, bit for bit: WAV files of 16 kHz, 16 bits and one channel, and PNG files of 8 bits and
without transparency that have the height of the model. `keras-bahdanau read` takes all others.

Needs Python 3.10, ai-edge-litert, sentencepiece and NumPy, for images Pillow, and beside it
translate.py and exporters/litert/on_device.py of keras_bahdanau, as translate.py does.

Exit codes: 0 all is read; 2 the command line, the model or a file is wrong.
"""

import argparse
import io
import struct
import sys

import translate
from translate import InputError

RATE, HOP = 16_000, 160  # samples a second, and of a position
FORM, PCM = struct.Struct("<HHIIHH"), 1  # of a WAV file
PAPER = 255
GREY = (77, 150, 29)  # shares of red, green and blue, in 256ths
MOST_BYTES = 2**24  # of a file
LAST_CHUNK = b"\0\0\0\0IEND\xaeB`\x82"  # of a PNG file


def main(arguments=None):
    """The program; returns its exit code."""
    options = _parse(arguments)
    return translate.exit_code(lambda: _run(options))


def _parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="the .tflite file")
    parser.add_argument("files", nargs="+", help="WAV or PNG files")
    translate.add_options(parser)
    options = parser.parse_args(arguments)
    translate.check_suggestions(parser, options)
    return options


def _run(options):
    runner = translate.load_runner("OnDevicePipeline", options)
    for number, path in enumerate(options.files):
        features, labels = features_of(path, runner.card)
        results = _read(runner, features, labels, options)
        if options.json:
            print(translate.json_of(results), flush=True)
            continue
        for result in results:
            print(translate.text_of(result, number, options), flush=True)


def _read(runner, features, labels, options):
    try:
        return runner.decode_nbest(features, labels, options.nbest or 1, options.prefix)
    except ValueError as error:
        raise InputError(error) from None


def features_of(path, card):
    """The inputs of a model for one file, and the names of the positions of its alignments.

    Args:
        path: String.
        card: Dictionary, the card of the model.

    Returns:
        (dictionary from the names of the inputs to arrays without a batch, list of strings).

    Raises:
        InputError: If the model reads no such files, or the file is another one.
    """
    source = card.get("source", {})
    kinds = {"ImageSource": _image, "AudioSource": _sound}
    if source.get("class_name") not in kinds:
        raise InputError(
            "A model must read images or sound. "
            f"Received: a model of {source.get('class_name', 'text')}. Use translate.py for text."
        )
    try:
        with open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(translate.unreadable(path, error)) from None
    if len(content) > MOST_BYTES:
        raise _wrong(path, f"a file of at most {MOST_BYTES:,} bytes", "a larger one")
    features, labels = kinds[source["class_name"]](path, content, source["config"], card)
    count, longest = features["lengths"], card["max_source_length"]
    if count > longest:
        raise _wrong(path, f"a file of at most {longest} positions", f"{count}")
    return features, labels[:: card["reduction"]]


def _sound(path, content, settings, card):
    import numpy as np

    tag, channels, rate, _, _, bits, data = _chunks(content)
    if (tag, rate, bits, channels) != (PCM, RATE, 16, 1):
        form = f"{rate:,} Hz, {bits} bits, {channels} channels" if data else "no samples"
        raise _wrong(path, "a WAV file of 16 kHz, 16 bits and one channel", form)
    samples = np.frombuffer(data[: len(data) // 2 * 2], "<i2") / np.float32(2**15)
    count = -(-len(samples) // HOP)
    return {"samples": samples, "lengths": count}, [f"{n * HOP / RATE:.2f}" for n in range(count)]


def _chunks(content):
    """The numbers of the first "fmt " chunk of a WAV file, and the bytes of its first "data".

    As in training, no other size counts than those of the chunks, and of the file.
    """
    found, place = {}, 12
    if content[:4] != b"RIFF" or content[8:12] != b"WAVE":
        place = len(content)
    while place + 8 <= len(content) and len(found) < 2:
        name, size = struct.unpack_from("<4sI", content, place)
        if name == b"data" or name == b"fmt " and size >= FORM.size:
            found.setdefault(name, content[place + 8 : place + 8 + size])
        place += 8 + size + size % 2  # chunks begin at even places
    form = found.get(b"fmt ", b"")[: FORM.size]
    return *FORM.unpack(form.ljust(FORM.size, b"\0")), found.get(b"data", b"")


def _image(path, content, settings, card):
    import numpy as np

    height, width, cell = settings["height"], settings["width"], settings["cell"]
    image = _pixels(path, content, height, width)
    ink = PAPER - image if settings["ink"] == "dark" else image  # (height, wide, 1 or 3)
    if settings["channels"] == 1 and ink.shape[2] == 3:
        ink = np.rint(ink @ np.array(GREY, np.float32)[:, np.newaxis] / 256).astype(np.uint8)
    rows, columns = height // cell, -(-image.shape[1] // cell)
    wide = max(columns, -(-card["max_source_length"] // rows)) * cell
    pixels = np.full((height, wide, settings["channels"]), PAPER, np.uint8)
    pixels[:, : image.shape[1]] = PAPER - ink
    labels = [f"{x},{y}" for x in range(columns) for y in range(rows)]
    return {"pixels": pixels, "lengths": len(labels)}, labels


def _pixels(path, content, height, width):
    """Pixels uint8 `(height, wide, 1 or 3)` of a PNG file of that height, at most so wide."""
    import numpy as np

    try:
        from PIL import Image
    except ImportError:
        raise InputError(
            "Images need the package pillow. Received: no pillow. Run pip install pillow"
        ) from None
    try:
        Image.open(io.BytesIO(content), formats=["PNG"]).verify()  # or a broken one may be read
        image = Image.open(io.BytesIO(content), formats=["PNG"])
        wide, high = image.size
        plain = image.mode in ("1", "L", "P", "RGB") and "transparency" not in image.info
        if high != height or wide > width or not plain:
            wanted = f"a PNG file {height} pixels high, at most {width} wide, plain"
            raise _wrong(path, wanted, f"{wide} x {high}, {image.mode}")
        array = np.asarray(image.convert("L" if image.mode in ("1", "L") else "RGB"))
        if LAST_CHUNK not in content:
            raise ValueError("it has no end")
    except (
        *(IndexError, OSError, SyntaxError, ValueError),  # Pillow's, of a broken file
        Image.DecompressionBombError,
    ) as error:
        raise _wrong(path, "a whole PNG file", str(error)) from None
    return array if array.ndim == 3 else array[..., np.newaxis]


def _wrong(path, wanted, received):
    return InputError(
        f"This program takes {wanted}. Received: {path!r}, {received}. "
        "Convert it, or use keras-bahdanau read."
    )


if __name__ == "__main__":
    sys.exit(main())
