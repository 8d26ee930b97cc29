"""Inputs of a `Forecaster`: their names and shapes, and the scaled past without missing values."""

from typing import Any, NamedTuple

from keras import ops

from keras_bahdanau.layers.attention.arguments import may_equal

INPUTS = ("past", "past_covariates", "future_covariates", "mask", "levels")
SERIES = INPUTS[:3]  # inputs whose width determines the shape of weights
SCALINGS = ("standard", "mean", None)
SMALLEST_VARIANCE = 1e-14  # rounding error of float32 for values of mean magnitude 1


def named_inputs(inputs):
    """Return a dictionary from names in `INPUTS` to tensors or shapes, without None values.

    Raises ValueError if a name is unknown, or the past is missing.
    """
    if not isinstance(inputs, dict):
        return {"past": inputs}
    inputs = {name: value for name, value in inputs.items() if value is not None}
    if "past" not in inputs or not inputs.keys() <= set(INPUTS):
        raise ValueError(
            f'Inputs must be "past" and any of {", ".join(INPUTS[1:])}. Received: '
            f"{', '.join(map(str, inputs)) or 'none of them'}."
        )
    return inputs


def check_inputs(inputs, horizon, widths=None):
    """Raise TypeError or ValueError unless named inputs have the shapes that a `Forecaster` needs.

    `widths` are the widths of the inputs of a built model, by their names in `SERIES`.
    """
    for name, tensor in inputs.items():
        if not hasattr(tensor, "shape"):
            raise TypeError(
                f"`{name}` must be an array or a tensor. Received: {type(tensor).__name__}. Pass "
                "several inputs as a dictionary."
            )
    shapes = {name: tuple(tensor.shape) for name, tensor in inputs.items()}
    past = shapes["past"]
    if len(past) != 3 or past[1] == 0:
        raise ValueError(
            "The past must be (batch, time, channels), with at least one step. Received: "
            f"past.shape={past}. Pass a single series as x[..., np.newaxis]."
        )
    batch, time, channels = past
    forms = {
        "past_covariates": [(batch, time, None)],
        "future_covariates": [(batch, horizon, None)],
        "mask": [(batch, time), past],
        "levels": [(batch, horizon, channels)],
    }
    for name, allowed in forms.items():
        if name in shapes and not any(_fits(shapes[name], form) for form in allowed):
            raise ValueError(
                f"`{name}` must have shape {' or '.join(map(str, allowed))}. Received: "
                f"{name}.shape={shapes[name]} with past.shape={past}, horizon={horizon}."
            )
    received = {name: shapes[name][-1] for name in SERIES if name in shapes}
    if widths is not None and received != widths:
        raise ValueError(
            f"The last axes must be the same as in the first call, {dict(widths)}. Received: "
            f"{received}."
        )


def check_target(y, horizon, channels):
    """Raise ValueError unless targets are `(batch, horizon, channels)`."""
    if not _fits(tuple(y.shape), (None, horizon, channels)):
        raise ValueError(
            f"`y` must be (batch, {horizon}, {channels}): the steps of the horizon, with the "
            f"channels of the past. Received: y.shape={tuple(y.shape)}."
        )


def _fits(shape, form):
    return len(shape) == len(form) and all(map(may_equal, shape, form))


class PastWindow(NamedTuple):
    """Scaled past of a batch of series, and the scale of each row and channel, in float32."""

    inputs: Any  # (batch, time, 2 * channels + covariates): values, 1 where observed, covariates
    mask: Any  # bool (batch, time), True where a step is real
    location: Any  # (batch, 1, channels)
    scale: Any  # (batch, 1, channels), above 0
    recent: Any  # (batch, size, channels), values of the last steps, scaled; see `_recent`

    def scaled(self, values):
        """Return values `(batch, horizon, channels)` scaled like the window."""
        return (values - self.location) / self.scale


