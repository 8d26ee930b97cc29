"""Weights rounded in training, as the LiteRT exports "int8" and "int4" round them.

An optimizer of `rounding` keeps each weight as two numbers: the rounded one, which the model
computes with, and the remainder,

w = q + r,   q = s n,   n = round(w / s) in -L ... L

with L = 127 in 8 bits, and 7 in 4. A matrix of 8 bits has one scale, s = max |w| / L. One of 4 bits
has a scale for each of its outputs, and a large table of embeddings one for each of its rows: of
the parts of max |w| / L from 1 down to a half that with the least sum of r^2. What is larger than
s L then has the number L.

A step moves w by the gradient at q (the straight-through estimator of Bengio et al. 2013, as
Courbariaux et al. 2015 train weights of few bits), and rounds again. So validation and the file
have the weights that a device has, and the export takes nothing more off them.
"""

import functools
import math

import keras
from keras import ops

from keras_bahdanau.layers.scores import LocationScore

LEVELS = {"int8": 127, "int4": 7}  # of each sign, by the export
PARTS = tuple(part / 100 for part in range(100, 45, -5))  # of the widest scale, which 4 bits try
LEAST = 1024  # numbers of a matrix that the export rounds; it leaves smaller ones as they are
LEAST_OF_TABLE = 65536  # numbers of a table of embeddings that has 4 bits; smaller ones have 8
_FACTORS = ("kernel", "recurrent_kernel", "embeddings", "v")  # names of what stands in a product


def rounded(weight, axis=None, sections=1, quantization="int8"):
    """A weight with the values that it has in 8 or 4 bits.

    Args:
        weight: Float tensor with two axes or more.
        axis: Integer, the axis whose indices have a scale s of their own: the last one of
            filters of convolutions and of matrices of 4 bits, 0 of tables of 4 bits. None if all
            numbers share one.
        sections: Integer, or list of integers where the last axis is cut, as `ops.split` takes
            them: parts that the export rounds for themselves.
        quantization: String, "int8" or "int4".

    Returns:
        Tensor of the shape and dtype of `weight`.

    Example:
        >>> rounded(np.float32([[0.1, -1.27]] * 512)).numpy()[0]
        array([ 0.1 , -1.27], dtype=float32)
    """
    parts = ops.split(weight, sections, axis=-1)
    rank = len(weight.shape)
    axes = None if axis is None else tuple({*range(rank)} - {axis % rank})
    return ops.concatenate([_rounded(part, axes, quantization) for part in parts], axis=-1)


def _rounded(weight, axes, quantization):
    """A part of a weight; `axes` are those along which one scale is shared, None for all."""
    if math.prod(weight.shape) < LEAST:
        return weight
    levels = LEVELS[quantization]
    largest = ops.max(ops.abs(weight), axis=axes, keepdims=True)
    widest = ops.where(largest > 0, largest, 1) / levels

    def nearest(scale):
        return ops.clip(ops.round(weight / scale), -levels, levels) * scale

    if quantization == "int8":
        return nearest(widest)
    errors = [
        ops.sum(ops.square(nearest(part * widest) - weight), axis=axes, keepdims=True)
        for part in PARTS
    ]
    best = ops.argmin(ops.stack(errors), axis=0)
    return nearest(widest * ops.take(ops.cast(PARTS, weight.dtype), best))


def roundings_of(model, quantization="int8"):
    """The weights of a model that the export rounds, and the roundings of each.

    They are the factors of products and the tables of embeddings. Biases, gains, and tables of
    places stay as they are. Small tables and filters of convolutions always have 8 bits.

    Args:
        model: A Keras model that is built.
        quantization: String, "int8" or "int4".

    Returns:
        List of pairs: a variable, and a function from its value to the rounded one.
    """
    layers = [*model._flatten_layers()]
    kinds = keras.layers.Conv1D, keras.layers.Conv2D
    filters = {id(one.kernel) for one in layers if isinstance(one, kinds)}
    tables = {id(one.kernel) for one in layers if isinstance(one, LocationScore)}
    cells = [one for one in layers if isinstance(one, keras.layers.GRUCell)]
    # U of the gates and U of the candidate are factors of two products
    parts = {id(one.recurrent_kernel): [2 * one.units] for one in cells if not one.reset_after}

    def settings(one):
        if id(one) in filters:
            return {"axis": -1}
        of_part = {"sections": parts[id(one)]} if id(one) in parts else {}
        is_table = one.name == "embeddings"
        if quantization == "int8" or is_table and not has_4_bits(one.shape):
            return of_part
        return {**of_part, "axis": 0 if is_table else -1, "quantization": quantization}

    return [
        (one, functools.partial(rounded, **settings(one)))
        for one in model.weights
        if one.name in _FACTORS and len(one.shape) > 1 and id(one) not in tables
    ]


def has_4_bits(shape):
    """True for a large table `(tokens, units)`, whose units are even: a byte holds two of a row."""
    return len(shape) == 2 and math.prod(shape) >= LEAST_OF_TABLE and shape[-1] % 2 == 0


def round_weights(model, quantization="int8", remainders=None):
    """Round the weights of a model, once.

    Args:
        model: A Keras model that is built.
        quantization: String, as in `roundings_of`.
        remainders: Those of its optimizer, which then get what is taken off; None for none.
    """
    for variable, nearest_to in roundings_of(model, quantization):
        _round(variable, nearest_to, (remainders or {}).get(id(variable)))


def _round(variable, nearest_to, remainder):
    nearest = nearest_to(variable.value)
    if remainder is not None:
        remainder.assign(variable - nearest)
    variable.assign(nearest)


@functools.cache
def rounding(kind):
    """The class of optimizers of a class whose weights are rounded after each step.

    Args:
        kind: Class of Keras optimizers.

    Returns:
        Class with the arguments of `kind`, and what `RoundingOptimizer` has.

    Example:
        >>> optimizer = rounding(keras.optimizers.Adam)(1e-4)
        >>> optimizer.round_weights_of(model)
        >>> model.compile(optimizer, losses.TokenCrossentropy())
    """
    return type(f"Rounding{kind.__name__}", (RoundingOptimizer, kind), {})


class RoundingOptimizer:
    """Part of an optimizer by which weights are rounded after each step: see `rounding`.

    Weight decay and the moving average are those of w = q + r; the gradient is that at q.

    Attributes:
        remainders: Dictionary from the id of a weight to the variable of its remainder r.
    """

    _roundings, remainders = {}, {}

    def round_weights_of(self, model, quantization="int8"):
        """Let the weights of a model be rounded; the optimizer is not built yet.

        Args:
            model: A Keras model that is built.
            quantization: String, as in `roundings_of`.
        """
        self._roundings = {
            id(one): nearest_to for one, nearest_to in roundings_of(model, quantization)
        }

    def build(self, variables):
        super().build(variables)
        trained = [one for one in variables if id(one) in self._roundings]
        self.remainders = {
            id(one): self.add_variable_from_reference(one, "remainder") for one in trained
        }

    def apply(self, grads, trainable_variables=None):
        if not self.built:
            self.build(trainable_variables)
        rounded_ones = [one for one in self._trainable_variables if id(one) in self.remainders]
        for one in rounded_ones:
            one.assign_add(self.remainders[id(one)])  # w
        super().apply(grads, trainable_variables)
        for one in rounded_ones:
            _round(one, self._roundings[id(one)], self.remainders[id(one)])
