"""Checks for arguments, with errors that say what to do, and formatting of counts."""

import inspect
import sys
from numbers import Integral

from keras_bahdanau.settings.guesses import nearest
from keras_bahdanau.settings.limits import WIDEST


def positive_integer(name, meaning, value, most=WIDEST):
    """Return `value` as an int. Raises ValueError unless it is an integer in [1, `most`]."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(
            f"`{name}`, {meaning}, must be a positive integer. Received: {name}={value!r}"
        )
    if value > most:
        raise ValueError(f"`{name}`, {meaning}, must be at most {most}. Received: {name}={value!r}")
    return int(value)


def rate(name, meaning, value):
    """Return `value`. Raises ValueError unless it is a number in [0, 1)."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise ValueError(f"`{name}`, {meaning}, must be in [0, 1). Received: {name}={value!r}")
    return value


def fraction(name, meaning, value):
    """Return `value`. Raises ValueError unless it is a number in [0, 1]."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"`{name}`, {meaning}, must be in [0, 1]. Received: {name}={value!r}")
    return value


def rate_or(default, name, meaning, value):
    """Return `default` if `value` is None; otherwise return `value`, checked by `rate`."""
    return default if value is None else rate(name, meaning, value)


def not_negative(name, meaning, value):
    """Return `value`. Raises ValueError unless it is a finite number and at least 0."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= sys.float_info.max:
        raise ValueError(f"`{name}`, {meaning}, must be at least 0. Received: {name}={value!r}")
    return value


def number(name, meaning, value):
    """Return `value`. Raises ValueError unless it is a finite number."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if not real or not abs(value) <= sys.float_info.max:
        raise ValueError(f"`{name}`, {meaning}, must be a number. Received: {name}={value!r}")
    return value


def choice(name, value, allowed):
    """Return `value`, with integers converted to int. Raises ValueError unless in `allowed`."""
    integers = all(isinstance(item, int) for item in allowed)
    if value not in allowed or (integers and not isinstance(value, Integral)):  # 8.0 == 8
        names = ", ".join(repr(item) for item in allowed)
        raise ValueError(
            f"`{name}` must be one of {names}. Received: {name}={value!r}{nearest(value, allowed)}"
        )
    return int(value) if integers else value


def whole(name, part, arguments, kind):
    """Return a part. Raises ValueError if arguments for creating the part are given, too.

    `name` is the argument that accepts the part. `arguments` are arguments for the constructor of
    `kind`, which must have their default values.
    """
    defaults = inspect.signature(kind.__init__).parameters
    changed = [key for key, value in arguments.items() if value != defaults[key].default]
    if changed:
        received = ", ".join(f"{key}={arguments[key]!r}" for key in changed)
        raise ValueError(
            f"A layer given as `{name}` already has its {', '.join(changed)}. Received: "
            f"{name}={type(part).__name__}(...), {received}. Pass these arguments to the layer "
            "itself."
        )
    return part


def counted(number, plural):
    """Format a count with its noun, which is given as a regular plural: `1 pair`, `2,000 pairs`."""
    singular = plural.removesuffix("es") if plural.endswith("ches") else plural.removesuffix("s")
    return f"{number:,} {singular if number == 1 else plural}"
