"""Canvas for drawing in pixel coordinates."""

import numpy as np
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.path import Path

DPI = 100


class Canvas:
    """A figure with pixel coordinates, y downwards; `families` are the fonts for tokens."""

    def __init__(self, width, height, families):
        self.figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor="white")
        self.families = families
        self.ruler = RendererAgg(1, 1, DPI)  # measures text without a figure
        self.ax = self.figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
        self.ax.set_axis_off()

    def text(self, x, y, text, size=10, color="0.2", **kwargs):
        """Draw text, with math between dollar signs, vertically centred at `y`."""
        options = {"va": "center_baseline", "fontsize": size, "color": color, **kwargs}
        return self.ax.text(x, y, text, **options)

    def token(self, x, y, text, room, **kwargs):
        """Draw text in any script, shrunk to a width of at most `room` pixels."""
        options = {"fontfamily": self.families, "parse_math": False}  # dollar signs are literal
        artist = self.text(x, y, text, **options, **kwargs)
        width = artist.get_window_extent(self.ruler).width
        if width > room:
            artist.set_fontsize(artist.get_fontsize() * room / width)

    def bar(self, x, y, width, height, color):
        """Draw a bar from `x`, vertically centred at `y`; it extends to the left if `width` < 0."""
        self.ax.add_patch(Rectangle((x, y - height / 2), width, height, color=color, linewidth=0))

    def circle(self, x, y, radius, text):
        """Draw a dark circle that contains a text."""
        self.ax.add_patch(Circle((x, y), radius, color="0.25", linewidth=0))
        self.text(x, y, text, size=9.5, color="white", weight="bold", ha="center")

    def box(self, x, y, width, height, **kwargs):
        """Draw a box with rounded corners, whose upper left corner is (x, y)."""
        shape = FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=8")
        shape.set(**{"facecolor": "none", "edgecolor": "0.8", "linewidth": 1, **kwargs})
        self.ax.add_patch(shape)

    def line(self, xs, ys, color, width=1.0, **kwargs):
        """Draw a line through points."""
        self.ax.plot(xs, ys, color=color, linewidth=width, solid_joinstyle="round", **kwargs)

    def flow(self, start, end, color, width=1.0, head=6, **kwargs):
        """Draw a curve from one point to another; `head` is the size of its arrowhead, or 0."""
        (x, y), (end_x, end_y) = start, end
        middle = (x + end_x) / 2
        points = [(x, y), (middle, y), (middle, end_y), (end_x, end_y)]
        self.ax.add_patch(
            FancyArrowPatch(
                path=Path(points, [Path.MOVETO, *[Path.CURVE4] * 3]),
                arrowstyle=f"-|>,head_length={head},head_width={head / 2}" if head else "-",
                capstyle="butt",
                facecolor="none" if not head else color,
                edgecolor=color,
                mutation_scale=1,
                linewidth=width,
                **kwargs,
            )
        )

    def picture(self, x, y, width, height, pixels):
        """Draw an image with its upper left corner at (x, y)."""
        extent = (x, x + width, y + height, y)
        self.ax.imshow(pixels, extent=extent, aspect="auto", zorder=2)
        self._frame(x, y, width, height)

    def strip(self, x, y, width, height, vector, limit):
        """Draw values as a row of cells, from blue at `-limit` to red at `limit`."""
        top, bottom = y - height / 2, y + height / 2
        self.ax.imshow(
            np.asarray(vector)[np.newaxis],
            extent=(x, x + width, bottom, top),
            aspect="auto",
            cmap="RdBu_r",
            vmin=-limit,
            vmax=limit,
            interpolation="nearest",
            zorder=2,
        )
        self._frame(x, top, width, height)

    def _frame(self, x, y, width, height):
        line = {"fill": False, "edgecolor": "0.55", "linewidth": 0.7, "zorder": 3}
        self.ax.add_patch(Rectangle((x, y), width, height, **line))
