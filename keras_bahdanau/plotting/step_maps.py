"""Scores and weights of one step over the picture of an input, in the place of its tokens."""

import numpy as np

from keras_bahdanau.plotting.overlay import overlay, relative

WIDTH, NAME, GAP = 740, 26, 20  # pixels: of the place for both maps, of a name, between maps
LOW, HIGH, FLAT = 150, 240, 110  # most pixels of height: stacked, side by side, without proportions
WIDE = 3.0  # proportions from which one map stands above the other


class StepMaps:
    """The maps of a `Trace` with a picture.

    Args:
        trace: `Trace`.

    Attributes:
        height: Number, pixels that the maps of a step take.
    """

    def __init__(self, trace):
        self.picture = trace.picture
        height, width = self.picture.pixels.shape[:2]
        if self.picture.axis:  # not of space: it has no proportions to keep
            height, width = FLAT, WIDTH
        self.below = width > WIDE * height
        room = (WIDTH, LOW) if self.below else ((WIDTH - GAP) / 2, HIGH)
        self.size = np.array([width, height]) * min(room[0] / width, room[1] / height)
        self.height = (2 if self.below else 1) * (self.size[1] + NAME) + (GAP if self.below else 0)
        self.scores = self.picture.maps(_between_extremes(trace.scores))
        self.weights = self.picture.maps(relative(trace.weights))

    def draw(self, canvas, step, x, middle):
        """Draw both maps of a step into a place with its left edge and middle at that point.

        Returns:
            Pair of numbers, the middle of the right edge of the map of weights.
        """
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
                x += (WIDTH + GAP) / 2
        return end


def _between_extremes(scores):
    """Scores of each step in [0, 1], from the lowest to the highest; 0 if all are equal."""
    low, high = scores.min(axis=1, keepdims=True), scores.max(axis=1, keepdims=True)
    return (scores - low) / np.where(high > low, high - low, 1.0)
