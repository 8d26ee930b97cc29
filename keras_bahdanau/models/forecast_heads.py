"""Heads of a `Forecaster`: point, Gaussian or quantiles, each with its loss."""

import math
from numbers import Real

import keras
from keras import ops

from keras_bahdanau.settings import checks

SMALLEST_SCALE = 1e-3  # smallest deviation of a Gaussian, in units of the window's scale


class ForecastHead:
    """Base class of the heads, which predict the parameters of each value's distribution.

    To write a custom head, for example for a Student t distribution, register a subclass with
    Keras, set `size`, and implement the methods below. `get_config` must return the constructor's
    arguments. All tensors are float32, and the last axis of `parameters` has length `size`.
    """

    size = 1  # number of parameters for each value
    has_quantiles = True

    def parameters(self, outputs):
        """Return parameters `(batch, channels, size)` from unbounded outputs of the same shape."""
        raise NotImplementedError

    def loss(self, y, parameters):
        """Return the loss of each value, in the shape of `y`, `(batch, horizon, channels)`."""
        raise NotImplementedError

    def quantile(self, parameters, level=0.5):
        """Return the quantile at `level`, in the shape of `parameters` without the last axis.

        `level` is a float in (0, 1), or a tensor with the shape of the result. The quantile at 0.5
        is the point forecast, which the next step reads.
        """
        raise NotImplementedError

    def affine(self, parameters, location, scale):
        """Return the parameters of location + scale * value; both are `(batch, 1, channels)`."""
        return parameters * ops.expand_dims(scale, -1) + ops.expand_dims(location, -1)

    def get_config(self):
        return {}

    @classmethod
    def from_config(cls, config):
        """Return the head for a config."""
        return cls(**config)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class PointHead(ForecastHead):
    """Head that predicts the mean of each value, with the loss (y - mean)^2.

    To predict the median, with the absolute error as loss, use `QuantileHead((0.5,))`.
    """

    has_quantiles = False

    def parameters(self, outputs):
        return outputs

    def loss(self, y, parameters):
        return ops.square(y - parameters[..., 0])

    def quantile(self, parameters, level=0.5):
        if not isinstance(level, Real) or level != 0.5:
            raise ValueError(
                "A point forecast has no quantile except 0.5. Received: "
                f"level={level if isinstance(level, Real) else 'a tensor'}. Use a forecaster with "
                'head="gaussian" or "quantiles".'
            )
        return parameters[..., 0]


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class GaussianHead(ForecastHead):
    """Head that predicts the mean and standard deviation of each value, with the loss -log p(y).

    loss = log(2 pi) / 2 + log(deviation) + ((y - mean) / deviation)^2 / 2

    The last axis of the parameters is [mean, deviation]. The deviation is softplus(output) + 0.001,
    in units of the window's scale.
    """

    size = 2

    def parameters(self, outputs):
        deviation = ops.softplus(outputs[..., 1:]) + SMALLEST_SCALE
        return ops.concatenate([outputs[..., :1], deviation], axis=-1)

    def loss(self, y, parameters):
        mean, deviation = parameters[..., 0], parameters[..., 1]
        error = (y - mean) / deviation
        return 0.5 * math.log(2 * math.pi) + ops.log(deviation) + 0.5 * ops.square(error)

    def quantile(self, parameters, level=0.5):
        mean, deviation = parameters[..., 0], parameters[..., 1]
        if isinstance(level, Real):
            if level == 0.5:
                return mean
            _check_level(level, 0.0, 1.0)
        level = ops.convert_to_tensor(level, "float32")
        return mean + deviation * math.sqrt(2) * ops.erfinv(2 * level - 1)

    def affine(self, parameters, location, scale):
        mean = super().affine(parameters[..., :1], location, scale)
        deviation = parameters[..., 1:] * ops.expand_dims(scale, -1)
        return ops.concatenate([mean, deviation], axis=-1)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class QuantileHead(ForecastHead):
    """Head that predicts quantiles of each value, with the mean of their pinball losses.

    loss = mean_k max(q_k d_k, (q_k - 1) d_k),   d_k = y - value_k

    The predicted quantiles never cross, because the distance from each to the next is
    softplus(output). Between two quantiles, the distribution is uniform. Beyond the outermost
    quantiles, sample paths use the density of the outermost interval.

    Args:
        quantiles: Increasing floats in (0, 1), which must include 0.5, the forecast that the next
            step reads.

    Raises:
        ValueError: If the quantiles are invalid.
    """

    def __init__(self, quantiles=(0.1, 0.5, 0.9)):
        self.quantiles = _check_quantiles(quantiles)
        self.median = self.quantiles.index(0.5)

    @property
    def size(self):
        """Number of quantiles."""
        return len(self.quantiles)

    @property
    def has_quantiles(self):
        """False if the median is the only quantile."""
        return self.size > 1

    def parameters(self, outputs):
        median = outputs[..., self.median : self.median + 1]
        distances = [outputs[..., : self.median], outputs[..., self.median + 1 :]]
        distances = ops.softplus(ops.concatenate(distances, axis=-1))
        distances = ops.concatenate([ops.zeros_like(median), distances], axis=-1)
        positions = ops.cumsum(distances, axis=-1)  # relative to the lowest quantile
        return median + positions - positions[..., self.median : self.median + 1]

    def loss(self, y, parameters):
        error = ops.expand_dims(y, -1) - parameters  # -> (batch, horizon, channels, quantiles)
        levels = ops.convert_to_tensor(self.quantiles, "float32")
        return ops.mean(ops.maximum(levels * error, (levels - 1) * error), axis=-1)

    def quantile(self, parameters, level=0.5):
        if isinstance(level, Real):
            if level in self.quantiles:
                return parameters[..., self.quantiles.index(level)]
            _check_level(level, self.quantiles[0], self.quantiles[-1])
        level = ops.convert_to_tensor(level, "float32")
        value = parameters[..., 0]
        for index in range(1, self.size):
            low, high = self.quantiles[index - 1 : index + 1]
            share = (level - low) / (high - low)
            share = ops.maximum(share, 0.0) if index > 1 else share
            share = ops.minimum(share, 1.0) if index < self.size - 1 else share
            value = value + share * (parameters[..., index] - parameters[..., index - 1])
        return value

    def get_config(self):
        return {"quantiles": self.quantiles}


