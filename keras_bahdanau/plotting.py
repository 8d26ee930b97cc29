"""Pictures: what a translation attends to, and how a training went.

Both functions return a `matplotlib.figure.Figure` to save or show. They use no pyplot state, so
they need no display and leave no figure open.
"""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, ScalarFormatter

from keras_bahdanau.alignments import as_alignment, join_alignment

CELL_INCHES = 0.3
LETTER_POINTS = 34.0  # font size for a cell of one inch
LONGEST_SIDE_INCHES = 60.0
PAD_INCHES = 0.08


def plot_alignment(result, *, words=False, ax=None):
    """Draws the alignment of one translation as a grey map, black for 0 and white for 1.

    Source tokens stand along the top and target tokens down the side, as in figure 3 of
    Bahdanau et al. 2015. A script that matplotlib's own font lacks, such as Devanagari, is
    drawn once `matplotlib.rcParams["font.family"]` names a font that has it.

    Args:
        result: A `Translation`, or anything with `source_tokens`, `target_tokens` and
            `alignment` `(len(target_tokens), len(source_tokens))`.
        words: Boolean. Whether to join subwords to words (see `alignments.join_alignment`).
        ax: Axes to draw in, or None for a new figure that is sized by its words.

    Returns:
        Figure with one square for each pair of a source and a target token.

    Raises:
        ValueError: If the shape of `alignment` is not that of the tokens.

    Example:
        >>> plot_alignment(translator.translate(["Good morning."])[0]).savefig("alignment.png")
    """
    source, target = result.source_tokens, result.target_tokens
    weights = as_alignment(result.alignment, source, target)
    if words:
        weights, source, target = join_alignment(weights, source, target)
    cell = min(CELL_INCHES, LONGEST_SIDE_INCHES / max(1, *weights.shape))
    own_figure = ax is None
    if own_figure:
        ax = Figure(dpi=150).add_subplot()
    if weights.size:
        ax.imshow(weights, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    ax.set(xlim=(-0.5, max(len(source), 1) - 0.5), ylim=(max(len(target), 1) - 0.5, -0.5))
    ax.set_aspect("equal")
    label = {"fontsize": LETTER_POINTS * cell, "parse_math": False}  # a dollar sign stays one
    ax.set_xticks(range(len(source)), source, rotation=90, **label)
    ax.set_yticks(range(len(target)), target, va="center_baseline", **label)
    ax.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    ax.spines[:].set(linewidth=0.5, color="0.4")
    if own_figure:
        _fit_figure(ax, cell * np.maximum(weights.shape, 1))
    return ax.figure


def _fit_figure(ax, size):
    """Gives `ax` the height and width `size` in inches, and its figure room for the labels."""
    figure = ax.figure
    renderer = FigureCanvasAgg(figure).get_renderer()
    outer, inner = ax.get_tightbbox(renderer), ax.get_window_extent(renderer)
    left, top = np.array([inner.x0 - outer.x0, outer.y1 - inner.y1]) / figure.dpi + PAD_INCHES
    height, width = size
    total = np.array([left + width + PAD_INCHES, PAD_INCHES + height + top])
    figure.set_size_inches(total)
    ax.set_position([*([left, PAD_INCHES] / total), *([width, height] / total)])


def plot_history(history, *, ax=None):
    """Draws training curves: one panel a metric, with training and validation together.

    Args:
        history: Dict of lists with one value for each epoch, such as `fit(...).history`. The
            values of `"val_loss"` share the panel of `"loss"`, and so on. An epoch without a
            value holds None or NaN.
        ax: Axes to draw in, one for each panel, or None for a new figure.

    Returns:
        Figure with one panel for each metric, the loss first.

    Raises:
        ValueError: If `history` is empty, or its lists differ in length, or `ax` holds more or
            fewer axes than there are metrics.

    Example:
        >>> plot_history(model.fit(batches, epochs=20).history).savefig("curves.png")
    """
    lengths = {name: len(values) for name, values in history.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(
            "`history` must hold at least one metric, and one value of each for every epoch. "
            f"Received: lengths={lengths}. Fill epochs without a value with None."
        )
    metrics = dict.fromkeys(name.removeprefix("val_") for name in history)
    metrics = sorted(metrics, key=lambda metric: metric != "loss")
    if ax is None:
        figure = Figure(figsize=(4.5 * len(metrics), 3.2), dpi=150, layout="constrained")
        ax = figure.subplots(1, len(metrics))
    panels = np.atleast_1d(ax)
    if len(panels) != len(metrics):
        raise ValueError(
            f"`ax` must hold one axes for each of the metrics {metrics}. "
            f"Received: {len(panels)} axes. Leave `ax` out for a new figure."
        )
    for panel, metric in zip(panels, metrics, strict=True):
        _plot_metric(panel, metric, history)
    return panels[0].figure


def _plot_metric(panel, metric, history):
    """Draws one metric's training and validation curve into `panel`."""
    drawn = []
    for name, label, color in ((metric, "training", "0.6"), (f"val_{metric}", "validation", "C0")):
        if name in history:
            values = np.array(history[name], dtype="float64")
            (known,) = np.nonzero(np.isfinite(values))
            panel.plot(known + 1, values[known], ".-", color=color, label=label)
            drawn.extend(values[known])
    if drawn and 0 < 10 * min(drawn) < max(drawn):
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter(ScalarFormatter())
        panel.yaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set(xlabel="epoch", title=metric.replace("_", " "))
    panel.grid(color="0.92")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False)
