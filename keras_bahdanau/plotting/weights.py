"""Plots of the weights of any attention: as a map, below a curve, or as highlighted text."""

import html

import numpy as np
from matplotlib.figure import Figure

from keras_bahdanau.plotting.alignment import CELL_INCHES, draw_map
from keras_bahdanau.plotting.figures import wrong_type
from keras_bahdanau.plotting.fonts import families_for
from keras_bahdanau.plotting.labels import are_characters, token_label

MOST_NUMBERS = 25  # maximum ticks on an axis without labels
HIGHLIGHT = "255, 165, 0"  # orange, as in `plot_attention_maps`


def plot_weights(weights, labels=None, target_labels=None, *, curve=None, largest=None, ax=None):
    """Draw attention weights as a grey map, from black for 0 to white for the largest weight.

    Args:
        weights: Array with the weights of one example, such as
            `attention_weights(model, x)["attention"][0]`. `(source_time,)` is drawn as one row of
            cells, `(target_time, source_time)` as a map, and `(heads, target_time, source_time)` as
            a map for each head.
        labels: Texts of the source positions, or None for numbers. Padding after the last label,
            which has no weight, is not drawn.
        target_labels: Texts of the target positions, or None for numbers.
        curve: Array `(source_time,)` or `(source_time, channels)`, such as a time series, or None.
            It is drawn above the weights on the same axis, with a gap where it is NaN. In a map
            below a curve, dark cells are large weights.
        largest: Value that is drawn as the largest weight, to make figures comparable. None for the
            largest of `weights`.
        ax: Axes to draw one map in, or None for a new figure.

    Returns:
        Figure.

    Raises:
        TypeError: If `weights` is not an array of numbers.
        ValueError: If the shape is wrong or does not match labels or curve, if a value is not
            finite, or if `ax` is given with heads or a curve.

    Example:
        >>> plot_weights([0.1, 0.7, 0.2], ["not", "bad", "."]).savefig("weights.png")
    """
    weights = read_numbers("weights", weights, (1, 2, 3))
    if (ax is not None) + (curve is not None) + (weights.ndim == 3) > 1:
        raise ValueError(
            "Heads, `curve` and `ax` are mutually exclusive. Received: two of them with "
            f"weights.shape={weights.shape}. Draw one head, or omit `ax`."
        )
    if curve is not None:
        curve = read_numbers("curve", curve, (1, 2), has_gaps=True)
        weights = _cut("curve", len(curve), weights, axis=-1)
    source, weights = _fit_labels("labels", labels, weights, axis=-1)
    target = [""]
    if weights.ndim > 1:
        target, weights = _fit_labels("target_labels", target_labels, weights, axis=-2)
    limits = min(0.0, weights.min(initial=0)), largest or weights.max(initial=0) or 1.0
    families = families_for([*source, *target])
    if curve is not None:
        return _below_curve(weights, curve, source, target, families, limits)
    if weights.ndim < 3:
        return draw_map(np.atleast_2d(weights), source, target, families, ax, limits)
    heads, rows, columns = weights.shape
    size = np.minimum((heads * (1.5 + CELL_INCHES * columns), 1.5 + CELL_INCHES * rows), 60.0)
    figure = Figure(size, dpi=150, layout="constrained")
    for head, axes in enumerate(figure.subplots(1, heads, squeeze=False)[0] if heads else ()):
        draw_map(weights[head], source, target, families, axes, limits)
        axes.set_xlabel(f"head {head + 1}")
    return figure


