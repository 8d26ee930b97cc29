"""Curves of reliability: how sure a model was, and how often it was right."""

from matplotlib.figure import Figure


def plot_reliability(curves, *, ax=None):
    """Draw how often a confidence was right: on the diagonal, where it means what it says.

    Args:
        curves: Dictionary from the name of a confidence to a float array `(bins, 3)`, as
            `evaluation.reliability` gives it: mean confidence, share that is right, cases.
        ax: Axes to draw in, or None for a new figure.

    Returns:
        Figure.

    Raises:
        ValueError: If there is no curve.

    Example:
        >>> texts = evaluation.calibrate(translator, pairs).texts
        >>> curve = evaluation.reliability(texts.labels, texts.calibrated)
        >>> plot_reliability({"texts": curve}).savefig("reliability.png")
    """
    if not curves:
        raise ValueError("`curves` must hold one at least. Received: curves={}. Calibrate first.")
    if ax is None:
        ax = Figure(figsize=(4.5, 4.5), dpi=150, layout="constrained").subplots()
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1, linestyle="--")
    for name, bins in curves.items():
        ax.plot(bins[:, 0], bins[:, 1], "o-", markersize=4, label=name)
    ax.set(xlabel="confidence", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1))
    ax.set_aspect("equal")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
    return ax.figure
