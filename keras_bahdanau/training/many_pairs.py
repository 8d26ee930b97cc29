"""Defaults of a preset that are others where there are many pairs."""

import dataclasses

from keras_bahdanau.training.presets import PRESETS


def with_defaults_of_many(options, count, say=None):
    """Options with the defaults that their preset has for as many pairs.

    Options that are given stay.

    Args:
        options: `TrainingOptions`, with model types that are found.
        count: Integer, number of pairs of the training.
        say: Function of one string, which is told of the defaults; None for none.

    Returns:
        `TrainingOptions`; the same ones if the pairs are few, or nothing follows from them.

    Example:
        >>> options = TrainingOptions(preset="characters", model_type="char")
        >>> with_defaults_of_many(options, 100_000).dropout
        0.2
    """
    resolved, undecided = options.resolved(), options.undecided()
    passed = {
        limit: settings
        for limit, settings in PRESETS[resolved.preset].of_many_pairs.items()
        if count > limit
    }
    values = {name: value for settings in passed.values() for name, value in settings.items()}
    found = {
        name: value(resolved) if callable(value) else value
        for name, value in values.items()
        if name in undecided
    }
    if not found:
        return options
    if say is not None:
        told = ", ".join(f"{name} {value}" for name, value in found.items())
        say(f"defaults for more than {max(passed):,} pairs: {told}")
    return dataclasses.replace(options, **found)
