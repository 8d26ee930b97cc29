"""Defaults of a preset that are others where there are many pairs."""

import dataclasses

from keras_bahdanau.training.presets import PRESETS

MANY = 20_000  # pairs of training; more of them are many


def with_defaults_of_many(options, count, say=None):
    """Options with the defaults that their preset has for as many pairs.

    Options that are given stay.

    Args:
        options: `TrainingOptions`.
        count: Integer, number of pairs of the training.
        say: Function of one string, which is told of the defaults; None for none.

    Returns:
        `TrainingOptions`; the same ones if the pairs are few, or nothing follows from them.

    Example:
        >>> options = TrainingOptions(preset="characters")
        >>> with_defaults_of_many(options, 100_000).dropout
        0.2
    """
    settings = PRESETS[options.resolved().preset].of_many_pairs
    undecided = options.undecided()
    found = {name: value for name, value in settings.items() if name in undecided}
    if count <= MANY or not found:
        return options
    if say is not None:
        values = ", ".join(f"{name} {value}" for name, value in found.items())
        say(f"defaults for more than {MANY:,} pairs: {values}")
    return dataclasses.replace(options, **found)
