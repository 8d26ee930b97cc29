"""Animations and pages that show how alignments form during training."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from keras_bahdanau.files.whole_file import replacing
from keras_bahdanau.plotting.alignment import CELL_INCHES, draw_map
from keras_bahdanau.plotting.explorer import check_page_name, filled_page
from keras_bahdanau.plotting.figures import write_animation, wrong_type
from keras_bahdanau.plotting.fonts import families_for
from keras_bahdanau.plotting.labels import token_label
from keras_bahdanau.plotting.trace_data import packed
from keras_bahdanau.settings.option import Check, check_value

MODULES = "traces", "elements", "player", "forming"
SECONDS, LAST_SECONDS = 0.25, 2.5  # per frame, and for the last frame
CURVE_INCHES = 1.5
LOSS, ENTROPY, NOW = "#1f5ea8", "#e08a1e", "0.3"


def animate_alignment(history, path, input=0, seconds=SECONDS):
    """Write a GIF that shows how the alignment of one input forms.

    Each frame shows a recorded step: the weights, from black for 0 to white for 1, and below them
    curves of the training loss and of the entropy of the weights, with a line at the step.

    Args:
        history: `AlignmentHistory` of a training run, or a dictionary from names to
            histories, which are drawn side by side. The frame of a step shows the last record of
            each history up to that step.
        path: Path of the GIF to write.
        input: Integer, the index of the input whose alignment is drawn.
        seconds: Positive number. Duration of a frame; the last one is shown for 2.5 seconds.

    Returns:
        Figure of the last frame, for printing.

    Raises:
        TypeError: If `history` has the wrong type.
        ValueError: If nothing was recorded, if there is no such input, if `seconds` is not
            positive, or if the path does not end in .gif.

    Example:
        >>> still = animate_alignment({"soft": soft, "monotonic": monotonic}, "forming.gif")
    """
    histories = _histories(history)
    counts = [len(history.alignments[0]) for history in histories.values()]
    exists = Check(f"an integer in [0, {min(counts) - 1}]", lambda value: 0 <= value < min(counts))
    check_value("input", input, exists)
    check_value("seconds", seconds, Check("a positive number", lambda value: value > 0))
    steps = sorted({step for history in histories.values() for step in history.steps})
    frames = (_frame(histories, input, step) for step in steps)
    write_animation(frames, path, seconds, last_seconds=LAST_SECONDS)
    return _frame(histories, input, steps[-1])


def write_training_page(history, path, title="How the alignment is learnt"):
    """Write a page with a slider over the training steps, for any browser.

    The page is a single file that works offline. It shows the weights of each recorded input and
    step, the loss and the entropy.

    Args:
        history: As in `animate_alignment`; several histories are shown side by side.
        path: Path of the file to write.
        title: String, the heading of the page.

    Raises:
        TypeError: If `history` has the wrong type.
        ValueError: If `history` has no record, or if the path does not end in .html.
    """
    check_page_name("path", path)
    histories = _histories(history)
    data = [_history_data(name, history) for name, history in histories.items()]
    path = Path(path)
    with replacing(path, path.with_name(f".unfinished-{path.name}")) as unfinished:
        page = filled_page(data, title, "forming.html", MODULES)
        unfinished.write_text(page, encoding="utf-8")


def _histories(history):
    """Return histories as a dictionary, and check that each has at least one record."""
    histories = history if isinstance(history, Mapping) else {"": history}
    for name, one in histories.items():
        if not all(hasattr(one, field) for field in ("steps", "alignments", "entropies")):
            demand = "an AlignmentHistory, or a dictionary of them"
            raise wrong_type("history", one, demand, "Pass the callback of a training run.")
        if not one.steps:
            raise ValueError(
                "A history must have at least one record. "
                f"Received: none in {name or 'history'!r}. First pass it to `fit`: "
                "callbacks=[history]."
            )
    if not histories:
        raise ValueError("`history` must not be empty. Received: history={}. Train a model.")
    return histories


def _record_at(history, step):
    """Return the index of the last record up to a step."""
    return max(0, int(np.searchsorted(history.steps, step, side="right")) - 1)


def _frame(histories, number, step):
    """Draw one step as a figure, with a map and curves in a column for each history."""
    columns = [one.alignments[_record_at(one, step)][number] for one in histories.values()]
    shapes = np.array([column.alignment.shape for column in columns])
    widths = CELL_INCHES * (shapes[:, 1] + 3)  # includes the target labels
    height = CELL_INCHES * (shapes[:, 0].max() + 3)
    figure = Figure((max(4.0, widths.sum()), height + CURVE_INCHES), dpi=100, layout="constrained")
    ratios = {"width_ratios": widths, "height_ratios": (height, CURVE_INCHES)}
    axes = figure.subplots(2, len(columns), squeeze=False, **ratios)
    figure.suptitle(f"step {step:,}", family="monospace", fontsize=11)
    drawn = zip(columns, histories.items(), *axes, strict=True)
    for column, (name, history), above, below in drawn:
        source = [*map(token_label, column.source_tokens)]
        target = [*map(token_label, column.target_tokens)]
        draw_map(column.alignment, source, target, families_for([*source, *target]), above)
        above.set_xlabel(name)
        _draw_curves(below, history, step)
    return figure


def _draw_curves(ax, history, step):
    """Draw loss and entropy over the steps, on a logarithmic axis."""
    places = np.log1p(history.steps)
    entropies = ax.twinx()
    ax.plot(places, history.losses, color=LOSS, linewidth=1)
    entropies.plot(places, history.entropies, color=ENTROPY, linewidth=1)
    ax.axvline(np.log1p(min(step, history.steps[-1])), color=NOW, linewidth=0.8)
    ax.set_ylabel("loss", color=LOSS, fontsize=8)
    entropies.set_ylabel("entropy", color=ENTROPY, fontsize=8)
    ax.set_ylim(bottom=0)
    entropies.set_ylim(bottom=0)
    ticks = [tick for tick in (1, 10, 100, 1000, 10**4, 10**5) if tick <= history.steps[-1]]
    ax.set_xticks(np.log1p(ticks), [f"{tick:,}" for tick in ticks])
    for axes in (ax, entropies):
        axes.tick_params(labelsize=7, length=2)


def _history_data(name, history):
    """Return the data of one history for JSON, with None for NaN."""
    inputs = []
    for records in zip(*history.alignments, strict=True):
        weights = np.stack([record.alignment for record in records])  # (steps, target, source)
        inputs.append(
            {
                "source": [*map(token_label, records[0].source_tokens)],
                "target": [*map(token_label, records[0].target_tokens)],
                "weights": packed(weights.reshape(len(weights), -1), 8),
            }
        )
    curves = {"losses": history.losses, "entropies": history.entropies}
    for key, values in curves.items():
        curves[key] = [round(value, 4) if np.isfinite(value) else None for value in values]
    return {"name": name, "steps": history.steps, "inputs": inputs, **curves}
