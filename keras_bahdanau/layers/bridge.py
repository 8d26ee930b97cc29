"""Bridges, which make the decoder's initial states from the encoder's summary."""

import itertools

import keras
from keras import ops

from keras_bahdanau.layers.registry import CompositeLayer
from keras_bahdanau.settings import checks
from keras_bahdanau.settings.limits import MOST_OF_A_STATE


class Bridge(CompositeLayer):
    """Base class of the bridges, which return all initial states of a decoder.

    A call maps a summary `(batch, summary_units)` to tensors `(batch, size)`, in the structure of
    `sizes`, the `state_sizes` of the cell.
    """

    def __init__(self, sizes, **kwargs):
        super().__init__(**kwargs)
        self.sizes = _sizes(sizes)

    def compute_output_shape(self, summary_shape):
        return self._packed((*summary_shape[:-1], size) for size in keras.tree.flatten(self.sizes))

    def _packed(self, states):
        return keras.tree.pack_sequence_as(self.sizes, [*states])

    def get_config(self):
        return {**super().get_config(), "sizes": self.sizes}


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class StateBridge(Bridge):
    """Bridge that computes s_0 = tanh(W summary + b) (Bahdanau et al. 2015, appendix A.2.2)."""

    def __init__(self, sizes, **kwargs):
        super().__init__(sizes, **kwargs)
        widths = keras.tree.flatten(self.sizes)
        self.ends = [*itertools.accumulate(widths)][:-1]
        self.projection = keras.layers.Dense(
            sum(widths), activation="tanh", dtype=self.dtype_policy, name="projection"
        )

    def build(self, summary_shape):
        self.projection.build(summary_shape)

    def call(self, summary):
        states = self.projection(summary)
        # s_0 of each layer: (batch, sum of the sizes) -> (batch, size) each
        return self._packed(ops.split(states, self.ends, axis=-1) if self.ends else [states])


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class ZeroBridge(Bridge):
    """Bridge that returns zeros, with the batch size and dtype of the summary."""

    def call(self, summary):
        batch = ops.shape(summary)[0]
        return self._packed(
            ops.zeros((batch, size), summary.dtype) for size in keras.tree.flatten(self.sizes)
        )


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class IdentityBridge(Bridge):
    """Bridge that splits the summary into states (Sutskever et al. 2014; TensorFlow tutorials)."""

    def build(self, summary_shape):
        width = sum(keras.tree.flatten(self.sizes))
        if summary_shape[-1] != width:
            raise ValueError(
                "An identity bridge needs a summary as wide as all states of the decoder "
                f"together, {width}. Received: summary_units={summary_shape[-1]}. Make them equal, "
                "or use bridge='summary', which learns a map from one to the other."
            )

    def call(self, summary):
        widths = keras.tree.flatten(self.sizes)
        ends = [*itertools.accumulate(widths)][:-1]
        # (batch, sum of the sizes) -> (batch, size) each
        return self._packed(ops.split(summary, ends, axis=-1) if ends else [summary])


def _sizes(sizes):
    if not isinstance(sizes, list | tuple) or not sizes:
        raise ValueError(
            "`sizes`, the widths of the decoder's states, must be a tuple of positive integers or "
            f"of such tuples, like the `state_sizes` of a cell. Received: sizes={sizes!r}"
        )
    return tuple(
        _sizes(size)
        if isinstance(size, list | tuple)
        else checks.positive_integer("sizes", "each the width of a state", size, MOST_OF_A_STATE)
        for size in sizes
    )