def _below_curve(weights, curve, source, target, families, limits):
    """Draw a curve `(source_time, [channels])` above bars or a map of the weights."""
    height = 3.5 if weights.ndim == 1 else 2.5 + min(0.25 * len(target), 5.0)
    figure = Figure((8.0, height), dpi=150, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    above.plot(curve)
    positions = np.arange(len(source))
    if weights.ndim == 1:
        below.bar(positions, weights, width=1.0, color="0.4")
        below.set(ylim=limits, ylabel="weight")
    else:
        below.imshow(weights, "gray_r", aspect="auto", clim=limits, interpolation="nearest")
        below.set_yticks(range(len(target)), target, fontfamily=families, parse_math=False)
    ticks = [position for position in positions if source[position]]
    ticks = ticks[:: -(-len(ticks) // MOST_NUMBERS) or 1]
    texts = [source[position] for position in ticks]
    below.set_xticks(ticks, texts, fontfamily=families, parse_math=False)
    below.tick_params("x", rotation=90 if max(map(len, texts), default=0) > 3 else 0)
    below.set_xlim(-0.5, max(len(source), 1) - 0.5)
    return figure


class HighlightedText(str):
    """HTML string that notebooks render."""

    def _repr_html_(self):
        return str(self)


def highlight_text(weights, labels, *, largest=None):
    """Return HTML that highlights words: the larger the weight, the stronger the background.

    Args:
        weights: Array `(source_time,)` of one example. The tooltip of each word is its weight.
        labels: Texts of the words, or of characters, as in `plot_weights`.
        largest: Number as in `plot_weights`.

    Returns:
        `HighlightedText`, a string that notebooks render as HTML. All texts are escaped.

    Raises:
        TypeError: If `weights` is not an array of numbers.
        ValueError: If the shape is wrong or does not match the labels, or if a weight is not
            finite.
    """
    weights = read_numbers("weights", weights, (1,))
    labels, weights = _fit_labels("labels", labels, weights, axis=-1)
    largest = largest or weights.max(initial=0) or 1.0
    spans = [
        f'<span style="background-color: rgba({HIGHLIGHT}, {np.clip(weight / largest, 0, 1):.3f})" '
        f'title="{weight:.3f}">{html.escape(label)}</span>'
        for label, weight in zip(labels, weights, strict=True)
    ]
    return HighlightedText(("" if are_characters(labels) else " ").join(spans))


def read_numbers(name, array, ranks, has_gaps=False):
    """Return a float array; the number of its axes must be in `ranks`.

    NaN is allowed only if `has_gaps`. Raises TypeError or ValueError for other arrays.
    """
    try:
        numbers = np.asarray(array, dtype="float64")
    except (TypeError, ValueError) as error:
        advice = "Pass weights[name][0]." if isinstance(array, dict) else "Pass numbers."
        raise wrong_type(name, array, "an array of numbers", advice) from error
    if numbers.ndim not in ranks:
        raise ValueError(
            f"`{name}` must have {' or '.join(map(str, ranks))} axes. Received: "
            f"{name}.shape={numbers.shape}. Pass the values of one example: {name}[0]."
        )
    if np.isinf(numbers).any() or not (has_gaps or np.isfinite(numbers).all()):
        raise ValueError(f"`{name}` must be finite. Received: NaN or infinity in {name}.")
    return numbers


def _fit_labels(name, labels, weights, axis):
    """Return labels as texts, and the weights without the padding after the last label."""
    length = weights.shape[axis]
    if labels is None:
        step = max(1, -(-length // MOST_NUMBERS))
        return [str(index) if index % step == 0 else "" for index in range(length)], weights
    texts = (text.decode(errors="replace") if isinstance(text, bytes) else text for text in labels)
    texts = [token_label(str(text)) for text in texts]
    return texts, _cut(name, len(texts), weights, axis)


def _cut(name, length, weights, axis):
    """Return the first `length` weights. Raises ValueError unless all other weights are 0."""
    padding = np.take(weights, range(length, weights.shape[axis]), axis)
    if length > weights.shape[axis] or padding.any():
        raise ValueError(
            f"`{name}` must match the {weights.shape[axis]} weights on its axis. Received: "
            f"{length} of {name}, weights.shape={weights.shape}. Use labels of the same example."
        )
    return np.take(weights, range(length), axis)
