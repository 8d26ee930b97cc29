"""An option of a training: None unless given, and a default that stands in where no preset does."""

import functools

from keras_bahdanau.settings.option import integer, number, option

COUNT = integer(1, 1_000_000)
RATE, WEIGHT = number(0, 1, "[)"), number(0, 1000)


def of_training(check, help, default=None, **metadata):
    """Option that is None unless given; `default` stands in for what no preset gives.

    A default that is a function of the other options follows them.
    """
    return option(None, check, help, resolved=default, **metadata)


of_model = functools.partial(of_training, of_model=True)
