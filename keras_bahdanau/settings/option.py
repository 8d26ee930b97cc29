"""Options of settings dataclasses. The field of an option stores its default, check and help."""

import dataclasses
import inspect
import textwrap
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from keras_bahdanau.settings.guesses import check_constructor, nearest


class Check(NamedTuple):
    """Condition that the value of an option must meet.

    Attributes:
        demand: String that describes valid values, such as "an integer in [1, 9]".
        allows: Function that returns True for valid values.
        choices: Tuple of the allowed names; () if values are not names.
        advice: Dictionary from likely wrong values to advice for the end of the error message.
    """

    demand: str
    allows: Callable
    choices: tuple = ()
    advice: Mapping = MappingProxyType({})


def integer(lowest, highest):
    """Return a check for integers from `lowest` to `highest`."""
    return Check(
        f"an integer in [{lowest}, {highest}]",
        lambda value: _is_integer(value) and lowest <= value <= highest,
    )


def number(lowest, highest, ends="[]"):
    """Return a check for numbers in an interval. `ends` contains its brackets, such as "(]"."""
    left, right = ends

    def allows(value):
        if not _is_integer(value) and not isinstance(value, float):
            return False
        inside = lowest <= value <= highest  # never True for NaN
        excluded = (left == "(" and value == lowest) or (right == ")" and value == highest)
        return inside and not excluded

    return Check(f"a number in {left}{lowest}, {highest}{right}", allows)


def one_of(*names):
    """Return a check for one of several names."""
    return Check(
        f"one of {', '.join(map(repr, names))}",
        lambda value: isinstance(value, str) and value in names,
        names,
    )


def some_of(*names):
    """Return a check for a string of different names separated by commas."""

    def allows(value):
        parts = value.split(",") if isinstance(value, str) else [""]
        return set(parts) <= set(names) and len(set(parts)) == len(parts)

    demand = f"one or more of {', '.join(map(repr, names))}, separated by commas"
    return Check(demand, allows, names)


def integers(lowest, highest, most):
    """Return a check for a string of up to `most` integers in a range, separated by commas."""

    def allows(value):
        parts = value.split(",") if isinstance(value, str) and value else []
        return isinstance(value, str) and len(parts) <= most and all(map(inside, parts))

    def inside(part):
        return (
            part.isascii() and part.isdigit() and len(part) < 10 and lowest <= int(part) <= highest
        )

    demand = f"up to {most} integers in [{lowest}, {highest}], separated by commas, or ''"
    return Check(demand, allows)


def names(most):
    """Return a check for a string of up to `most` names or paths, separated by commas."""

    def allows(value):
        parts = value.split(",") if isinstance(value, str) and value else []
        return isinstance(value, str) and len(parts) <= most and all(map(is_name, parts))

    def is_name(part):
        return 0 < len(part) <= 200 and all(name.isidentifier() for name in part.split("/"))

    return Check(f"up to {most} names, separated by commas, or ''", allows)


def flag():
    """Return a check for a bool."""
    return Check("True or False", lambda value: isinstance(value, bool))


def optional(check):
    """Return a check for None and the values that `check` allows."""
    return check._replace(
        demand=f"{check.demand}, or None", allows=lambda value: value is None or check.allows(value)
    )


def _is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def plain(value):
    """Convert a NumPy scalar to a Python number, for JSON. Return other values unchanged."""
    is_number = hasattr(value, "item") and getattr(value, "shape", None) == ()
    return value.item() if is_number else value


def option(default, check, help, **metadata):
    """Create a field of a settings dataclass, with its `Check`.

    `help` is used in the class docstring and on the command line. In it, "{choices}" is replaced by
    the names that the check allows. In `metadata`, `off` is the name of the command-line option
    that turns a flag off, if "no-..." is not suitable. `heading` is the heading for the option in
    the help of a command; None, or no heading, means the first heading, "Options".
    """
    names = [f'"{name}"' for name in check.choices]
    if names:
        help = help.replace("{choices}", f"{', '.join(names[:-1])} or {names[-1]}")
    return dataclasses.field(default=default, metadata={"check": check, "help": help, **metadata})


def or_registered(check):
    """Return a check for class names registered with Keras and the values that `check` allows."""

    def allows(value):
        return check.allows(value) or is_registered(value)

    def is_registered(value):
        return isinstance(value, str) and len(value) <= 200 and ">" in value.strip(">")

    demand = f"{check.demand}, or a registered name such as 'package>Class'"
    return check._replace(demand=demand, allows=allows)


def check_value(name, value, check):
    """Raise ValueError if a check does not allow the value of the option `name`."""
    if not check.allows(value):
        raise ValueError(
            f"`{name}` must be {check.demand}. Received: {name}={value!r}{_advice(value, check)}"
        )


def _advice(value, check):
    """Return the end of an error message: advice if there is any, or the closest name."""
    if isinstance(value, str) and value in check.advice:
        return f". {check.advice[value]}"
    return nearest(value, check.choices)


def check_option(field, value):
    """Raise ValueError if the check of a field does not allow the value."""
    check_value(field.name, value, field.metadata["check"])


def documented(settings):
    """Class decorator that adds a section "Args" before "Raises" in the docstring of settings.

    It also makes the constructor explain unknown keywords: see `settings.guesses`.
    """
    check_constructor(settings)
    description, raises, errors = inspect.cleandoc(settings.__doc__).partition("Raises:")
    lines = [
        textwrap.fill(
            f"{field.name}: {field.metadata['help']}",
            width=92,
            break_on_hyphens=False,
            initial_indent="    ",
            subsequent_indent="        ",
        )
        for field in dataclasses.fields(settings)
    ]
    settings.__doc__ = "\n".join([f"{description}Args:", *lines, "", f"{raises}{errors}"])
    return settings
