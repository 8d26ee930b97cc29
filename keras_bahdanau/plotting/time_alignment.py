"""Plot of the picture of a sequence, such as a spectrogram, with the alignment below it."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from keras_bahdanau.plotting.figures import check_picture, check_result
from keras_bahdanau.plotting.fonts import families_for
from keras_bahdanau.plotting.labels import FigureTitle, labelled_targets
from keras_bahdanau.plotting.overlay import colored, relative

NARROWEST, WIDEST, COLUMN = 5.0, 14.0, 0.012  # inches
LOWEST, HIGHEST, GAP, MARGIN, LONGEST_SIDE = 0.6, 1.3, 0.06, 0.1, 60.0
SMALLEST_ROW, LARGEST_ROW, USUAL_INCHES = 0.16, 0.26, 6.0
LETTER_POINTS = 36.0  # font size for a row of one inch


def plot_time_alignment(result, picture, *, words=None):
    """Draw the picture of a sequence, and below it the weights of each token on the same axis.

    Each target token has one row. The larger a weight relative to the largest one in its row, the
    darker the cell. Uniform weights stay pale.

    Args:
        result: A `Translation`, or any object that `plot_alignment` accepts.
        picture: `Picture` of the input with one row of cells, from `pipeline.picture`.
        words: Boolean. True for one row per word, with the mean weights of its subwords. False and
            None as in `plot_alignment`.

    Returns:
        Figure.

    Raises:
        TypeError: If `result` or `picture` has the wrong type.
        ValueError: If the alignment does not match the picture and the tokens, or if the picture
            has several rows of cells.
    """
    check_result(result)
    check_picture(picture)
    if picture.rows > 1:
        raise ValueError(
            "`picture` must have a single row of cells, like that of a recording. "
            f"Received: a picture of {picture.rows} rows. Draw it with plot_attention_maps."
        )
    weights, labels = labelled_targets(result, words)
    maps = picture.maps(relative(weights))[:, 0]  # (tokens, 1, columns) -> (tokens, columns)
    text = getattr(result, "text", "")
    families = families_for([text, *labels])
    end = picture.columns * picture.scale
    figure = Figure(dpi=150)
    above, below = figure.subplots(2, 1, sharex=True)
    above.imshow(colored(picture), extent=(0, end, 1, 0), aspect="auto")
    above.set(yticks=[])
    above.tick_params(length=0, labelbottom=False)
    row = np.clip(USUAL_INCHES / max(1, len(labels)), SMALLEST_ROW, LARGEST_ROW)
    row = min(row, LONGEST_SIDE / max(1, len(labels)))
    if maps.size:
        below.imshow(
            maps,
            extent=(0, end, len(labels), 0),
            aspect="auto",
            cmap="gray_r",
            vmin=0,
            vmax=1,
            interpolation="nearest",
        )
    below.set(xlim=(0, end), ylim=(max(1, len(labels)), 0), xlabel=picture.axis)
    below.hlines(range(1, len(labels)), 0, end, color="0.85", linewidth=0.4)
    below.set_yticks(
        np.arange(len(labels)) + 0.5,
        labels,
        va="center_baseline",
        fontsize=LETTER_POINTS * row,
        fontfamily=families,
        parse_math=False,  # dollar signs are literal
    )
    below.tick_params("y", length=0)
    below.tick_params("x", labelsize=8, bottom=bool(picture.axis), labelbottom=bool(picture.axis))
    below.xaxis.label.set_fontsize(9)
    for ax in (above, below):
        ax.spines[:].set(linewidth=0.5, color="0.4")
    _fit_figure(above, below, picture, row * max(1, len(labels)), FigureTitle(text, families))
    return figure


def _fit_figure(above, below, picture, rows, title):
    """Set the size of both axes from the length of the sequence, and fit the figure to them."""
    figure = above.figure
    renderer = FigureCanvasAgg(figure).get_renderer()
    outer, inner = below.get_tightbbox(renderer), below.get_window_extent(renderer)
    left, bottom = np.array([inner.x0 - outer.x0, inner.y0 - outer.y0]) / figure.dpi + MARGIN
    right = max(0.0, outer.x1 - inner.x1) / figure.dpi + MARGIN
    height, length = picture.pixels.shape[:2]
    width = np.clip(NARROWEST + COLUMN * picture.columns, NARROWEST, WIDEST)
    high = np.clip(width * height / length, LOWEST, HIGHEST)
    top = title.wrap(left + width + right - 2 * MARGIN)
    total = np.array([left + width + right, bottom + rows + GAP + high + top])
    figure.set_size_inches(total)
    below.set_position([*([left, bottom] / total), *([width, rows] / total)])
    above.set_position([*([left, bottom + rows + GAP] / total), *([width, high] / total)])
    title.draw(figure)