def read_window(past, mask, covariates, scaling, size=1):
    """Return the `PastWindow` for the past `(batch, time, channels)`, where NaN means missing.

    Steps are padding where a mask `(batch, time)` is False, and before the first observed value of
    a row. Other missing values, which are NaN or False in a mask `(batch, time, channels)`, become
    0 after scaling and are marked. `covariates` is `(batch, time, width)` or None, `scaling` is in
    `SCALINGS`, and `size` is the number of recent values.
    """
    past = ops.cast(past, "float32")
    observed = ops.logical_not(ops.isnan(past))
    steps = None
    if mask is not None:
        mask = ops.cast(mask, "bool")
        steps = mask if len(mask.shape) == 2 else None
        values_mask = mask if steps is None else ops.expand_dims(mask, axis=-1)
        observed = ops.logical_and(observed, values_mask)
    begun = ops.cumsum(ops.cast(ops.any(observed, axis=-1), "int32"), axis=1) > 0
    steps = begun if steps is None else ops.logical_and(begun, steps)
    values = ops.where(observed, past, 0.0)
    location, scale = _scale(values, observed, scaling)
    values = ops.where(observed, (values - location) / scale, 0.0)
    inputs = [values, ops.cast(observed, "float32")]
    if covariates is not None:
        inputs.append(ops.cast(covariates, "float32"))
    inputs = ops.where(ops.expand_dims(steps, axis=-1), ops.concatenate(inputs, axis=-1), 0.0)
    return PastWindow(inputs, steps, location, scale, _recent(values, observed, steps, size))


def _scale(values, observed, scaling):
    """Return location and scale `(batch, 1, channels)` of observed values; other values are 0.

    For "standard", these are the mean and the standard deviation. For "mean", they are 0 and the
    mean magnitude, as in DeepAR. The scale of a constant window is its magnitude, or 1 if that
    is 0.
    """
    count = ops.maximum(ops.sum(ops.cast(observed, "float32"), axis=1, keepdims=True), 1.0)

    def mean(array):
        return ops.sum(ops.where(observed, array, 0.0), axis=1, keepdims=True) / count

    magnitude = mean(ops.abs(values))
    magnitude = ops.where(magnitude > 0, magnitude, 1.0)
    zeros, ones = ops.zeros_like(magnitude), ops.ones_like(magnitude)
    if scaling is None:
        return zeros, ones
    if scaling == "mean":
        return zeros, magnitude
    center = mean(values)
    ratios = (values - center) / magnitude  # prevents squares from overflowing
    rounding = mean(ratios)  # the rounding error of the center
    variance = mean(ops.square(ratios - rounding))
    varies = variance > SMALLEST_VARIANCE
    deviation = ops.sqrt(ops.where(varies, variance, 1.0))
    return center + rounding * magnitude, deviation * magnitude


def _recent(values, observed, steps, size):
    """Return the values `(batch, size, channels)` of the last real steps, 0 if there are fewer.

    For the last step, each channel has its last observed value.
    """
    last = ops.expand_dims(_last_observed(values, observed), axis=1)
    if size == 1:
        return last
    counts = ops.cumsum(ops.cast(steps, "int32"), axis=1)
    ranks = ops.where(steps, counts[:, -1:] - counts + 1, 0)  # 1 for the last real step
    ranks = ops.expand_dims(ops.expand_dims(ranks, axis=1), axis=-1)
    slots = ops.reshape(ops.arange(size, 1, -1, dtype="int32"), (1, -1, 1, 1))
    values = ops.where(ops.equal(ranks, slots), ops.expand_dims(values, axis=1), 0.0)
    return ops.concatenate([ops.sum(values, axis=2), last], axis=1)


def _last_observed(values, observed):
    """Return the last observed value `(batch, channels)` of each channel, or 0 without any."""
    steps = ops.reshape(ops.arange(1, ops.shape(values)[1] + 1, dtype="int32"), (1, -1, 1))
    last = ops.max(ops.where(observed, steps, 0), axis=1, keepdims=True)
    return ops.sum(ops.where(ops.equal(steps, last), values, 0.0), axis=1)
