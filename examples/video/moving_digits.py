"""Generate videos in which handwritten digits move one after the other, with descriptions.

"a seven moves left, then a three moves up": two or three digits of scikit-learn (1,797 real ones,
Alpaydin and Kaynak 1998) move. In half of the videos, another digit never moves and is not named.
All digits are always on the canvas.

Each ordered pair of movements, such as "a seven moves left" before "a three moves up", belongs to
one of the parts "train", "dev" and "test", and a video contains only pairs from its part. A tenth
of the digit images belongs to "dev", and another tenth to "test".
"""

import functools
import itertools
import random
from typing import NamedTuple

import numpy as np
from PIL import Image

from keras_bahdanau.demo import images_task

NAMES = images_task.NAMES
SIDE, SIZE = 32, 10  # pixels per side of the canvas and of a digit
DIRECTIONS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}  # pixels per frame
STEPS, REST = (5, 7), (1, 2)  # (minimum, maximum) frames of a movement, and of rest around it
MOST_FRAMES = 3 * STEPS[1] + 4 * REST[1]
DISTORTION = 0.12  # standard deviation of rotation, shear and zoom of training digits
TRIES = 40  # attempts to place a digit before all digits are placed again

MOVEMENTS = [*itertools.product(range(10), DIRECTIONS)]
PAIRS = {"dev": slice(0, 160), "test": slice(160, 480), "train": slice(480, None)}  # 1,600 in all
IMAGES = {"dev": (0,), "test": (1,), "train": range(2, 10)}  # last digits of image numbers


class Movement(NamedTuple):
    """Movement of one digit.

    Attributes:
        digit: Integer from 0 to 9.
        direction: String. A name in `DIRECTIONS`.
        frames: Range of the frames in which it is not at the position of the previous frame.
    """

    digit: int
    direction: str
    frames: range


class Video(NamedTuple):
    """A video and its sentence.

    Attributes:
        frames: Uint8 array `(time, SIDE * SIDE)`, rows of pixels from the top, 0 for black.
        text: String. The sentence.
        movements: List of `Movement` in temporal order.
        known: Bool. True if the images of its digits are in the training set.
    """

    frames: np.ndarray
    text: str
    movements: list
    known: bool


def videos(part, count, seed=0):
    """Return a list of `Video` for a part, the same for the same arguments.

    Training digits are randomly rotated, sheared and zoomed. In "dev" and "test", the first half of
    the videos uses digit images from the training set, the second half images from `part`.
    """
    rng = random.Random(f"{part} {seed}")
    kinds = images_task.real_digits()
    known, new = (
        [
            [image for number, image in enumerate(kind) if number % 10 in IMAGES[name]]
            for kind in kinds
        ]
        for name in ("train", part)
    )
    if part == "train":
        return [_video(rng, known, part, known=True) for _ in range(count)]
    half = count - count // 2
    return [
        *(_video(rng, known, part, known=True) for _ in range(half)),
        *(_video(rng, new, part, known=False) for _ in range(count - half)),
    ]


@functools.cache
def pairs_of(part):
    """Return the set of ordered pairs of movements that belong to a part."""
    pairs = [*itertools.product(MOVEMENTS, repeat=2)]
    random.Random("pairs").shuffle(pairs)
    return {*pairs[PAIRS[part]]}


def sentence(composition):
    """Return the sentence for (digit, direction) pairs."""
    clauses = []
    for digit, direction in composition:
        name = NAMES[digit]
        clauses.append(f"{'an' if name == 'eight' else 'a'} {name} moves {direction}")
    return ", then ".join(clauses)


def _composition(rng, part):
    """Draw two or three (digit, direction) whose ordered pairs all belong to a part."""
    count = rng.choice((2, 3))
    while True:
        composition = rng.choices(MOVEMENTS, k=count)
        if pairs_of(part).issuperset(itertools.combinations(composition, 2)):
            return composition


def _video(rng, images, part, known):
    composition = _composition(rng, part)
    steps = [rng.randint(*STEPS) for _ in composition]
    ways = [
        tuple(count * pixels for pixels in DIRECTIONS[direction])
        for (_, direction), count in zip(composition, steps, strict=True)
    ]
    digits = [digit for digit, _ in composition]
    if rng.random() < 0.5:
        digits.append(rng.randrange(10))
        ways.append((0, 0))
    corners = _corners(rng, ways)
    inks = [_ink(rng, rng.choice(images[digit]), part == "train") for digit in digits]

    frames, movements = [], []
    for number, ((digit, direction), count) in enumerate(zip(composition, steps, strict=True)):
        frames += [_canvas(inks, corners)] * rng.randint(*REST)
        moving = range(len(frames), len(frames) + count)
        movements.append(Movement(digit, direction, moving))
        for _ in moving:
            corners[number] = tuple(np.add(corners[number], DIRECTIONS[direction]))
            frames.append(_canvas(inks, corners))
    frames += [frames[-1]] * rng.randint(*REST)
    frames = np.stack(frames).reshape(len(frames), SIDE * SIDE)
    return Video(frames, sentence(composition), movements, known)


def _corners(rng, ways):
    """Return initial upper left corners (x, y) with which no two digits ever touch.

    `ways` contains the (x, y) offset of each digit's movement, in the order of movements.
    """
    while True:
        paths = []  # (initial corner, final corner) of each digit
        for way in ways:
            for _ in range(TRIES):
                start = tuple(
                    rng.randint(max(0, -pixels), SIDE - SIZE - max(0, pixels)) for pixels in way
                )
                end = tuple(np.add(start, way))
                # earlier digits have moved when this one does; it has not moved when they do
                if all(
                    _are_apart((start, end), path[1:]) and _are_apart((start,), path)
                    for path in paths
                ):
                    paths.append((start, end))
                    break
            else:
                break
        if len(paths) == len(ways):
            return [start for start, _ in paths]


def _are_apart(corners, other_corners):
    """Return True if at least a pixel separates the areas that two digits cover while moving."""
    for axis in (0, 1):
        first, second = ([corner[axis] for corner in path] for path in (corners, other_corners))
        if max(first) + SIZE < min(second) or max(second) + SIZE < min(first):
            return True
    return False


def _ink(rng, pixels, distorted):
    """Scale a digit, uint8 `(8, 8)`, to nine pixels in uint8 `(SIZE, SIZE)`, bilinearly."""
    matrix = np.eye(2)
    if distorted:
        matrix += [[rng.gauss(0, DISTORTION) for _ in range(2)] for _ in range(2)]
    matrix *= len(pixels) / (SIZE - 1)
    # result point p is at matrix (p - its middle) + middle in the digit with a border
    offset = len(pixels) / 2 + 1 - matrix @ [SIZE / 2, SIZE / 2]
    coefficients = np.column_stack([matrix, offset]).ravel()
    image = Image.fromarray(np.pad(pixels, 1)).transform(
        (SIZE, SIZE), Image.Transform.AFFINE, tuple(coefficients), Image.Resampling.BILINEAR
    )
    return np.asarray(image)


def _canvas(inks, corners):
    canvas = np.zeros((SIDE, SIDE), np.uint8)
    for ink, (x, y) in zip(inks, corners, strict=True):
        canvas[y : y + SIZE, x : x + SIZE] = ink
    return canvas
