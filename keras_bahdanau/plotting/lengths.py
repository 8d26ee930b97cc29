"""BLEU against sentence length."""

from matplotlib.figure import Figure


def plot_lengths(bands, *, ax=None):
    """Draws the BLEU of each length of source sentences, and how many sentences that is.

    Args:
        bands: Sequence of (label, sentences, BLEU), such as the `by_length` of an
            `Evaluation`.
        ax: Axes to draw in, or None for a new figure.

    Returns:
        Figure.

    Raises:
        ValueError: If there are no bands.

    Example:
        >>> plot_lengths(evaluate(translator, pairs).by_length).savefig("lengths.png")
    """
    bands = list(bands)
    if not bands:
        raise ValueError(
            "`bands` must hold the BLEU of one length at least. Received: bands=[]. "
            "Evaluate sentences that are not empty."
        )
    if ax is None:
        ax = Figure(figsize=(6, 3.2), dpi=150, layout="constrained").subplots()
    labels, counts, scores = zip(*bands, strict=True)
    bars = ax.bar(range(len(bands)), scores, color="C0", width=0.7)
    ax.bar_label(bars, [f"{score:.1f}" for score in scores], fontsize=8)
    ticks = [f"{label}\n{count:,}" for label, count in zip(labels, counts, strict=True)]
    ax.set_xticks(range(len(bands)), ticks, fontsize=8)
    ax.set(xlabel="words of the source, and sentences", ylabel="BLEU")
    ax.spines[["top", "right"]].set_visible(False)
    return ax.figure
