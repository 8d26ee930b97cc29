"""Quantization-aware training: weights rounded as in the LiteRT exports "int8" and "int4".

An optimizer from `rounding` stores each weight as two values: the rounded value, which the model
uses, and the remainder.

w = q + r,   q = s n,   n = round(w / s) in -L ... L

where L is 127 for 8 bits and 7 for 4 bits. An 8-bit matrix has a single scale, s = max |w| / L. A
4-bit matrix has a scale for each output, and a large 4-bit embedding table has one for each row.
These scales are max |w| / L times 1, 0.95, ..., or 0.5, whichever gives the smallest sum of r^2.
Larger weights are clipped to s L.

A step updates w with the gradient at q (the straight-through estimator of Bengio et al. 2013, as
used by Courbariaux et al. 2015 for low-precision weights), and rounds again. Validation and the
saved file therefore use the same weights as the device, and the export loses no further precision.
"""

import functools
import math

import keras
from keras import ops

LEVELS = {"int8": 127, "int4": 7}  # largest integer n, for each kind of export
# fractions of the widest scale to try for 4 bits
PARTS = tuple(part / 100 for part in range(100, 45, -5))
LEAST = 1024  # values in a matrix; the export does not round smaller matrices
LEAST_OF_TABLE = 65536  # values in a 4-bit embedding table; smaller tables have 8 bits
_FACTORS = ("kernel", "recurrent_kernel", "embeddings", "v")  # names of weights to round


def rounded(weight, axis=None, sections=1, quantization="int8"):
    """Round a float tensor of two or more axes to 8 or 4 bits.

    Each index of `axis` has its own scale s: the last axis for convolution filters and 4-bit
    matrices, and axis 0 for 4-bit tables. With None, there is a single scale. `sections` splits the
    last axis, as in `ops.split`, into parts that the export rounds separately.
    """
    parts = ops.split(weight, sections, axis=-1)
    rank = len(weight.shape)
    axes = None if axis is None else tuple({*range(rank)} - {axis % rank})
    return ops.concatenate([_rounded(part, axes, quantization) for part in parts], axis=-1)


def _rounded(weight, axes, quantization):
    """Round a part of a weight with one scale along `axes`, or along all axes if None."""
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
    """Return a list of pairs (variable that the export rounds, function that rounds its value).

    Small tables and convolution filters always have 8 bits.
    """
    layers = [*model._flatten_layers()]
    kinds = keras.layers.Conv1D, keras.layers.Conv2D
    filters = {id(layer.kernel) for layer in layers if isinstance(layer, kinds)}
    # U of the gates and U of the candidate belong to separate products
    sections = {
        id(cell.recurrent_kernel): [2 * cell.units]
        for cell in layers
        if isinstance(cell, keras.layers.GRUCell) and not cell.reset_after
    }

    def settings(weight):
        if id(weight) in filters:
            return {"axis": -1}
        split = {"sections": sections[id(weight)]} if id(weight) in sections else {}
        is_table = weight.name == "embeddings"
        if quantization == "int8" or is_table and not has_4_bits(weight.shape):
            return split
        return {**split, "axis": 0 if is_table else -1, "quantization": quantization}

    return [
        (weight, functools.partial(rounded, **settings(weight)))
        for weight in model.weights
        if weight.name in _FACTORS and len(weight.shape) > 1
    ]


def has_4_bits(shape):
    """Return True for a large table `(tokens, units)` with even units: a byte holds two values."""
    return len(shape) == 2 and math.prod(shape) >= LEAST_OF_TABLE and shape[-1] % 2 == 0


def round_weights(model, quantization="int8", remainders=None):
    """Round the weights of a built model once, and store the differences in `remainders`."""
    for variable, nearest_to in roundings_of(model, quantization):
        _round(variable, nearest_to, (remainders or {}).get(id(variable)))


def _round(variable, nearest_to, remainder):
    nearest = nearest_to(variable.value)
    if remainder is not None:
        remainder.assign(variable - nearest)
    variable.assign(nearest)


@functools.cache
def rounding(kind):
    """Return a subclass of a Keras optimizer class that rounds the weights after each step.

    Example:
        >>> optimizer = rounding(keras.optimizers.Adam)(1e-4)
        >>> optimizer.round_weights_of(model)
        >>> model.compile(optimizer, losses.TokenCrossentropy())
    """
    return type(f"Rounding{kind.__name__}", (RoundingOptimizer, kind), {})


class RoundingOptimizer:
    """Optimizer mixin that rounds the weights after each step: see `rounding`.

    Weight decay and the moving average apply to w = q + r, but the gradient is computed at q.
    `remainders` maps the id of a weight to the variable that stores r.
    """

    _roundings, remainders = {}, {}

    def round_weights_of(self, model, quantization="int8"):
        """Select the weights to round in a built model; call this before building the optimizer."""
        self._roundings = {
            id(weight): nearest_to for weight, nearest_to in roundings_of(model, quantization)
        }

    def build(self, variables):
        super().build(variables)
        self.remainders = {
            id(weight): self.add_variable_from_reference(weight, "remainder")
            for weight in variables
            if id(weight) in self._roundings
        }

    def apply(self, grads, trainable_variables=None):
        if not self.built:
            self.build(trainable_variables)
        weights = [weight for weight in self._trainable_variables if id(weight) in self.remainders]
        for weight in weights:
            weight.assign_add(self.remainders[id(weight)])  # w
        super().apply(grads, trainable_variables)
        for weight in weights:
            _round(weight, self._roundings[id(weight)], self.remainders[id(weight)])
