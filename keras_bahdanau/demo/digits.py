"""Captions of handwritten digits on a canvas, for the demo of images.

The digits are real: 1,797 of them come with scikit-learn (Alpaydin and Kaynak 1998). Two to four
stand on a canvas, in one row or two, and the caption names them in the order of reading: "a three
left of a seven above a one". The order can't be guessed, so a model must look at each of them.
"""

import itertools
import random
from typing import NamedTuple

import numpy as np

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
HEIGHT, WIDTH = 64, 96  # of a canvas
LAYOUTS = ((2,), (3,), (1, 1), (1, 2), (2, 1), (2, 2))  # digits of each row, from the top
SMALLEST, LARGEST = 20, 28  # pixels of a digit's box
DISTORTION = 0.12  # standard deviation of the matrix that turns and shears a digit of training
UNSEEN = 5  # one composition of this number is in no training


class Caption(NamedTuple):
    """A canvas and its caption.

    Attributes:
        image: Uint8 array `(64, 96)`, dark digits on white paper.
        text: String.
        boxes: List of (left, top, right, bottom) in pixels, one a digit in the order of the text.
        known: Bool, True if its digits are among those of the training.
    """

    image: np.ndarray
    text: str
    boxes: list
    known: bool = True


def real_digits():
    """All digits of scikit-learn: a list of ten lists of uint8 arrays `(8, 8)`, 0 for paper.

    Raises:
        ImportError: If scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ImportError(
            "The digits of this demo come with scikit-learn. Received: an environment without it. "
            "Install it: pip install 'keras-bahdanau[digits]'"
        ) from None
    found = load_digits()
    images = np.rint(found.images * (255 / 16)).astype(np.uint8)
    return [list(images[found.target == digit]) for digit in range(10)]


def split(train=6000, valid=500, test=1000, seed=0):
    """Captions for training, validation and test.

    One composition of five (digits and layout) occurs in the test alone. Half of the test has
    handwritten digits of the training, the other half has others: one digit of five is kept for
    it. The digits of the training are turned and sheared a little, each time in another way.

    Args:
        train: Integer, size of the first list.
        valid: Integer, size of the second list.
        test: Integer, size of the third list.
        seed: Integer. The same seed gives the same captions.

    Returns:
        Tuple of three lists of `Caption`.
    """
    digits = real_digits()
    known = [[one for place, one in enumerate(kind) if place % 5] for kind in digits]
    unseen = [kind[::5] for kind in digits]
    rng = random.Random(seed)
    return (
        _drawn(rng, known, train, new=False, distorted=True),
        _drawn(rng, known, valid, new=False),
        [
            *_drawn(rng, known, test - test // 2, new=True),
            *(one._replace(known=False) for one in _drawn(rng, unseen, test // 2, new=True)),
        ],
    )


def _drawn(rng, digits, count, new, distorted=False):
    """Captions of such digits, with compositions that are new or not."""
    captions = []
    while len(captions) < count:
        layout = rng.choice(LAYOUTS)
        chosen = [rng.randrange(10) for _ in range(sum(layout))]
        if _is_unseen(layout, chosen) == new:
            captions.append(_caption(rng, digits, layout, chosen, distorted))
    return captions


def _is_unseen(layout, chosen):
    """True for one composition of five, whatever the order of drawing is."""
    number = LAYOUTS.index(layout)
    for digit in chosen:
        number = number * 31 + digit
    return number % UNSEEN == 0


def _caption(rng, digits, layout, chosen, distorted):
    image = np.full((HEIGHT, WIDTH), 255, np.uint8)
    boxes, names = [], [NAMES[digit] for digit in chosen]
    ends = set(itertools.accumulate(layout))
    # the digits of a row stand side by side: half of the height is theirs
    first = rng.randint(0, HEIGHT // 2) if len(layout) == 1 else 0
    for row, count in enumerate(layout):
        top = first + HEIGHT // 2 * row
        for column in range(count):
            pixels = rng.choice(digits[chosen[len(boxes)]])
            left, right = WIDTH * column // count, WIDTH * (column + 1) // count
            field = (left, top, right, top + HEIGHT // 2)
            boxes.append(_put(rng, image, pixels, field, distorted))
    words = []
    for place, name in enumerate(names, start=1):
        words += ["an" if name == "eight" else "a", name]
        if place < len(names):
            words += ["above"] if place in ends else ["left", "of"]
    return Caption(image, " ".join(words), boxes)


def _put(rng, image, pixels, field, distorted):
    """Draw a digit anywhere in a field; return its box."""
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
    """Ink `(size, size)` of a digit `(8, 8)`, bilinear, turned and sheared around its middle."""
    steps = (np.arange(size) + 0.5) * 8 / size - 4
    places = np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1) @ matrix + 3.5
    places = np.clip(places, -1, 8) + 1  # in the digit with a border of paper
    low = np.minimum(places.astype(int), 8)
    (y, x), (v, u) = low.transpose(2, 0, 1), (places - low).transpose(2, 0, 1)
    ink = np.pad(pixels.astype(np.float64), 1)
    upper = ink[y, x] * (1 - u) + ink[y, x + 1] * u
    lower = ink[y + 1, x] * (1 - u) + ink[y + 1, x + 1] * u
    return upper * (1 - v) + lower * v
