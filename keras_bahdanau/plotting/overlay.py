"""Drawing of weights and scores over the picture of an input."""

import matplotlib
import numpy as np

# the orange of Okabe and Ito, which colour-blind readers can tell from grey
ATTENDED = np.array([0.90, 0.62, 0.00])
TINT, CONTRAST = 0.6, 0.35  # fraction of orange where attended, remaining contrast elsewhere
EVEN = 4  # weights below this multiple of the mean stay pale
# in pixels: width of both maps of a step, height of a name, gap between maps
MAPS_WIDTH, NAME, GAP = 740, 26, 20
# maximum heights of maps in pixels: stacked, side by side, and without fixed proportions
LOW, HIGH, FLAT = 150, 240, 110
WIDE = 3.0  # maps whose width/height ratio is above this are stacked


def colored(picture):
    """Return the pixels of a `Picture` in colour, float `(height, width, 3)` in [0, 1]."""
    pixels = np.asarray(picture.pixels, np.float64)
    if pixels.ndim == 2:
        pixels = matplotlib.colormaps[picture.colors](pixels)[..., :3]
    return pixels


def overlay(picture, shares, smooth=True):
    """Return a uint8 image `(height, width, 3)` with orange attended parts on a dim background."""
    pixels = colored(picture)  # (height, width, 3)
    grey = pixels.mean(axis=-1, keepdims=True)
    background = np.median(grey)
    dim = background + CONTRAST * (grey - background)
    clear = (1 - TINT) * pixels + TINT * ATTENDED
    share = spread(shares, pixels.shape[:2], smooth)[..., np.newaxis]
    return np.round(255 * (dim + share * (clear - dim))).astype(np.uint8)


def relative(weights):
    """Divide weights `(target_time, source_time)` by the largest weight of each token.

    The results are in [0, 1]. The largest weight counts as at least four times the mean, so a
    uniform distribution stays pale.
    """
    weights = np.asarray(weights, np.float64)
    floor = min(1.0, EVEN / max(1, weights.shape[1]))
    return np.clip(weights / np.maximum(weights.max(axis=1, keepdims=True, initial=0), floor), 0, 1)


def spread(cells, shape, smooth=True):
    """Interpolate cells `(rows, columns)` to pixels `shape`, bilinearly or with constant cells."""
    down, across = (
        _shares_of_cells(pixels, number, smooth)
        for pixels, number in zip(shape, np.shape(cells), strict=True)
    )
    # (height, rows) @ (rows, columns) @ (columns, width)
    return down @ cells @ across.T


def _shares_of_cells(pixels, number, smooth):
    """Return the fraction of each cell in each pixel along one axis, float `(pixels, number)`."""
    positions = (np.arange(pixels) + 0.5) / pixels * number - 0.5  # 0 is the centre of cell 0
    if not smooth:
        positions = np.round(positions)
    distances = np.abs(np.clip(positions, 0, number - 1)[:, np.newaxis] - np.arange(number))
    return np.maximum(0.0, 1.0 - distances)


class StepMaps:
    """Maps of the scores and weights of each step of a `Trace`, over its picture."""

    def __init__(self, trace):
        self.picture = trace.picture
        height, width = self.picture.pixels.shape[:2]
        if self.picture.axis:  # the axis is not spatial, so any proportions are allowed
            height, width = FLAT, MAPS_WIDTH
        self.below = width > WIDE * height
        room = (MAPS_WIDTH, LOW) if self.below else ((MAPS_WIDTH - GAP) / 2, HIGH)
        self.size = np.array([width, height]) * min(room[0] / width, room[1] / height)
        self.height = (2 if self.below else 1) * (self.size[1] + NAME) + (GAP if self.below else 0)
        self.scores = self.picture.maps(_normalized(trace.scores))
        self.weights = self.picture.maps(relative(trace.weights))

    def draw(self, canvas, step, x, middle):
        """Draw both maps of a step to the right of `x`; return the right edge of the weights."""
        width, height = self.size
        top = middle - self.height / 2 + NAME
        for name, maps in (
            ("scores $e_{ij}$", self.scores),
            ("weights $\\alpha_{ij}$", self.weights),
        ):
            canvas.text(x, top - NAME / 2, name, size=9, color="0.45")
            canvas.picture(x, top, width, height, overlay(self.picture, maps[step]))
            end = x + width, top + height / 2
            if self.below:
                top += height + NAME + GAP
            else:
                x += (MAPS_WIDTH + GAP) / 2
        return end


def _normalized(scores):
    """Scale the scores of each step to [0, 1], from lowest to highest; 0 if all are equal."""
    low, high = scores.min(axis=1, keepdims=True), scores.max(axis=1, keepdims=True)
    return (scores - low) / np.where(high > low, high - low, 1.0)
