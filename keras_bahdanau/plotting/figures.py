"""Checks of plot arguments, and writing of figures and animations to files."""

import io
from collections.abc import Mapping

from PIL import Image

from keras_bahdanau.files.whole_file import new_file

FRAME_SECONDS = 1.6
FRAME_COLORS = 64


def save_picture(figure, path):
    """Write a figure to a new file.

    If this raises FileExistsError, the figure is kept in another file next to `path`.
    """
    with new_file(path) as draft:
        figure.savefig(draft)


def write_animation(figures, path, seconds=FRAME_SECONDS, last_seconds=None):
    """Write a looping GIF of figures of equal size; the last one may be shown for longer."""
    check_animation_name(path)
    frames = [_frame(figure) for figure in figures]
    durations = [round(1000 * seconds)] * (len(frames) - 1)
    durations.append(round(1000 * (last_seconds or seconds)))
    first, *others = frames
    first.save(path, save_all=True, append_images=others, duration=durations, loop=0)


def _frame(figure):
    """Convert a figure to an image with few colours."""
    file = io.BytesIO()
    figure.savefig(file, format="png")  # at the figure's own size, for which its texts are fitted
    return Image.open(file).convert("RGB").quantize(FRAME_COLORS, dither=Image.Dither.NONE)


def check_animation_name(path):
    """Raise ValueError unless a path ends in .gif."""
    if not str(path).lower().endswith(".gif"):
        raise ValueError(
            f"The name of an animation must end in .gif. Received: path={str(path)!r}. Rename it."
        )


def check_result(result):
    """Raise TypeError unless `result` is a `Translation`, or has the same tokens and alignment."""
    if not _has(result, "source_tokens", "target_tokens", "alignment"):
        advice = "result[0]" if _is_list(result) else "translator.translate([text])[0]"
        raise wrong_type("result", result, "one Translation", f"Pass {advice}.")


def check_picture(picture):
    """Raise TypeError unless `picture` is the `Picture` of an input."""
    if not _has(picture, "columns", "rows", "maps"):
        raise wrong_type("picture", picture, "a Picture", "Pass pipeline.picture(one).")


def is_trace(trace):
    """Return True for a `Trace`."""
    return _has(trace, "source_tokens", "top_tokens", "query")


def check_trace(trace):
    """Raise TypeError unless `trace` is a `Trace`."""
    if _is_list(trace):
        raise wrong_type("trace", trace, "one Trace", "Pass trace[0].")
    if not is_trace(trace):
        raise wrong_type("trace", trace, "a Trace", "Pass translator.trace(text).")


def check_history(history):
    """Raise TypeError unless `history` is a dictionary."""
    if not isinstance(history, Mapping):
        raise wrong_type("history", history, "a dictionary of lists", "Pass history.history.")


def check_bands(bands):
    """Raise TypeError unless `bands` is a sequence, such as `Evaluation.by_length`."""
    if isinstance(bands, str) or not hasattr(bands, "__iter__"):
        demand = "a sequence of (label, sentences, score)"
        raise wrong_type("bands", bands, demand, "Pass evaluation.by_length.")


def check_faithfulness(result):
    """Raise TypeError unless `result` is a `Faithfulness`."""
    if not _has(result, "curves", "areas", "unit"):
        advice = "Pass evaluation.faithfulness(model, data)."
        raise wrong_type("result", result, "a Faithfulness", advice)


def wrong_type(name, value, demand, advice):
    """Return the TypeError to raise for an argument of the wrong type."""
    kind = type(value).__name__
    received = f"a {kind}" if isinstance(value, list | tuple | str) else kind
    return TypeError(f"`{name}` must be {demand}. Received: {received}. {advice}")


def _is_list(value):
    return isinstance(value, list | tuple)


def _has(value, *attributes):
    return all(hasattr(value, attribute) for attribute in attributes)
