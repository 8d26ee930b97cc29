"""Pictures of inputs, and where the positions of a source are on them."""

from typing import NamedTuple

import numpy as np

OUTLIERS = (1, 99)  # percentiles that are mapped to 0 and 1


class Picture(NamedTuple):
    """One input to look at, divided into cells: the positions of its source.

    Cell `x * rows + y` is in column x from the left and row y from the top. Cells of the same
    size cover the whole picture.

    Attributes:
        pixels: Float array `(height, width)` or `(height, width, 3)` in [0, 1], upper row first.
        positions: Integer, number of positions of the source.
        rows: Integer, number of cells of a column; 1 for a sequence.
        axis: String, unit of the x-axis, such as "seconds"; "" for none.
        scale: Float, width of a column in that unit.
        colors: String, name of a matplotlib colormap for pixels without colours.
        reduction: Integer, the model's number of positions per weight of an alignment.
        cells: Int array `(positions,)`, the cell, a square, of each position. None if position j is
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
        """Picture of vectors `(time, size)` as colours, first value at the bottom; None if empty.

        The lowest hundredth of the values is 0, the highest is 1. A frame is `scale` units long.
        """
        if not len(frames):
            return None
        values = np.asarray(frames, np.float64).T[::-1]  # (time, size) -> (size, time)
        low, high = np.percentile(values, OUTLIERS)
        pixels = np.clip((values - low) / ((high - low) or 1.0), 0.0, 1.0)
        return cls(pixels, len(frames), axis=axis, scale=scale, colors="magma")

    def maps(self, alignment):
        """Weight of each cell, float `(target_time, rows, columns)`: the largest of its positions.

        `alignment` is float `(target_time, memory_time)`, else ValueError. Positions of a shortened
        memory share one weight.
        """
        alignment = np.asarray(alignment)
        vectors = alignment.shape[1]
        if -(-self.positions // self.reduction) != vectors:
            raise ValueError(
                "`picture` must be of the input that was aligned, as far as it was read. "
                f"Received: a picture of {self.positions} positions, {self.reduction} for one "
                f"weight, and an alignment with {vectors}. "
                "Pass pipeline.picture(one), with the search options of the result."
            )
        shared = np.repeat(alignment, self.reduction, axis=1)[:, : self.positions]
        cells = np.arange(self.positions) if self.cells is None else self.cells
        weights = np.zeros((len(alignment), self.columns * self.rows))
        np.maximum.at(weights, (slice(None), cells), shared)
        # (target_time, columns * rows) -> (target_time, rows, columns)
        return weights.reshape(-1, self.columns, self.rows).swapaxes(1, 2)
