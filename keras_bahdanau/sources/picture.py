"""Pictures of inputs, which show where the positions of a source are."""

from typing import NamedTuple

import numpy as np

OUTLIERS = (1, 99)  # percentiles that are mapped to 0 and 1


class Picture(NamedTuple):
    """Picture of one input, divided into cells that correspond to the positions of its source.

    Cell `x * rows + y` is in column x from the left and row y from the top. All cells have the same
    size, and together they cover the picture.

    Attributes:
        pixels: Float array `(height, width)` or `(height, width, 3)` in [0, 1], top row first.
        positions: Integer, number of positions of the source.
        rows: Integer, number of cells in a column; 1 for a sequence.
        axis: String, unit of the x-axis, such as "seconds"; "" for none.
        scale: Float, width of a column in that unit.
        colors: String, name of a matplotlib colormap for pixels without colour.
        reduction: Integer, number of positions that share one weight of the model's alignment.
        cells: Int array `(positions,)`, the square cell of each position. None if position j is in
            cell j.
    """

    pixels: np.ndarray
    positions: int
    rows: int = 1
    axis: str = ""
    scale: float = 1.0
    colors: str = "gray"
    reduction: int = 1
    cells: np.ndarray | None = None

    @property
    def columns(self):
        if self.cells is None:
            return -(-self.positions // self.rows)
        height, width = self.pixels.shape[:2]
        return width * self.rows // height

    @classmethod
    def heat_map(cls, frames, axis, scale=1.0):
        """Return a picture that shows vectors `(time, size)` as colours; None without vectors.

        The first value of each vector is at the bottom. The lowest 1% of the values map to 0 and
        the highest 1% to 1. A frame is `scale` units long.
        """
        if not len(frames):
            return None
        values = np.asarray(frames, np.float64).T[::-1]  # (time, size) -> (size, time)
        low, high = np.percentile(values, OUTLIERS)
        pixels = np.clip((values - low) / ((high - low) or 1.0), 0.0, 1.0)
        return cls(pixels, len(frames), axis=axis, scale=scale, colors="magma")

    def maps(self, alignment):
        """Return the weight of each cell, which is the largest weight of a position in it.

        The result is float `(target_time, rows, columns)`. `alignment` is float
        `(target_time, memory_time)`. If the encoder shortens the memory, several positions share
        one weight. Raises ValueError if the alignment does not fit the picture.
        """
        alignment = np.asarray(alignment)
        vectors = alignment.shape[1]
        if -(-self.positions // self.reduction) != vectors:
            raise ValueError(
                "`picture` must show the input that was aligned, up to where it was truncated. "
                f"Received: a picture of {self.positions} positions, {self.reduction} per weight, "
                f"and an alignment with {vectors} weights. "
                "Pass pipeline.picture(one), with the search options of the result."
            )
        shared = np.repeat(alignment, self.reduction, axis=1)[:, : self.positions]
        cells = np.arange(self.positions) if self.cells is None else self.cells
        weights = np.zeros((len(alignment), self.columns * self.rows))
        np.maximum.at(weights, (slice(None), cells), shared)
        # (target_time, columns * rows) -> (target_time, rows, columns)
        return weights.reshape(-1, self.columns, self.rows).swapaxes(1, 2)
