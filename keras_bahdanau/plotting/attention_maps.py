"""Plot of an image with one copy per token, overlaid with a heat map of the token's weights."""

import numpy as np
from matplotlib.figure import Figure

from keras_bahdanau.plotting.figures import check_picture, check_result
from keras_bahdanau.plotting.fonts import families_for
from keras_bahdanau.plotting.labels import FigureTitle, fit_text, labelled_targets
from keras_bahdanau.plotting.overlay import colored, overlay, relative

PAGE_INCHES, PANEL_INCHES, GAP_INCHES, TITLE_INCHES, MARGIN_INCHES = 12.0, 1.6, 0.12, 0.25, 0.12
LOWEST_INCHES, TALLEST_INCHES, NARROWEST_INCHES = 0.3, 3.0, 0.9
SIDES_INCHES, USUAL_PANELS = (1.2, 1.9), 16  # limits on the side of a square panel
TITLE_POINTS, NOTE_POINTS = 9, 8


def plot_attention_maps(result, picture, *, words=None, smooth=True, most=48):
    """Draw an image, then the same image for each token of its text, overlaid with its weights.

    The figure resembles figure 3 of Xu et al. 2015, "Show, attend and tell". Attended parts are
    orange, and the background is dimmed. Each map is relative to the largest weight of its token;
    uniform weights stay pale.

    Args:
        result: A `Translation`, or any object that `plot_alignment` accepts.
        picture: `Picture` of the input, from `pipeline.picture`.
        words: Boolean. True for one image per word, with the mean weights of its subwords. False
            and None as in `plot_alignment`.
        smooth: Boolean. False for cells with sharp edges.
        most: Integer from 1 to 400. Maximum number of tokens to draw.

    Returns:
        Figure, at most 12 inches wide.

    Raises:
        TypeError: If `result` or `picture` has the wrong type.
        ValueError: If the alignment does not match the picture and the tokens, or if `most` is out
            of range.
    """
    check_result(result)
    check_picture(picture)
    if not isinstance(most, int) or not 1 <= most <= 400:
        raise ValueError(f"`most` must be an integer from 1 to 400. Received: most={most!r}")
    weights, labels = labelled_targets(result, words)
    maps = picture.maps(relative(weights))[:most]  # (panels, rows, columns)
    text = getattr(result, "text", "")
    families = families_for([text, *labels[:most]])
    images = [colored(picture)] + [overlay(picture, weights, smooth) for weights in maps]
    note = "" if len(maps) == len(labels) else f"The first {most} of {len(labels)} tokens."
    page = _Page(len(images), picture, FigureTitle(text, families), note)
    for number, (image, label) in enumerate(zip(images, ["", *labels], strict=False)):
        ax = page.panel(number)
        ax.imshow(image, extent=(0, picture.columns, picture.rows, 0), aspect="auto")
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set(linewidth=0.5, color="0.6")
        title = ax.set_title(
            label, pad=3, fontsize=TITLE_POINTS, fontfamily=families, parse_math=False
        )
        fit_text(title, page.width + GAP_INCHES / 2)
    return page.figure


class _Page:
    """A figure with panels of equal size, arranged in rows from the top left."""

    def __init__(self, panels, picture, title, note):
        height, width = picture.pixels.shape[:2]
        # panels of all proportions have the same area, which is smaller if there are many panels
        side = np.clip(PANEL_INCHES * np.sqrt(USUAL_PANELS / panels), *SIDES_INCHES)
        self.width = np.clip(side * np.sqrt(width / height), NARROWEST_INCHES, PAGE_INCHES)
        self.height = np.clip(self.width * height / width, LOWEST_INCHES, TALLEST_INCHES)
        fitting = int((PAGE_INCHES + GAP_INCHES) / (self.width + GAP_INCHES))
        lines = -(-panels // fitting)
        self.per_line = -(-panels // lines)
        page_width = self.per_line * (self.width + GAP_INCHES) - GAP_INCHES + 2 * MARGIN_INCHES
        top = title.wrap(page_width - 2 * MARGIN_INCHES)
        self.line = TITLE_INCHES + self.height + GAP_INCHES
        bottom = TITLE_INCHES if note else 0.0
        self.size = np.array([page_width, top + lines * self.line + bottom])
        self.top = self.size[1] - top
        self.figure = Figure(figsize=self.size, dpi=150)
        title.draw(self.figure)
        if note:
            x, y = np.array([MARGIN_INCHES, MARGIN_INCHES]) / self.size
            self.figure.text(x, y, note, fontsize=NOTE_POINTS, color="0.4")

    def panel(self, number):
        line, column = divmod(number, self.per_line)
        left = MARGIN_INCHES + column * (self.width + GAP_INCHES)
        bottom = self.top - line * self.line - TITLE_INCHES - self.height
        return self.figure.add_axes(
            (*([left, bottom] / self.size), *([self.width, self.height] / self.size))
        )
