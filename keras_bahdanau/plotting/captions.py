"""Texts that fit: a caption above a figure, and labels made smaller."""

import textwrap

from matplotlib.backends.backend_agg import RendererAgg

POINTS, LINE_INCHES, MARGIN_INCHES, MOST_LINES = 11, 0.21, 0.12, 3
LETTER = 0.55  # width of a letter in a font of size 1, about
SMALLEST_POINTS = 3.0


class Caption:
    """The text of a result as the title of a figure, in a few lines.

    Args:
        text: String, "" for no title.
        families: Font families that have its letters.
    """

    def __init__(self, text, families):
        self.text, self.families = " ".join(text.split()), families

    def wrap(self, width):
        """Divide it into lines of so many inches; return the height that it takes, in inches."""
        letters = max(8, int(width * 72 / (POINTS * LETTER)))
        self.lines = textwrap.wrap(
            self.text, letters, max_lines=MOST_LINES, placeholder=" …", break_on_hyphens=False
        )
        self.width = width
        return MARGIN_INCHES + LINE_INCHES * len(self.lines)

    def draw(self, figure):
        """Write it at the top of a figure."""
        height = figure.get_size_inches()[1]
        for number, line in enumerate(self.lines):
            written = figure.text(
                0.5,
                1 - (MARGIN_INCHES + LINE_INCHES * (number + 0.4)) / height,
                line,
                ha="center",
                va="center",
                fontsize=POINTS,
                fontfamily=self.families,
                parse_math=False,  # a dollar sign stays one
            )
            fit_text(written, self.width)


def fit_text(written, inches):
    """Make a text of a figure smaller if it is wider than so many inches."""
    dpi = written.get_figure(root=True).dpi
    width = written.get_window_extent(RendererAgg(1, 1, dpi)).width / dpi
    if width > inches:
        written.set_fontsize(max(SMALLEST_POINTS, written.get_fontsize() * inches / width))
