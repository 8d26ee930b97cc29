"""Pictures of inputs: what a reader sees, and how the positions of a source lie on it."""

from typing import NamedTuple

import numpy as np

OUTLIERS = (1, 99)  # percentiles of values that become 0 and 1


class Picture(NamedTuple):
    """One input to look at, divided into cells: the positions of its source.

    Cell `x * rows + y` is that in column x from the left and row y from the top. All cells have
    the same size, and together they cover the whole picture.

    Attributes:
        pixels: Float array `(height, width)` or `(height, width, 3)` in [0, 1], the upper row
            first, as matplotlib's `imshow` takes it.
        positions: Integer, number of positions of the source.
        rows: Integer, number of cells of a column; 1 for a sequence.
        axis: String, unit of the x-axis, such as "seconds"; "" for none.
        scale: Float, width of a column in that unit.
        colors: String, name of a matplotlib colormap for pixels without colours.
        reduction: Integer, number of positions for one weight of an alignment: that of the model.
        cells: Int array `(positions,)`, the cell of each position; cells are squares then. None
            if position j is cell j.
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
        """Number of columns of cells."""
        if self.cells is None:
            return -(-self.positions // self.rows)
        height, width = self.pixels.shape[:2]
        return width * self.rows // height

    @classmethod
    def heat_map(cls, frames, axis, scale=1.0):
        """Picture of vectors `(time, size)` as colours, their first value at the bottom.

        The lowest hundredth of the values is 0, the highest is 1. `scale` is the length of a frame
        in units of the x-axis. None if there is no frame.
        """
        if not len(frames):
            return None
        values = np.asarray(frames, np.float64).T[::-1]  # (time, size) -> (size, time)
        low, high = np.percentile(values, OUTLIERS)
        pixels = np.clip((values - low) / ((high - low) or 1.0), 0.0, 1.0)
        return cls(pixels, len(frames), axis=axis, scale=scale, colors="magma")

    def maps(self, alignment):
        """Weights of each cell, from an alignment.

        A memory may be shorter than the source: then several positions share one weight. Of
        several positions in a cell the largest weight counts.

        Args:
            alignment: Float array `(target_time, memory_time)`.

        Returns:
            Float array `(target_time, rows, columns)`.

        Raises:
            ValueError: If the alignment is not that of so many positions.
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
