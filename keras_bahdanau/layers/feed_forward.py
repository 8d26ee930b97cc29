"""The sublayers of a Transformer that see one position: normalization, feed-forward."""

import keras

from keras_bahdanau import checks
from keras_bahdanau.layers.step_seed import StepDropout

EPSILON = 1e-6


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class FeedForward(keras.layers.Layer):
    """Position-wise feed-forward network.

    FFN(x) = W_2 max(0, W_1 x + b_1) + b_2      (Vaswani et al. 2017, eq. 2)

    Args:
        units: Positive integer. Width of the output.
        inner_units: Positive integer. Width of W_1 x.
        dropout: Float in [0, 1). Rate at which training drops the inner values.

    Call arguments:
        inputs: Float tensor `(..., input_units)`.
        training: Python bool.

    Output:
        Float tensor `(..., units)`.

    Raises:
        ValueError: If a size is not a positive integer, or `dropout` not in [0, 1).
    """

    def __init__(self, units, inner_units, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of the output", units)
        self.inner_units = checks.positive_integer(
            "inner_units", "the inner width of the feed-forward network", inner_units
        )
        policy = {"dtype": self.dtype_policy}
        self.inner = keras.layers.Dense(inner_units, activation="relu", name="inner", **policy)
        self.inner_dropout = StepDropout(dropout, name="inner_dropout", **policy)
        self.outer = keras.layers.Dense(units, name="outer", **policy)

    def build(self, inputs_shape):
        self.inner.build(inputs_shape)
        self.outer.build((*inputs_shape[:-1], self.inner_units))

    def call(self, inputs, training=None):
        inner = self.inner_dropout(self.inner(inputs), training=training)  # (..., inner_units)
        return self.outer(inner)

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], self.units)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "inner_units": self.inner_units,
            "dropout": self.inner_dropout.rate,
        }


def layer_norm(policy, name):
    """A new layer normalization (Ba et al. 2016), which computes in float32."""
    return keras.layers.LayerNormalization(epsilon=EPSILON, dtype=policy, name=name)
