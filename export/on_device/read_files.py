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
import sys
import wave

import translate
from translate import InputError

RATE, HOP = 16_000, 160  # samples a second, and of a position
PAPER = 255
GREY = (77, 150, 29)  # shares of red, green and blue, in 256ths
MOST_BYTES = 2**24  # of a file


def main(arguments=None):
    """The program; returns its exit code."""
    sys.stdout.reconfigure(encoding="utf-8")
    options = _parse(arguments)
    try:
        runner = translate.load_runner("OnDevicePipeline", options)
        for path in options.files:
            features, labels = features_of(path, runner.card)
            print(runner.decode(features, labels).text, flush=True)
        return 0
    except InputError as error:
        translate.complain(error)
        return 2
    except KeyboardInterrupt:
        return 130


def _parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="the .tflite file")
    parser.add_argument("files", nargs="+", help="WAV or PNG files")
    parser.add_argument(
        "--greedy", action="store_true", help="no beam search: faster, a little worse"
    )
    parser.add_argument(
        "--threads",
        type=translate.threads,
        default=1,
        help="processor threads [default: %(default)s]",
    )
    return parser.parse_args(arguments)


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
            features, labels = kinds[source["class_name"]](path, file, source["config"], card)
    except OSError as error:
        if error.errno is None:  # Pillow's, of a broken file
            raise _wrong(path, "a whole PNG file", str(error)) from None
        raise InputError(translate.unreadable(path, error)) from None
    count, longest = features["lengths"], card["max_source_length"]
    if count > longest:
        raise _wrong(path, f"a file of at most {longest} positions", f"{count}")
    return features, labels[:: card["reduction"]]


def _sound(path, file, _, card):
    import numpy as np

    wanted = "a WAV file of 16 kHz, 16 bits and one channel"
    try:
        with wave.open(file) as sound:
            form = sound.getframerate(), 8 * sound.getsampwidth(), sound.getnchannels()
            content = sound.readframes(card["max_source_length"] * HOP + 1)
    except (EOFError, RuntimeError, wave.Error) as error:
        raise _wrong(path, wanted, str(error) or "no whole file") from None
    if form != (RATE, 16, 1):
        raise _wrong(path, wanted, "{:,} Hz, {} bits, {} channels".format(*form))
    samples = np.frombuffer(content[: len(content) // 2 * 2], "<i2") / np.float32(2**15)
    count = -(-len(samples) // HOP)
    return {"samples": samples, "lengths": count}, [f"{n * HOP / RATE:.2f}" for n in range(count)]


def _image(path, file, settings, card):
    import numpy as np

    height, width, cell = settings["height"], settings["width"], settings["cell"]
    image = _pixels(path, file, height, width)
    ink = PAPER - image if settings["ink"] == "dark" else image  # (height, wide, 1 or 3)
    if settings["channels"] == 1 and ink.shape[2] == 3:
        ink = np.rint(ink @ np.array(GREY, np.float32)[:, np.newaxis] / 256).astype(np.uint8)
    rows, columns = height // cell, -(-image.shape[1] // cell)
    wide = max(columns, -(-card["max_source_length"] // rows)) * cell
    pixels = np.full((height, wide, settings["channels"]), PAPER, np.uint8)
    pixels[:, : image.shape[1]] = PAPER - ink
    labels = [f"{x},{y}" for x in range(columns) for y in range(rows)]
    return {"pixels": pixels, "lengths": len(labels)}, labels


def _pixels(path, file, height, width):
    """Pixels uint8 `(height, wide, 1 or 3)` of a PNG file of that height, at most so wide."""
    import numpy as np

    try:
        from PIL import Image
    except ImportError:
        raise InputError(
            "Images need the package pillow. Received: no pillow. Run pip install pillow"
        ) from None
    if file.seek(0, 2) > MOST_BYTES:
        raise _wrong(path, f"a file of at most {MOST_BYTES:,} bytes", f"{file.tell():,}")
    file.seek(0)
    try:
        image = Image.open(file, formats=["PNG"])
        wide, high = image.size
        plain = image.mode in ("1", "L", "P", "RGB") and "transparency" not in image.info
        if high != height or wide > width or not plain:
            wanted = f"a PNG file {height} pixels high, at most {width} wide, plain"
            raise _wrong(path, wanted, f"{wide} x {high}, {image.mode}")
        array = np.asarray(image.convert("L" if image.mode in ("1", "L") else "RGB"))
    except (SyntaxError, ValueError) as error:  # Pillow's, of a broken file
        raise _wrong(path, "a whole PNG file", str(error)) from None
    return array if array.ndim == 3 else array[..., np.newaxis]


def _wrong(path, wanted, received):
    return InputError(
        f"This program takes {wanted}. Received: {path!r}, {received}. "
        "Convert it, or use keras-bahdanau read."
    )


if __name__ == "__main__":
    sys.exit(main())
