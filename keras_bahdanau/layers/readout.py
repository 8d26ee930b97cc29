"""Readouts, which turn a decoder step into the input of the output layer."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bahdanau.layers.attention.hard_alignment import log_sum_exp
from keras_bahdanau.layers.registry import CompositeLayer
from keras_bahdanau.layers.rules import check_layer, plain_readout_rules
from keras_bahdanau.settings import checks


class ReadoutBase(CompositeLayer):
    """Base class of readouts, which compute t_i `(..., units)` for all steps together.

    The inputs are the state s_i, the context c_i and the embedded y_{i-1}.
    """

    def __init__(self, units, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.units = checks.positive_integer("units", "the width of the readout", units)
        self.dropout = checks.rate("dropout", "the dropout rate of the readout", dropout)
        self.output_dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def read(self, state, context, embedded):
        """Return t_i before dropout."""
        raise NotImplementedError

    def call(self, state, context, embedded, training=None):
        return self.output_dropout(self.read(state, context, embedded), training=training)

    def compute_output_shape(self, state_shape, context_shape, embedded_shape):
        return (*state_shape[:-1], self.units)

    def get_config(self):
        return {**super().get_config(), "units": self.units, "dropout": self.dropout}


class ProjectedReadout(ReadoutBase):
    """Base class of readouts that use one dense layer, with the arguments `dense`.

    The layer computes `pieces` values for each output.
    """

    dense = {"activation": "tanh"}
    pieces = 1

    def __init__(self, units, dropout=0.0, **kwargs):
        super().__init__(units, dropout, **kwargs)
        self.projection = keras.layers.Dense(
            self.pieces * units, dtype=self.dtype_policy, name="projection", **self.dense
        )

    def vectors(self, state, context, embedded):
        """Return the vectors of a step in the order in which they are concatenated."""
        return state, context, embedded

    def build(self, state_shape, context_shape, embedded_shape):
        shapes = self.vectors(state_shape, context_shape, embedded_shape)
        self.projection.build((None, sum(shape[-1] for shape in shapes)))

    def read(self, state, context, embedded):
        # [s_i; c_i; y_{i-1}] -> t_i: (..., pieces * units)
        return self.projection(ops.concatenate(self.vectors(state, context, embedded), axis=-1))


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Readout(ProjectedReadout):
    """Deep output t_i = tanh(W_s s_i + W_c c_i + W_y y_{i-1} + b) (Pascanu et al. 2014)."""


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class MaxoutReadout(ProjectedReadout):
    """Deep output with a maxout layer of two pieces, as in the paper.

    t~_i = U_o s + V_o y_{i-1} + C_o c_i
    t_i  = [max(t~_{i,2j-1}, t~_{i,2j})], j = 1 ... units      (Bahdanau et al. 2015, A.2.2)
    """

    dense = {"use_bias": False}
    pieces = 2

    def read(self, state, context, embedded):
        pieces = super().read(state, context, embedded)  # t~_i: (..., 2 * units)
        # -> (..., units, 2); the maximum is (..., units)
        pairs = ops.reshape(pieces, (*ops.shape(pieces)[:-1], self.units, 2))
        return ops.max(pairs, axis=-1)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class AttentionalReadout(ProjectedReadout):
    """Luong's attentional vector: t_i = tanh(W [c_i; s_i]) (Luong et al. 2015, eq. 5)."""

    dense = {"activation": "tanh", "use_bias": False}

    def vectors(self, state, context, embedded):
        return context, state


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class PlainReadout(ReadoutBase):
    """Readout that returns the output of the decoder cell unchanged; `units` must be its width."""

    def build(self, state_shape, context_shape, embedded_shape):
        check_layer(plain_readout_rules, {"readout_units": self.units, "units": state_shape[-1]})

    def read(self, state, context, embedded):
        return state


