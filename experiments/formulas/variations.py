"""Make new formulas from old ones: join two side by side, or distort one."""

import numpy as np
from drawing import mean_size
from formulas import not_empty

LONGEST = 30  # maximum tokens of two formulas side by side
WAVES = 3  # number of waves that bend a formula
WAVE_LENGTHS = 2.0, 6.0  # wavelengths in mean stroke sizes
TURNED = "strength of the distortion applied once to each formula (%(default)s)"


def joined(pairs, count, seed=0):
    """Return `count` new formulas, each of two with the second to the right of the first.

    The strokes of both are scaled to the same mean size, as in `drawn`. Their middles are at the
    same height, with a space of about one stroke size between them.

    Args:
        pairs: List of (strokes, latex).
        count: Integer. Number of new formulas.
        seed: Integer. Seed for choosing them and the space between them.

    Returns:
        List of (strokes, latex).

    Raises:
        ValueError: If no formula is short enough.
    """
    random = np.random.default_rng(seed)
    short = [pair for pair in pairs if len(pair[1].split()) <= LONGEST // 2 and not_empty(pair[0])]
    if count and not short:
        raise ValueError(
            f"Formulas to join must have strokes, and at most {LONGEST // 2} tokens. "
            f"Received: {len(pairs)} formulas, none of them suitable."
        )
    chosen = random.integers(max(len(short), 1), size=(count, 2))
    return [
        (beside(short[one][0], short[other][0], space), f"{short[one][1]} {short[other][1]}")
        for (one, other), space in zip(chosen, random.uniform(0.4, 1.4, count), strict=True)
    ]


def beside(first, second, space):
    """Return the strokes of both formulas, in units of mean stroke size, `space` units apart."""
    strokes, end = [], -space
    for part in (first, second):
        part = not_empty(part)
        points = np.concatenate(part)
        low, high = points.min(axis=0), points.max(axis=0)
        unit = mean_size(part)
        begin = np.array([low[0], (low[1] + high[1]) / 2])
        strokes += [(stroke - begin) / unit + [end + space, 0.0] for stroke in part]
        end += space + (high[0] - low[0]) / unit
    return strokes


def turned(inks, strength, seed=0):
    """Shear, rotate, scale and bend the strokes of each formula at random, once.

    p' = p M + sum_k a_k sin(2 pi p . u_k / l_k + f_k)

    M is close to the identity. The waves bend each symbol differently, like a hand: |a_k| is
    chosen so that they change a small piece of a stroke about as much as M does. (After Simard
    et al. 2003, "Best practices for convolutional neural networks applied to visual document
    analysis".)

    Args:
        inks: List of lists of arrays `(points, 2)`.
        strength: Float. Standard deviation of the change to each element of the matrix.
        seed: Integer. Seed for the changes.

    Returns:
        List of the same form.
    """
    random = np.random.default_rng(seed)
    noise = random.normal(scale=strength, size=(len(inks), 2, 2))
    matrices = np.eye(2) + np.clip(noise, -0.5, 0.5)
    found = []
    for ink, matrix in zip(inks, matrices, strict=True):
        bend = waves(mean_size(ink), strength, random)
        found.append([stroke @ matrix + bend(stroke) for stroke in ink])
    return found


def waves(unit, strength, random):
    """Return a function from points `(points, 2)` to their displacement by random waves."""
    length = unit * random.uniform(*WAVE_LENGTHS, WAVES)
    angle, begin = random.uniform(0, 2 * np.pi, (2, WAVES))
    across = np.stack([np.cos(angle), np.sin(angle)]) * 2 * np.pi / length  # (2, waves)
    change = np.clip(random.normal(scale=strength, size=(2, WAVES)), -0.5, 0.5)
    moves = (change * length / (2 * np.pi)).T  # (waves, 2)
    return lambda points: np.sin(points @ across + begin) @ moves
