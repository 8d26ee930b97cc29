"""Plots of alignment matrices, or of the attention over the picture of an input."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from keras_bahdanau.plotting.attention_maps import plot_attention_maps
from keras_bahdanau.plotting.figures import check_picture, check_result
from keras_bahdanau.plotting.fonts import families_for
from keras_bahdanau.plotting.labels import (
    are_characters,
    are_words,
    joins_words,
    token_label,
    truncated,
)
from keras_bahdanau.plotting.time_alignment import plot_time_alignment
from keras_bahdanau.text.alignments import check_alignment, join_alignment

CELL_INCHES = 0.3
LETTER_POINTS = 34.0  # font size for a cell of one inch
LONGEST_SIDE_INCHES = 60.0
LONGEST_LABEL = 60  # characters of a word
PAD_INCHES = 0.08


def plot_alignment(result, picture=None, *, words=None, ax=None):
    """Draw the alignment of one translation as a grey map, black for 0 and white for 1.

    Source tokens run along the top and target tokens down the side, as in figure 3 of Bahdanau et
    al. 2015. Scripts that the default font lacks, such as Devanagari, are drawn with an installed
    font (see `fonts.families_for`). If a picture is given, the figure is drawn by
    `plot_attention_maps` (for a grid) or `plot_time_alignment` (for a sequence).

    Args:
        result: A `Translation`, or any object with `source_tokens`, `target_tokens` and
            `alignment` `(len(target_tokens), len(source_tokens))`. If it has a `text`, that becomes
            the title above a picture.
        picture: `Picture` of the input, from `pipeline.picture`, or None.
        words: Boolean. True to join subwords into words, False for tokens. None for words, except
            for characters and graphemes, and for a single word of several tokens.
        ax: Axes to draw in if there is no picture, or None for a new figure.

    Returns:
        Figure with one square for each pair of a source and a target token, or with pictures.

    Raises:
        TypeError: If `result` has the wrong type, such as a list of results.
        ValueError: If the shape of `alignment` does not match the tokens or the picture, or if both
            a picture and `ax` are given.

    Example:
        >>> plot_alignment(translator.translate(["Good morning."])[0]).savefig("alignment.png")
    """
    check_result(result)
    if picture is not None:
        check_picture(picture)
        if ax is not None:
            raise ValueError(
                "A picture is always drawn in a new figure. Received: a picture and `ax`. "
                "Omit one of them."
            )
        plot = plot_attention_maps if picture.rows > 1 else plot_time_alignment
        return plot(result, picture, words=words)
    source, target = result.source_tokens, result.target_tokens
    weights = check_alignment(result.alignment, source, target)
    if joins_words(words, source, target):
        weights, source, target = join_alignment(weights, source, target)
    source, target = _labels(source, target), _labels(target, source)
    return draw_map(weights, source, target, families_for([*source, *target]), ax)


def draw_map(weights, source, target, families, ax=None, limits=(0, 1)):
    """Draw weights `(target_time, source_time)` with labels, from black to white at the `limits`.

    Returns the figure. Without `ax`, it is a new one of the right size.
    """
    cell = min(CELL_INCHES, LONGEST_SIDE_INCHES / max(1, *weights.shape))
    new_figure = ax is None
    if new_figure:
        ax = Figure(dpi=150).add_subplot()
    if weights.size:
        ax.imshow(weights, cmap="gray", vmin=limits[0], vmax=limits[1], interpolation="nearest")
    ax.set(xlim=(-0.5, max(len(source), 1) - 0.5), ylim=(max(len(target), 1) - 0.5, -0.5))
    ax.set_aspect("equal")
    label = {
        "fontsize": LETTER_POINTS * cell,
        "fontfamily": families,
        "parse_math": False,  # dollar signs are literal
    }
    ax.set_xticks(range(len(source)), source, rotation=90, **label)
    ax.set_yticks(range(len(target)), target, va="center_baseline", **label)
    ax.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    ax.spines[:].set(linewidth=0.5, color="0.4")
    if new_figure:
        _fit_figure(ax, cell * np.maximum(weights.shape, 1))
    return ax.figure


def _labels(tokens, opposite):
    """Return truncated tokens, without space marks if either side consists of characters."""
    if are_characters(tokens) or (are_characters(opposite) and are_words(tokens)):
        return [token_label(token) for token in tokens]
    return [truncated(token, LONGEST_LABEL) for token in tokens]


def _fit_figure(ax, size):
    """Set the size of `ax` to (height, width) in inches, and fit its figure to the labels."""
    figure = ax.figure
    renderer = FigureCanvasAgg(figure).get_renderer()
    outer, inner = ax.get_tightbbox(renderer), ax.get_window_extent(renderer)
    left, top = np.array([inner.x0 - outer.x0, outer.y1 - inner.y1]) / figure.dpi + PAD_INCHES
    height, width = size
    total = np.array([left + width + PAD_INCHES, PAD_INCHES + height + top])
    figure.set_size_inches(total)
    ax.set_position([*([left, PAD_INCHES] / total), *([width, height] / total)])
