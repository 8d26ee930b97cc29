"""Image demo: captions for handwritten digits on a canvas.

The 1,797 digits are real handwriting that comes with scikit-learn (Alpaydin and Kaynak 1998). A
canvas has two to four digits in one or two rows, and the caption names them in reading order: "a
three left of a seven above a one". The order can't be guessed, so a model must look at each digit.
"""

import itertools
import random
from typing import NamedTuple

import numpy as np

from keras_bahdanau.demo.task import Task, write_manifest
from keras_bahdanau.text.alignments import word_spans
from keras_bahdanau.training import TrainingOptions

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
HEIGHT, WIDTH = 64, 96  # size of a canvas in pixels
LAYOUTS = ((2,), (3,), (1, 1), (1, 2), (2, 1), (2, 2))  # digits per row, from the top
SMALLEST, LARGEST = 20, 28  # size of a digit's box in pixels
DISTORTION = 0.12  # standard deviation of the rotation and shear of training digits
UNSEEN = 5  # one in five compositions occurs only in the test set

OPTIONS = TrainingOptions(
    preset="images",
    target_model_type="word",
    normalization="identity",
    vocabulary_size=40,
    embedding_units=96,
    units=128,
    encoder_units=48,
    attention_units=96,
    convolutions="16,32,64",
    dropout=0.1,
    label_smoothing=0.05,
    batch_sentences=64,
    learning_rate=3e-3,
    ema_momentum=0.99,
    epochs=22,
    minutes=10,
    best_by="exact",
)


class CaptionedImage(NamedTuple):
    """A canvas with its caption.

    `image` is a uint8 array `(64, 96)` of dark digits on white. `boxes` is a list of (left, top,
    right, bottom) in pixels for the digits, in reading order. `known` is True if these digits occur
    in training.
    """

    image: np.ndarray
    text: str
    boxes: list
    known: bool = True


