"""Bridges: the decoder's initial states, from the encoder's summary or zero."""

import itertools

import keras
from keras import ops

from keras_bahdanau.settings import checks
from keras_bahdanau.settings.limits import MOST_OF_A_STATE


class Bridge(keras.layers.Layer):
    """Base of the bridges: all initial states of a decoder, in the structure of its cell.

    `sizes` are the widths of the states: a tuple of positive integers or of such tuples, as a
    cell's `state_sizes`, or ValueError. A summary `(batch, summary_units)` gives float tensors
    `(batch, size)` in that structure.
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
    """Dense layer from the encoder's summary to the decoder's initial states.

    s_0 = tanh(W summary + b)          (Bahdanau et al. 2015, appendix A.2.2)

    One product gives all states, each element in (-1, 1).
    """

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
    """Zeros as initial states, in the batch and dtype of the summary."""

    def call(self, summary):
        batch = ops.shape(summary)[0]
        return self._packed(
            ops.zeros((batch, size), summary.dtype) for size in keras.tree.flatten(self.sizes)
        )


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class IdentityBridge(Bridge):
    """The encoder's summary as initial state, without weights.

    s_0 = summary          (Sutskever et al. 2014; the decoders of TensorFlow's tutorials)

    Several states are parts of the summary, which must be as wide as all of them together.
    """

    def build(self, summary_shape):
        width = sum(keras.tree.flatten(self.sizes))
        if summary_shape[-1] != width:
            raise ValueError(
                "An identity bridge needs a summary as wide as all states of the decoder "
                f"together, {width}. Received: summary_units={summary_shape[-1]}. Make them equal, "
                "or take bridge='summary', which learns a map from one to the other."
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
            f"of such tuples, as a cell's `state_sizes`. Received: sizes={sizes!r}"
        )
    return tuple(
        _sizes(size)
        if isinstance(size, list | tuple)
        else checks.positive_integer("sizes", "each the width of a state", size, MOST_OF_A_STATE)
        for size in sizes
    )
