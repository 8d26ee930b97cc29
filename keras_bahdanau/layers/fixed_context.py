"""No attention: what the decoder sees of the source never changes."""

import keras
from keras import ops

from keras_bahdanau.layers.attention import Memory, masked_mean


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class FixedContext(keras.layers.Layer):
    """The context of a decoder without attention: the encoder's summary, at every step.

    c_i = summary        (RNNencdec, Cho et al. 2014; what Bahdanau et al. 2015 compare with)

    It stands where an attention layer stands: `Decoder(..., attention=None)`.

    Call arguments:
        query: Float tensor `(batch, units)` or `(batch, target_time, units)`.
        values: Float tensor `(batch, source_time, values_units)`.
        mask: Bool tensor `(batch, source_time)`, True where a value is real, or None.

    Output:
        The mean of the real values, `(batch, values_units)` or
        `(batch, target_time, values_units)`.
    """

    def build(self, query_shape, values_shape):
        pass

    def prepare(self, memory):
        """The `Memory` as it is."""
        return memory

    def attend(self, query, memory, training=None):
        """The summary for each query, and weights that are all zero: nothing is looked at."""
        weights = ops.zeros_like(memory.values[:, :, 0], dtype="float32")
        context = memory.summary
        if len(query.shape) == 3:
            each = ops.zeros_like(query[:, :, :1])
            context = ops.expand_dims(context, axis=1) + ops.cast(each, context.dtype)
            weights = ops.expand_dims(weights, axis=1) + ops.cast(each, "float32")
        return context, weights

    def call(self, query, values, mask=None):
        if mask is None:
            mask = ops.ones_like(values[:, :, 0], dtype="bool")
        summary = masked_mean(values, mask)
        return self.attend(query, Memory(values, mask, summary))[0]

    def compute_output_shape(self, query_shape, values_shape):
        return (*query_shape[:-1], values_shape[-1])

    def compute_mask(self, query, mask=None):
        return None  # `mask` is about the values: it must not go on with the context

    def get_config(self):
        return super().get_config()  # its presence tells Keras that there is no more to know