class Emitted(NamedTuple):
    """Record of a step, from which the probability of the chosen token is computed."""

    sums: Any  # (batch, [n,] units), W [s_i; y_{i-1}] + b
    dropout_masks: Any  # the dropout mask of the step, (batch, units), or ()
    log_normalizers: Any  # float32 (batch, [n,] source_time), log Z_ij
    steps: Any  # float32 (batch, [n]), 0 before the first step, 1 after it


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Emission(ReadoutBase):
    """Readout for hard attention: t_ij = tanh(W [s_i; y_{i-1}] + V h_j + b) for each position j.

    p(y_i = k | a_i = j, y_<i) = exp(l_ijk) / Z_ij,   l_ij = O t_ij + o
    log p(y_i = k | y_<i)      = log sum_j f_i(j) exp(l_ijk) / Z_ij

    This follows Wu et al. (2018), who do not use y_{i-1} in t_ij. O is the output layer, and f_i
    comes from `HardAlignment`. A step has `source_time * vocabulary` logits for each hypothesis. In
    training, these are recomputed for the gradient, so that memory holds the logits of only one
    step. A call reads a single h_j, passed as the context.
    """

    def __init__(self, units, dropout=0.0, **kwargs):
        super().__init__(units, dropout, **kwargs)
        policy = {"dtype": self.dtype_policy}
        self.projection = keras.layers.Dense(units, name="projection", **policy)  # W, b
        self.value_projection = keras.layers.Dense(  # V
            units, use_bias=False, name="value_projection", **policy
        )

    def build(self, state_shape, context_shape, embedded_shape):
        self.projection.build((None, state_shape[-1] + embedded_shape[-1]))
        self.value_projection.build((None, context_shape[-1]))

    def read(self, state, context, embedded):
        return ops.tanh(self.sums(state, embedded) + self.project(context))

    def project(self, values):
        """Compute V h_j, once per source for all steps: `(batch, source_time, units)`."""
        return self.value_projection(values)

    def sums(self, state, embedded):
        """Compute W [s_i; y_{i-1}] + b: `(..., units)`."""
        return self.projection(ops.concatenate([state, embedded], axis=-1))

    def initial_state(self, keys):
        """Return the `Emitted` before the first step; its values are not used."""
        batch, source_time, units = ops.shape(keys)
        return Emitted(
            sums=ops.zeros((batch, units), keys.dtype),
            dropout_masks=(),
            log_normalizers=ops.zeros((batch, source_time), "float32"),
            steps=ops.zeros((batch,), "float32"),
        )

    def mixture(self, log_prior, sums, keys, output, dropout_masks=(), training=None):
        """Predict a token; return (log p(y_i = k | y_<i), `Emitted`).

        `log_prior` is log f_i, `(batch, [n,] source_time)`. `output` is (O, o), with shapes
        `(vocabulary, units)` and `(vocabulary,)`. The log-probabilities are float32
        `(batch, [n,] vocabulary)`. In training, the gradient recomputes the logits.
        """
        mixed = keras.remat(_mixed) if training else _mixed
        log_probs, log_normalizers = mixed(log_prior, sums, keys, *output, *dropout_masks)
        steps = ops.ones_like(log_normalizers[..., 0])
        return log_probs, Emitted(sums, dropout_masks, log_normalizers, steps)

    def token_log_likelihoods(self, tokens, emitted, keys, output):
        """Return log p(y_i | a_i = j, y_<i), float32 `(batch, [n,] source_time)`; initially 0."""
        # all positions use the same row of O and o: (batch, [n,] 1, units), (batch, [n,] 1)
        kernel, bias = (ops.expand_dims(ops.take(weight, tokens, axis=0), -1) for weight in output)
        kernel = ops.cast(ops.swapaxes(kernel, -1, -2), "float32")
        hidden = ops.cast(_hidden(emitted.sums, keys, *emitted.dropout_masks), "float32")
        logits = ops.sum(hidden * kernel, axis=-1) + bias  # -> (batch, [n,] source_time)
        return (logits - emitted.log_normalizers) * ops.expand_dims(emitted.steps, axis=-1)


def _hidden(sums, keys, dropout_mask=None):
    """Compute t_ij, `(batch, [n,] source_time, units)`."""
    if len(sums.shape) == 3:
        keys = ops.expand_dims(keys, axis=1)  # -> (batch, 1, source_time, units)
    hidden = ops.tanh(ops.expand_dims(sums, axis=-2) + keys)
    return hidden if dropout_mask is None else hidden * ops.expand_dims(dropout_mask, axis=-2)


def _mixed(log_prior, sums, keys, kernel, bias, *dropout_masks):
    """Return (log p(y_i = k | y_<i), log Z_ij) of `Emission`; takes only tensors, for `remat`."""
    hidden = _hidden(sums, keys, *dropout_masks)
    # flattened, since in a loop under XLA a product over more axes has no gradient
    flat = ops.reshape(hidden, (-1, hidden.shape[-1]))
    logits = ops.cast(ops.matmul(flat, ops.transpose(kernel)), "float32") + bias
    # l_ijk: (batch, [n,] source_time, vocabulary)
    logits = ops.reshape(logits, (*ops.shape(hidden)[:-1], kernel.shape[0]))
    log_normalizers = log_sum_exp(logits, axis=-1)
    joint = ops.expand_dims(log_prior - log_normalizers, axis=-1) + logits
    return log_sum_exp(joint, axis=-2), log_normalizers
