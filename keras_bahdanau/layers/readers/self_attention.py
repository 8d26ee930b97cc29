"""Self-attention reader, the encoder of a Transformer."""

import keras
from keras import ops

from keras_bahdanau.layers.readers.reader import StatelessReader
from keras_bahdanau.layers.rules import check_layer, head_rules
from keras_bahdanau.layers.sublayers import (
    FeedForward,
    dot_product_attention,
    inner_units,
    layer_norm,
    sinusoids,
)
from keras_bahdanau.settings import checks

HEAD_UNITS = 64  # as in the paper


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class SelfAttentionReader(StatelessReader):
    """Reader with self-attention blocks, in which each token attends to all tokens.

    x_j = sqrt(units) (W e_j + b) + p_j                                 p_j: `sinusoids`
    x'  = x + W_o [head_1; ...; head_n]
    head = softmax(Q K^T / sqrt(d)) V,   Q, K, V = (W_q, W_k, W_v) LN(x)
    x   = x' + FFN(LN(x'))                                   `depth` times, then a final LN

    This is the encoder of Vaswani et al. (2017, sections 3.1 to 3.5), with normalization before
    each sublayer (Xiong et al. 2020). The softmax is computed in float32. `heads` must divide
    `units`; None means heads of width 64. The inner width of FFN is `feed_forward_units`; None
    means four times `units`. `dropout` is the dropout rate for sublayer outputs, attention weights,
    and the inner values of FFN. The output is `units` wide. For calls and errors, see
    `BidirectionalRNN`.
    """

    stack_name = "self_attention"

    def __init__(self, units, depth=1, heads=None, feed_forward_units=None, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of the values", units)
        self.depth = checks.positive_integer("depth", "the number of blocks", depth)
        self.heads = _heads(units, heads)
        self.feed_forward_units = inner_units(feed_forward_units, units)
        self.dropout = checks.rate("dropout", "the dropout rate", dropout)
        policy = {"dtype": self.dtype_policy}
        self.input_projection = keras.layers.Dense(units, name="input_projection", **policy)
        self.input_dropout = keras.layers.Dropout(dropout, name="input_dropout", **policy)
        self.blocks = [
            _Block(units, self.heads, self.feed_forward_units, dropout, name=f"block_{i}", **policy)
            for i in range(depth)
        ]
        self.last_norm = layer_norm(self.dtype_policy, "last_norm")

    def build(self, inputs_shape, lengths_shape=None):
        self.input_projection.build(inputs_shape)
        for block in self.blocks:
            block.build((None, None, self.units))
        self.last_norm.build((None, None, self.units))

    def call(self, inputs, lengths, training=None):
        time = ops.shape(inputs)[1]
        x = self.units**0.5 * self.input_projection(inputs)  # -> (batch, time, units)
        x = x + ops.cast(sinusoids(ops.arange(time), self.units), x.dtype)
        x = self.input_dropout(x, training=training)
        # -> (batch, 1, 1, time): all heads and queries share the keys
        real = ops.arange(time, dtype="int32") < ops.reshape(lengths, (-1, 1, 1, 1))
        for block in self.blocks:
            x = block(x, real, training=training)
        return self.last_norm(x)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "depth": self.depth,
            "heads": self.heads,
            "feed_forward_units": self.feed_forward_units,
            "dropout": self.dropout,
        }


class _Block(keras.layers.Layer):
    """Block of self-attention and a feed-forward network, each with a residual connection."""

    def __init__(self, units, heads, feed_forward_units, dropout, **kwargs):
        super().__init__(**kwargs)
        self.units, self.heads = units, heads
        policy = {"dtype": self.dtype_policy}
        self.attention_norm = layer_norm(self.dtype_policy, "attention_norm")
        self.projection = keras.layers.Dense(
            3 * units, name="projection", **policy
        )  # W_q, W_k, W_v
        self.output_projection = keras.layers.Dense(
            units, name="output_projection", **policy
        )  # W_o
        self.feed_forward_norm = layer_norm(self.dtype_policy, "feed_forward_norm")
        self.feed_forward = FeedForward(
            units, feed_forward_units, dropout, name="feed_forward", **policy
        )
        self.weights_dropout = keras.layers.Dropout(dropout, dtype="float32")
        self.attention_dropout = keras.layers.Dropout(dropout, **policy)
        self.feed_forward_dropout = keras.layers.Dropout(dropout, **policy)

    def build(self, inputs_shape, real_shape=None):
        for layer in (self.attention_norm, self.projection, self.output_projection):
            layer.build(inputs_shape)
        for layer in (self.feed_forward_norm, self.feed_forward):
            layer.build(inputs_shape)

    def call(self, x, real, training=None):
        attended = self._attend(self.attention_norm(x), real, training)
        x = x + self.attention_dropout(attended, training=training)
        inner = self.feed_forward(self.feed_forward_norm(x), training=training)
        return x + self.feed_forward_dropout(inner, training=training)

    def _attend(self, x, real, training):
        batch, time = ops.shape(x)[0], ops.shape(x)[1]
        width = self.units // self.heads
        # (batch, time, 3 * units) -> (3, batch, heads, time, width)
        split = ops.reshape(self.projection(x), (batch, time, 3, self.heads, width))
        queries, keys, values = ops.unstack(ops.transpose(split, (2, 0, 3, 1, 4)), num=3, axis=0)
        # -> (batch, heads, time, width)
        heads = dot_product_attention(
            queries, keys, values, real, lambda x: self.weights_dropout(x, training=training)
        )
        side_by_side = ops.reshape(ops.transpose(heads, (0, 2, 1, 3)), (batch, time, self.units))
        return self.output_projection(side_by_side)


def _heads(units, heads):
    if heads is None:
        return next(n for n in range(max(1, units // HEAD_UNITS), 0, -1) if units % n == 0)
    checks.positive_integer("heads", "the number of heads", heads)
    check_layer(head_rules, {"heads": heads, "units": units}, "units")
    return heads
