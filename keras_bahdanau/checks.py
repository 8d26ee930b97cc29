"""Argument checks that several layers share: what must hold, what came, what to do."""

import math


def positive_integer(name, meaning, value):
    """Return `value`, or raise ValueError if it is not an integer above 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(
            f"`{name}`, {meaning}, must be a positive integer. Received: {name}={value!r}"
        )
    return value


def rate(name, meaning, value):
    """Return `value`, or raise ValueError if it is not a number in [0, 1)."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise ValueError(f"`{name}`, {meaning}, must be in [0, 1). Received: {name}={value!r}")
    return value


def rate_or(default, name, meaning, value):
    """Return `default` if `value` is None, and `rate` of it otherwise."""
    return default if value is None else rate(name, meaning, value)


def not_negative(name, meaning, value):
    """Return `value`, or raise ValueError if it is not a finite number of at least 0."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value < math.inf:
        raise ValueError(f"`{name}`, {meaning}, must be at least 0. Received: {name}={value!r}")
    return value


def number(name, meaning, value):
    """Return `value`, or raise ValueError if it is not a finite number."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if not real or not math.isfinite(value):
        raise ValueError(f"`{name}`, {meaning}, must be a number. Received: {name}={value!r}")
    return value


def choice(name, value, allowed):
    """Return `value`, or raise ValueError if it is not one of `allowed`."""
    if value not in allowed:
        names = ", ".join(repr(item) for item in allowed)
        raise ValueError(f"`{name}` must be one of {names}. Received: {name}={value!r}")
    return value
