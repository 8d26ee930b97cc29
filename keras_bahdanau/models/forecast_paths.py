"""Sample paths of a `Forecaster`, and intervals computed from them."""

import numpy as np
from keras import ops

from keras_bahdanau.models.forecast_window import check_inputs, named_inputs
from keras_bahdanau.settings import checks

PATHS_OF_A_CALL = 4096  # sample paths that `predict_samples` computes together


class PathSampler:
    """Mixin that adds quantiles, sample paths and intervals to a model with a `ForecastHead`.

    The model must have the attributes `head`, `horizon` and `widths`, and a `predict` that accepts
    "levels" as an input.
    """

    def _expand_prediction(self, prediction):
        """Return the prediction as `(batch, horizon, channels, size)`, even if the size is 1."""
        return prediction if self.head.size > 1 else ops.expand_dims(prediction, -1)

    def quantile(self, prediction, level=0.5):
        """Return a quantile of a prediction, in its units; at 0.5, this is the point forecast.

        `prediction` is an array from `predict`, and `level` is a float in (0, 1). The result is an
        array `(batch, horizon, channels)`. The quantile of a step assumes that the previous steps
        take the values of their point forecasts; for other quantiles, see `predict_interval`.
        Raises ValueError if the head can't predict the level.
        """
        parameters = self._expand_prediction(ops.convert_to_tensor(prediction, "float32"))
        return ops.convert_to_numpy(self.head.quantile(parameters, level))

    def predict_samples(self, x, samples=100, seed=None):
        """Draw sample paths; return a float32 array `(batch, samples, horizon, channels)`.

        Each value of a path is drawn from the distribution that the model predicts, given the
        values already drawn, independently for each channel. `x` is as in `predict`, with at least
        one row. `seed` is an integer, or None for different paths each time. Raises ValueError if
        the head does not predict a distribution.
        """
        samples = checks.positive_integer("samples", "the number of paths", samples)
        if not self.head.has_quantiles:
            raise ValueError(
                "Samples and intervals need a head with a distribution. Received: "
                f'{type(self.head).__name__}. Use a forecaster with head="gaussian" or "quantiles".'
            )
        inputs = named_inputs(x)
        check_inputs(inputs, self.horizon, self.widths if self.built else None)
        random, paths = np.random.default_rng(seed), []
        shape = (samples, self.horizon, inputs["past"].shape[-1])
        rows = max(1, PATHS_OF_A_CALL // samples)
        for start in range(0, len(inputs["past"]), rows):
            batch = {name: array[start : start + rows] for name, array in inputs.items()}
            levels = random.uniform(1e-6, 1 - 1e-6, (len(batch["past"]), *shape))
            batch = {name: np.repeat(array, samples, axis=0) for name, array in batch.items()}
            batch["levels"] = levels.reshape(-1, *shape[1:]).astype("float32")
            prediction = self.predict(batch, batch_size=PATHS_OF_A_CALL, verbose=0)
            paths.append(self.quantile(prediction, batch["levels"]).reshape(levels.shape))
        return np.concatenate(paths)

    def predict_interval(self, x, coverage=0.9, samples=200, seed=0):
        """Return bounds that should contain a fraction `coverage` of the future values.

        The bounds are quantiles of sample paths, since a model trained with teacher forcing learns
        only the distribution of a single step. With `samples=0`, they are the quantiles of
        `predict`, without random numbers, which is correct for a model trained with
        `teacher_forcing=0`.

        Args:
            x: Inputs, as in `predict`.
            coverage: Float in (0, 1).
            samples: Integer. Number of sample paths, or 0.
            seed: Integer, or None, as in `predict_samples`.

        Returns:
            The pair (lower, upper) of arrays `(batch, horizon, channels)`.

        Raises:
            ValueError: If the head can't predict these quantiles, or an argument is out of range.
        """
        if checks.rate("coverage", "the fraction inside an interval", coverage) == 0:
            raise ValueError(
                "`coverage` must be above 0. Received: coverage=0. Use 0.9, for example."
            )
        levels = [round((1 + sign * coverage) / 2, 9) for sign in (-1, 1)]
        if samples == 0:
            prediction = self.predict(x, verbose=0)
            return tuple(self.quantile(prediction, level) for level in levels)
        paths = self.predict_samples(x, samples, seed)
        return tuple(np.quantile(paths, levels, axis=1).astype("float32"))
