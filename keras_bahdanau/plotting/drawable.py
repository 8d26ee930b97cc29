"""Checks of what a picture is asked of: one result, its trace, its picture, some numbers."""

from collections.abc import Mapping


def check_result(result):
    """Raise TypeError if it is no `Translation`, nor anything with its tokens and alignment."""
    names = ("source_tokens", "target_tokens", "alignment")
    many = isinstance(result, list | tuple)
    advice = "Give result[0]." if many else "Give translator.translate([text])[0]."
    _check("result", result, names, "one Translation", advice)


def check_picture(picture):
    """Raise TypeError if it is no `Picture` of an input."""
    names = ("pixels", "rows", "maps")
    _check("picture", picture, names, "a Picture", "Give pipeline.picture(one).")


def check_trace(trace):
    """Raise TypeError if it is no `Trace`."""
    names = ("source_tokens", "top_tokens", "query")
    if isinstance(trace, list | tuple):
        raise _type_error("trace", trace, "one Trace", "Give trace[0].")
    _check("trace", trace, names, "a Trace", "Give translator.trace(text).")


def check_history(history):
    """Raise TypeError if it is no dictionary."""
    if not isinstance(history, Mapping):
        raise _type_error("history", history, "a dictionary of lists", "Give history.history.")


def check_bands(bands):
    """Raise TypeError if it is not a sequence, such as an `Evaluation` that has one."""
    if isinstance(bands, str) or not hasattr(bands, "__iter__"):
        demand = "a sequence of (label, sentences, score)"
        raise _type_error("bands", bands, demand, "Give evaluation.by_length.")


def _check(name, value, attributes, demand, advice):
    if not all(hasattr(value, attribute) for attribute in attributes):
        raise _type_error(name, value, demand, advice)


def _type_error(name, value, demand, advice):
    kind = type(value).__name__
    received = f"a {kind}" if isinstance(value, list | tuple | str) else kind
    return TypeError(f"`{name}` must be {demand}. Received: {received}. {advice}")
