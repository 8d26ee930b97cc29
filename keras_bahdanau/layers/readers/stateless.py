"""Base of the readers without a recurrent state."""

import keras

from keras_bahdanau.layers.memory import masked_mean


class StatelessReader(keras.layers.Layer):
    """Base of the readers that read all steps at once, in one layer of a given depth.

    A subclass takes `(units, depth, ..., dropout=)` and writes `build` and `call`.

    Attributes:
        units: Positive integer. Width of the values.
        stack_name: String. Name of the layer that `stack` makes.
    """

    stack_name = None

    @classmethod
    def stack(cls, depth, units, cell, recurrent_dropout, dropout, **kwargs):
        """The layers of an encoder of this depth: one, which holds all of them.

        Raises:
            ValueError: If `recurrent_dropout` is not 0.
        """
        if recurrent_dropout:
            raise ValueError(
                "`recurrent_dropout` is for readers with a recurrent state. Received: "
                f"recurrent_dropout={recurrent_dropout} for {cls.__name__}. Take `dropout`."
            )
        return [cls(units, depth, dropout=dropout, name=cls.stack_name, **kwargs)]

    @property
    def output_units(self):
        """Width of the output."""
        return self.units

    def last(self, values, mask):
        """The mean of the values, `(batch, output_units)`: there is no last state."""
        return masked_mean(values, mask)

    def compute_output_shape(self, inputs_shape, lengths_shape=None):
        return (*inputs_shape[:-1], self.units)
