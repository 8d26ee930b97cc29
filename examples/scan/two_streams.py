"""Syntactic attention: weights from one stream of the encoder, values from another stream.

    h_j     = [LSTM(x_1 ... x_j); LSTM(x_n ... x_j)]     syntax, a word in context
    m_j     = W_m x_j                                    semantics, a single word
    s_i     = LSTM(s_{i-1}, c_{i-1})
    alpha_i = softmax_j(v^T tanh(W s_i + U h_j))
    c_i     = sum_j alpha_ij h_j,   d_i = sum_j alpha_ij m_j
    p(y_i)  = softmax(W_o d_i + b)

(Russin et al. 2019, arXiv 1904.09708.) The keys of the attention are syntax, and its values are
semantics, which are the only input of the output layer. The state reads neither semantics nor
earlier actions. A word that occurs in training only by itself can therefore be used in any
sentence. Here the scores are additive, and s_0 = tanh(W_0 h' + b_0), where h' is the backward state
at the first word.
"""

import keras
from keras import ops

import keras_bahdanau as kb


@keras.saving.register_keras_serializable(package="scan")
class TwoStreams(kb.layers.BidirectionalRNN):
    """Reader with two streams: [h_j; m_j].

    Args:
        units: Positive integer. Width of the syntax in each direction.
        semantic_units: Positive integer. Width of the semantics.
        **kwargs: As in `BidirectionalRNN`.

    Call arguments and output are the same as in `BidirectionalRNN`, but the output has the shape
    `(batch, time, 2 * units + semantic_units)`.
    """

    def __init__(self, units, semantic_units, **kwargs):
        super().__init__(units, **kwargs)
        self.semantic_units = semantic_units
        self.semantics = keras.layers.Dense(  # W_m
            semantic_units, use_bias=False, dtype=self.dtype_policy, name="semantics"
        )

    @property
    def output_units(self):
        return 2 * self.units + self.semantic_units

    def build(self, inputs_shape, lengths_shape=None):
        super().build(inputs_shape, lengths_shape)
        self.semantics.build(inputs_shape)

    def call(self, inputs, lengths, training=None):
        syntax = super().call(inputs, lengths, training=training)
        return ops.concatenate([syntax, self.semantics(inputs)], axis=-1)

    def first_backward(self, values, mask):
        return super().first_backward(values[..., : 2 * self.units], mask)

    def last(self, values, mask):
        # as wide as the values: (batch, 2 * units) -> (batch, output_units)
        return ops.pad(super().last(values, mask), ((0, 0), (0, self.semantic_units)))

    def get_config(self):
        return {**super().get_config(), "semantic_units": self.semantic_units}


@keras.saving.register_keras_serializable(package="scan")
class SyntacticAttention(kb.BahdanauAttention):
    """Attention whose keys are the first `syntax_units` of the values; the context is [c_i; d_i].

    Other arguments, calls and errors are the same as in `BahdanauAttention`.
    """

    def __init__(self, units, syntax_units, **kwargs):
        super().__init__(units, **kwargs)
        self.syntax_units = syntax_units

    def build(self, query_shape, values_shape, key_shape=None):
        super().build(query_shape, values_shape, (*values_shape[:-1], self.syntax_units))

    def prepare(self, memory):
        return super().prepare(memory._replace(values=memory.values[..., : self.syntax_units]))

    def get_config(self):
        return {**super().get_config(), "syntax_units": self.syntax_units}


@keras.saving.register_keras_serializable(package="scan")
class Syntax(keras.layers.Layer):
    """Layer for the first `units` of vectors `(..., any width)`: c_i of [c_i; d_i; s_i]."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def call(self, vectors):
        return vectors[..., : self.units]

    def compute_output_shape(self, vectors_shape):
        return (*vectors_shape[:-1], self.units)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable(package="scan")
class SyntacticCell(kb.layers.InputFeedingCell):
    """Decoder cell that reads c_{i-1} but no token, and outputs d_i to the readout.

    `attentional` is a `Syntax`. Other arguments, calls and errors are the same as in
    `InputFeedingCell`.
    """

    @property
    def output_units(self):
        return self.context_units - self.attentional_units

    def project(self, inputs):
        return super().project(0 * inputs)  # ignores the previous actions

    def step(self, projected, state, prepared, training=None):
        step, state = super().step(projected, state, prepared, training=training)
        return step._replace(output=step.context[..., self.attentional_units :]), state  # d_i


def two_streams(
    source,
    target,
    embedding_units=200,
    encoder_units=100,
    semantic_units=120,
    units=200,
    attention_units=100,
    embedding_dropout=0.5,
    dropout=0.5,
):
    """Return an untrained `Seq2Seq` with syntactic attention; source and target are `Subwords`.

    `dropout` is the rate for h_j and m_j, `embedding_dropout` the rate for x_j.
    """
    encoder = kb.Encoder(
        source.vocabulary_size,
        embedding_units,
        readers=[TwoStreams(encoder_units, semantic_units, cell="lstm")],
        embedding_dropout=embedding_dropout,
        dropout=dropout,
        summary="backward",
    )
    syntax_units = 2 * encoder_units
    attention = SyntacticAttention(attention_units, syntax_units)
    cell = SyntacticCell(units, attention, attentional=Syntax(syntax_units), cell="lstm")
    # embeddings of width 1, because nothing reads the actions
    decoder = kb.Decoder(
        target.vocabulary_size, 1, cell, readout="plain", readout_units=semantic_units
    )
    return kb.Seq2Seq(encoder, decoder)
