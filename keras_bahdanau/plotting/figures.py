"""Figures: checks of what is drawn, and files of pictures and animations."""

from collections.abc import Mapping

from keras_bahdanau.files.whole_file import new_file

FRAME_SECONDS = 1.6


def save_picture(figure, path):
    """Write a figure to a new file; on FileExistsError it is kept in a file next to it."""
    with new_file(path) as draft:
        figure.savefig(draft)


def write_animation(figures, path):
    """Write a GIF that repeats figures of one size in their order."""
    if not str(path).lower().endswith(".gif"):
        raise ValueError(
            f"An animation's name must end in .gif. Received: path={str(path)!r}. Rename it."
        )
    from matplotlib.animation import PillowWriter

    writer = PillowWriter(fps=1 / FRAME_SECONDS)
    for number, figure in enumerate(figures):
        if not number:
            writer.setup(figure, path, figure.dpi)  # texts fit at their own size alone
        writer.fig = figure
        writer.grab_frame()
    writer.finish()


def check_result(result):
    """Raise TypeError unless it is a `Translation`, or has its tokens and alignment."""
    if not _has(result, "source_tokens", "target_tokens", "alignment"):
        advice = "result[0]" if _is_list(result) else "translator.translate([text])[0]"
        raise wrong_type("result", result, "one Translation", f"Give {advice}.")


def check_picture(picture):
    """Raise TypeError unless it is the `Picture` of an input."""
    if not _has(picture, "columns", "rows", "maps"):
        raise wrong_type("picture", picture, "a Picture", "Give pipeline.picture(one).")


def is_trace(trace):
    """True for a `Trace`."""
    return _has(trace, "source_tokens", "top_tokens", "query")


def check_trace(trace):
    """Raise TypeError unless it is a `Trace`."""
    if _is_list(trace):
        raise wrong_type("trace", trace, "one Trace", "Give trace[0].")
    if not is_trace(trace):
        raise wrong_type("trace", trace, "a Trace", "Give translator.trace(text).")


def check_history(history):
    """Raise TypeError unless it is a dictionary."""
    if not isinstance(history, Mapping):
        raise wrong_type("history", history, "a dictionary of lists", "Give history.history.")


def check_bands(bands):
    """Raise TypeError unless it is a sequence: an `Evaluation` has one."""
    if isinstance(bands, str) or not hasattr(bands, "__iter__"):
        demand = "a sequence of (label, sentences, score)"
        raise wrong_type("bands", bands, demand, "Give evaluation.by_length.")


def wrong_type(name, value, demand, advice):
    """The TypeError of an argument."""
    kind = type(value).__name__
    received = f"a {kind}" if isinstance(value, list | tuple | str) else kind
    return TypeError(f"`{name}` must be {demand}. Received: {received}. {advice}")


def _is_list(value):
    return isinstance(value, list | tuple)


def _has(value, *attributes):
    return all(hasattr(value, attribute) for attribute in attributes)