def real_digits():
    """Load all digits in scikit-learn: ten lists of uint8 arrays `(8, 8)`, where 0 is paper."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ImportError(
            "The digits in this demo come with scikit-learn. Received: an environment without it. "
            "Install it: pip install 'keras-bahdanau[digits]'"
        ) from None
    digits = load_digits()
    images = np.rint(digits.images * (255 / 16)).astype(np.uint8)
    return [list(images[digits.target == digit]) for digit in range(10)]


def split(train=6000, valid=500, test=1000, seed=0):
    """Create three lists of `CaptionedImage`, for training, validation and testing.

    One in five compositions (digits and layout) occurs only in the test set. Half of the test set
    uses handwritten digits from training. The other half uses new ones, which are a fifth of all
    digits. Training digits are randomly rotated and sheared. The same seed always gives the same
    images.
    """
    digits = real_digits()
    known = [[digit for number, digit in enumerate(kind) if number % 5] for kind in digits]
    unseen = [kind[::5] for kind in digits]
    rng = random.Random(seed)
    return (
        _drawn(rng, known, train, new=False, distorted=True),
        _drawn(rng, known, valid, new=False),
        [
            *_drawn(rng, known, test - test // 2, new=True),
            *(image._replace(known=False) for image in _drawn(rng, unseen, test // 2, new=True)),
        ],
    )


def _drawn(rng, digits, count, new, distorted=False):
    """Draw captioned images of digits, with compositions for the test set (`new`) or training."""
    captions = []
    while len(captions) < count:
        layout = rng.choice(LAYOUTS)
        chosen = [rng.randrange(10) for _ in range(sum(layout))]
        if _is_unseen(layout, chosen) == new:
            captions.append(_caption(rng, digits, layout, chosen, distorted))
    return captions


def _is_unseen(layout, chosen):
    """Return True if the hash of a composition puts it in the fifth reserved for the test set."""
    number = LAYOUTS.index(layout)
    for digit in chosen:
        number = number * 31 + digit
    return number % UNSEEN == 0


def _caption(rng, digits, layout, chosen, distorted):
    image = np.full((HEIGHT, WIDTH), 255, np.uint8)
    boxes, names = [], [NAMES[digit] for digit in chosen]
    ends = set(itertools.accumulate(layout))
    # each row takes half of the height
    first = rng.randint(0, HEIGHT // 2) if len(layout) == 1 else 0
    for row, count in enumerate(layout):
        top = first + HEIGHT // 2 * row
        for column in range(count):
            pixels = rng.choice(digits[chosen[len(boxes)]])
            left, right = WIDTH * column // count, WIDTH * (column + 1) // count
            field = (left, top, right, top + HEIGHT // 2)
            boxes.append(_put(rng, image, pixels, field, distorted))
    words = []
    for number, name in enumerate(names, start=1):
        words += ["an" if name == "eight" else "a", name]
        if number < len(names):
            words += ["above"] if number in ends else ["left", "of"]
    return CaptionedImage(image, " ".join(words), boxes)


def _put(rng, image, pixels, field, distorted):
    """Draw a digit at a random position in a field, and return its box."""
    left, top, right, bottom = field
    size = rng.randint(SMALLEST, min(LARGEST, right - left, bottom - top))
    x, y = rng.randint(left, right - size), rng.randint(top, bottom - size)
    matrix = np.eye(2)
    if distorted:
        matrix += [[rng.gauss(0, DISTORTION) for _ in range(2)] for _ in range(2)]
    ink = _enlarged(pixels, size, matrix)
    region = image[y : y + size, x : x + size]
    np.minimum(region, np.rint(255 - ink).astype(np.uint8), out=region)
    return x, y, x + size, y + size


def _enlarged(pixels, size, matrix):
    """Return the ink `(size, size)` of a digit `(8, 8)`, transformed about its center.

    The interpolation is bilinear.
    """
    steps = (np.arange(size) + 0.5) * 8 / size - 4
    points = np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1) @ matrix + 3.5
    points = np.clip(points, -1, 8) + 1  # coordinates in the digit padded with paper
    low = np.minimum(points.astype(int), 8)
    (y, x), (v, u) = low.transpose(2, 0, 1), (points - low).transpose(2, 0, 1)
    ink = np.pad(pixels.astype(np.float64), 1)
    upper = ink[y, x] * (1 - u) + ink[y, x + 1] * u
    lower = ink[y + 1, x] * (1 - u) + ink[y + 1, x + 1] * u
    return upper * (1 - v) + lower * v


class ImagesTask(Task):
    """The task of writing captions for images of digits."""

    options = OPTIONS

    def source(self):
        from keras_bahdanau.sources import ImageSource

        return ImageSource(HEIGHT, WIDTH)

    def data(self):
        return split()

    def write(self, directory, name, examples):
        import tensorflow as tf

        images = (tf.io.encode_png(example.image[..., None]).numpy() for example in examples)
        texts = (example.text for example in examples)
        write_manifest(directory, name, "png", zip(images, texts, strict=True))

    def describe(self, training):
        return f"{len(training):,} images of handwritten digits", (training[0].text,)

    def pair(self, example):
        return example.image, example.text

    def name_of(self, example):
        return f"the image of {example.text!r}"

    def measure(self, pipeline, test, results):
        exact = {True: [], False: []}
        for result, example in zip(results, test, strict=True):
            exact[example.known].append(result.text == example.text)
        hits = pointed(pipeline, test)
        return {
            "exact_match": round(np.mean(exact[True]), 4),
            "exact_match_of_new_digits": round(np.mean(exact[False]), 4),
            "pointing_accuracy": round(np.mean(hits), 4),
        }

    def highlights(self, test):
        return sorted(range(len(test)), key=lambda number: -len(test[number].boxes))[:3]

    def picture(self, pipeline, test, results):
        from keras_bahdanau.plotting import plot_alignment

        number = self.highlights(test)[0]
        return plot_alignment(results[number], pipeline.picture(test[number].image), words=True)

    def summary(self, report):
        return (
            f"{report['exact_match']:.1%} of the captions of new compositions exact, "
            f"{report['exact_match_of_new_digits']:.1%} where the handwriting is new, too; "
            f"{report['pointing_accuracy']:.1%} of the digits attended to while they are named"
        )

    def next_commands(self, out):
        model, data = out / "translator.keras", out / "data"
        return f"""\
  keras-bahdanau read --model {model} {data / "test" / "0000.png"}
  keras-bahdanau align --model {model} {data / "test" / "0001.png"} --plot picture.png
  keras-bahdanau evaluate --model {model} {data / "test.tsv"}
  keras-bahdanau train YOUR.tsv --source image --out runs/mine"""


def pointed(pipeline, captions):
    """Return a list of bools, one for each digit in the captions.

    A bool is True if the cell with the largest weight is in the digit's box, when the model is
    given the caption.
    """
    results = pipeline.align([(caption.image, caption.text) for caption in captions])
    return points(pipeline.source, results, captions)


def points(source, results, captions):
    """Compute what `pointed` returns, from the results for the correct captions."""
    hits = []
    for caption, result in zip(captions, results, strict=True):
        words = word_spans(result.target_tokens)[:, 0]  # the word of each token
        named = [number for number, word in enumerate(caption.text.split()) if word in NAMES]
        for number, (left, top, right, bottom) in zip(named, caption.boxes, strict=True):
            cell = int(result.alignment[words == number].sum(axis=0).argmax())
            x, y = ((part + 0.5) * source.cell for part in divmod(cell, source.grid_height))
            hits.append(left <= x <= right and top <= y <= bottom)
    return hits
