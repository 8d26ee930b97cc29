"""Weights drawn over the picture of an input."""

import matplotlib
import numpy as np

ATTENDED = np.array(
    [0.90, 0.62, 0.00]
)  # the orange of Okabe and Ito, which all eyes tell from grey
TINT, CONTRAST = 0.6, 0.35  # share of orange where attended; contrast left where not
EVEN = 4  # weights below so many times the mean stay pale


def colored(picture):
    """Pixels of a `Picture` with colours, float `(height, width, 3)` in [0, 1]."""
    pixels = np.asarray(picture.pixels, np.float64)
    if pixels.ndim == 2:
        pixels = matplotlib.colormaps[picture.colors](pixels)[..., :3]
    return pixels


def overlay(picture, shares, smooth=True):
    """Picture in which the attended parts are orange and clear, and all else is dim.

    Args:
        picture: `Picture`.
        shares: Float array `(rows, columns)` in [0, 1], one value a cell.
        smooth: Boolean. False for a sharp edge between two cells.

    Returns:
        uint8 array `(height, width, 3)`.
    """
    pixels = colored(picture)  # (height, width, 3)
    grey = pixels.mean(axis=-1, keepdims=True)
    background = np.median(grey)
    dim = background + CONTRAST * (grey - background)
    clear = (1 - TINT) * pixels + TINT * ATTENDED
    share = spread(shares, pixels.shape[:2], smooth)[..., np.newaxis]
    return np.round(255 * (dim + share * (clear - dim))).astype(np.uint8)


def relative(weights):
    """Weights of each target token in [0, 1], relative to its largest one.

    Where all are small, as those of an even distribution, they stay pale: the largest counts as
    at least four times the mean.

    Args:
        weights: Float array `(target_time, memory_time)`.
    """
    weights = np.asarray(weights, np.float64)
    floor = min(1.0, EVEN / max(1, weights.shape[1]))
    return np.clip(weights / np.maximum(weights.max(axis=1, keepdims=True, initial=0), floor), 0, 1)


def spread(cells, shape, smooth=True):
    """Values of cells as values of pixels: linear between the centres of cells, or constant.

    Args:
        cells: Float array `(rows, columns)`.
        shape: Pair of integers, height and width in pixels.
        smooth: Boolean, linear.

    Returns:
        Float array of that shape.
    """
    down, across = (
        _shares_of_cells(pixels, number, smooth)
        for pixels, number in zip(shape, np.shape(cells), strict=True)
    )
    # (height, rows) @ (rows, columns) @ (columns, width)
    return down @ cells @ across.T


def _shares_of_cells(pixels, number, smooth):
    """Float array `(pixels, number)`: the share of each cell in each pixel along one axis."""
    places = (np.arange(pixels) + 0.5) / pixels * number - 0.5  # 0 is the centre of cell 0
    if not smooth:
        places = np.clip(np.round(places), 0, number - 1)
    distances = np.abs(np.clip(places, 0, number - 1)[:, np.newaxis] - np.arange(number))
    return np.maximum(0.0, 1.0 - distances)