HEADS = {"point": PointHead, "gaussian": GaussianHead, "quantiles": QuantileHead}


def resolve_head(head):
    """Return a head, given a head or its name in `HEADS`.

    Raises ValueError for an unknown name, and TypeError for anything else.
    """
    if isinstance(head, str):
        return HEADS[checks.choice("head", head, HEADS)]()
    if isinstance(head, ForecastHead):
        return head
    raise TypeError(
        f"`head` must be one of {', '.join(map(repr, HEADS))}, or a ForecastHead. Received: "
        f"head={head!r}. For other quantiles, pass models.QuantileHead(quantiles)."
    )


def _check_level(level, low, high):
    """Raise ValueError unless a level is between `low` and `high`."""
    if not low < level < high:
        raise ValueError(
            f"`level` must be within ({low}, {high}). Received: level={level}. Use a forecaster "
            "with a head that can predict this quantile."
        )


def _check_quantiles(quantiles):
    """Return the quantiles as a tuple of floats, or raise ValueError."""
    levels = quantiles if isinstance(quantiles, list | tuple) else [quantiles]
    are_numbers = all(isinstance(level, Real) for level in levels)
    bounds = (0.0, *levels, 1.0)
    rising = are_numbers and all(low < high for low, high in zip(bounds, bounds[1:], strict=False))
    if not rising or 0.5 not in levels:
        raise ValueError(
            "`quantiles` must increase within (0, 1) and include 0.5. Received: "
            f"quantiles={quantiles!r}. Use (0.1, 0.5, 0.9), for example."
        )
    return tuple(map(float, levels))
