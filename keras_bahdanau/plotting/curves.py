"""Plots of training history, scores by length, reliability, and faithfulness of attention."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, ScalarFormatter

from keras_bahdanau.plotting.figures import check_bands, check_faithfulness, check_history


def plot_history(history, *, ax=None):
    """Draw training curves, with one panel per metric for both training and validation.

    Args:
        history: Dictionary of lists with one value per epoch (None or NaN for epochs without a
            value), such as `fit(...).history`. `"val_loss"` is drawn in the panel of `"loss"`, and
            so on.
        ax: Axes to draw in, one for each panel, or None for a new figure.

    Returns:
        Figure with one panel for each metric, the loss first.

    Raises:
        TypeError: If `history` is not a dictionary.
        ValueError: If `history` is empty, if its lists differ in length, or if `ax` has the wrong
            number of axes.
    """
    check_history(history)
    lengths = {name: len(values) for name, values in history.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(
            "`history` must contain at least one metric, with one value for every epoch. "
            f"Received: lengths={lengths}. Use None for epochs without a value."
        )
    metrics = dict.fromkeys(name.removeprefix("val_") for name in history)
    metrics = sorted(metrics, key=lambda metric: metric != "loss")
    if ax is None:
        figure = Figure(figsize=(4.5 * len(metrics), 3.2), dpi=150, layout="constrained")
        ax = figure.subplots(1, len(metrics))
    panels = np.atleast_1d(ax)
    if len(panels) != len(metrics):
        raise ValueError(
            f"`ax` must contain one axes for each of the metrics {metrics}. "
            f"Received: {len(panels)} axes. Omit `ax` to draw in a new figure."
        )
    for panel, metric in zip(panels, metrics, strict=True):
        _plot_metric(panel, metric, history)
    return panels[0].figure


def _plot_metric(panel, metric, history):
    drawn = []
    for name, label, color in ((metric, "training", "0.6"), (f"val_{metric}", "validation", "C0")):
        if name in history:
            values = np.array(history[name], dtype="float64")
            (epochs,) = np.nonzero(np.isfinite(values))
            panel.plot(epochs + 1, values[epochs], ".-", color=color, label=label)
            drawn.extend(values[epochs])
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


def plot_lengths(bands, *, metric="BLEU", counted_in="words", inputs="sentences", ax=None):
    """Draw the score for each band of source lengths, with the number of inputs in it.

    Args:
        bands: Sequence of (label, sentences, score), such as `by_length` of an `Evaluation`.
        metric: String, the label of the scores.
        counted_in: String, the unit of the lengths, such as `Evaluation.counted_in`.
        inputs: String, the name of the inputs, such as `Evaluation.inputs`.
        ax: Axes to draw in, or None for a new figure.

    Raises:
        TypeError: If `bands` is not a sequence.
        ValueError: If there are no bands.

    Example:
        >>> plot_lengths(evaluate(translator, pairs).by_length).savefig("lengths.png")
    """
    check_bands(bands)
    bands = list(bands)
    if not bands:
        raise ValueError(
            "`bands` must contain the score of at least one length. Received: bands=[]. "
            "Evaluate inputs that are not empty."
        )
    if ax is None:
        ax = Figure(figsize=(6, 3.2), dpi=150, layout="constrained").subplots()
    labels, counts, scores = zip(*bands, strict=True)
    bars = ax.bar(range(len(bands)), scores, color="C0", width=0.7)
    ax.bar_label(bars, [f"{score:.1f}" for score in scores], fontsize=8)
    ticks = [f"{label}\n{count:,}" for label, count in zip(labels, counts, strict=True)]
    ax.set_xticks(range(len(bands)), ticks, fontsize=8)
    ax.set(xlabel=f"{counted_in} of the source, and {inputs}", ylabel=metric)
    ax.spines[["top", "right"]].set_visible(False)
    return ax.figure


def plot_reliability(curves, *, ax=None):
    """Draw a reliability diagram, in which calibrated confidences follow the diagonal.

    `curves` is a dictionary from the name of a confidence to a float array `(bins, 3)` from
    `evaluation.reliability`. `ax` is the axes to draw in, or None for a new figure. Raises
    ValueError if there is no curve.

    Example:
        >>> texts = evaluation.calibrate(translator, pairs).texts
        >>> plot_reliability({"texts": evaluation.reliability(texts.labels, texts.calibrated)})
    """
    if not curves:
        raise ValueError("`curves` must not be empty. Received: curves={}. Calibrate a model.")
    if ax is None:
        ax = Figure(figsize=(4.5, 4.5), dpi=150, layout="constrained").subplots()
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1, linestyle="--")
    for name, bins in curves.items():
        ax.plot(bins[:, 0], bins[:, 1], "o-", markersize=4, label=name)
    ax.set(xlabel="confidence", ylabel="fraction of correct cases", xlim=(0, 1), ylim=(0, 1))
    ax.set_aspect("equal")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
    return ax.figure


def plot_faithfulness(result):
    """Draw the curves of a `Faithfulness`, with a panel for each place where positions are removed.

    For solid lines, the most important positions are removed first, so the line of a good order
    falls early. For dashed lines, they are added first, so the line of a good order rises early.
    Raises TypeError if `result` is not a `Faithfulness`.

    Example:
        >>> result = evaluation.faithfulness(translator, sentences)
        >>> plot_faithfulness(result).savefig("faithfulness.png")
    """
    check_faithfulness(result)
    count = len(result.curves)
    figure = Figure(figsize=(1 + 3.6 * count, 3.4), dpi=150, layout="constrained")
    (panels,) = figure.subplots(1, count, squeeze=False)
    for panel, (place, orders) in zip(panels, result.curves.items(), strict=True):
        for number, (order, curves) in enumerate(orders.items()):
            color = "0.6" if order == "random" else f"C{number}"
            shares = np.linspace(0, 100, curves.shape[1])
            panel.plot(shares, curves[0], color=color, label=order)
            panel.plot(shares, curves[1], color=color, linestyle="--")
        title = "hidden from the attention" if place == "attention" else "replaced in the input"
        panel.set_title(title, fontsize=9)
        panel.set(xlabel=f"{result.unit} removed or added, %", ylabel="change in log p, nats")
        panel.spines[["top", "right"]].set_visible(False)
    lines = panels[0].lines[::2]
    figure.legend(handles=lines, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return figure
