"""The steps that `--trace` draws: the first four, or those of `--trace-steps`."""

import re
from typing import Annotated

import typer

from keras_bahdanau.settings.limits import MOST_STEPS

USUAL = range(4)

TraceStepsOption = Annotated[
    str | None,
    typer.Option(
        metavar="FIRST-LAST",
        help=f"Steps that --trace draws in place of those, such as 9-11; {MOST_STEPS} at most.",
        show_default=False,
    ),
]


def steps_asked(given, trace):
    """The steps to draw, counted from 0, as a range.

    Args:
        given: String, such as "9-11" or "9", counted from 1; None for the first four.
        trace: Path of the picture, or None.

    Raises:
        ValueError: If they are no such steps, or there is no picture to draw them in.
    """
    if given is None:
        return USUAL
    if trace is None:
        raise ValueError(
            "`trace_steps` is for a picture of steps. Received: "
            f"trace_steps={given!r} without one. Give --trace, or leave it out."
        )
    found = re.fullmatch(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", given)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= first <= last < first + MOST_STEPS:
        raise ValueError(
            f"`trace_steps` must be FIRST-LAST, counted from 1, {MOST_STEPS} steps at most. "
            f"Received: trace_steps={given!r}. Give two numbers, such as 9-11."
        )
    return range(first - 1, last)


def check_steps(steps, given, count):
    """Raise ValueError if a result of `count` steps lacks some that were asked for."""
    if given is not None and steps.stop > count:
        raise ValueError(
            f"`trace_steps` must be steps of the result, which has {count}. Received: "
            f"trace_steps={given!r}. Give others, or take --explore for all."
        )
