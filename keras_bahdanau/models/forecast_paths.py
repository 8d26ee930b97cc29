"""Sample paths of a `Forecaster`, and intervals from these."""

import numpy as np
from keras import ops

from keras_bahdanau.models.forecast_window import check_inputs, named_inputs
from keras_bahdanau.settings import checks

PATHS_OF_A_CALL = 4096  # sample paths that `predict_samples` computes together


class PathSampler:
    """Quantiles, sample paths and intervals of a model with a `ForecastHead`.

    The model has `head`, `horizon`, `widths` and `predict` with "levels" among its inputs.
    """

    def _expand_prediction(self, prediction):
        """`(batch, horizon, channels, size)` of a prediction, which lacks an axis of size 1."""
        return prediction if self.head.size > 1 else ops.expand_dims(prediction, -1)

    def quantile(self, prediction, level=0.5):
        """Quantile of a prediction, in its units; at 0.5 the point forecast.

        `prediction` is an array of `predict`, `level` a float in (0, 1) that the head knows, or
        ValueError. The result is an array `(batch, horizon, channels)`: of the value of one step,
        if the steps before have their point forecasts. See `predict_interval`.
        """
        parameters = self._expand_prediction(ops.convert_to_tensor(prediction, "float32"))
        return ops.convert_to_numpy(self.head.quantile(parameters, level))

    def predict_samples(self, x, samples=100, seed=None):
        """Draw sample paths: a float32 array `(batch, samples, horizon, channels)`.

        Each value of a path is drawn from the distribution that the model predicts after the
        values drawn before, independently for each channel. `x` is as in `predict`, with at least
        one row; `seed` is an integer, or None for different paths each time. A head without a
        distribution raises ValueError.
        """
        samples = checks.positive_integer("samples", "the number of paths", samples)
        if not self.head.has_quantiles:
            raise ValueError(
                "Samples and intervals need a head with a distribution. Received: "
                f'{type(self.head).__name__}. Give the forecaster head="gaussian" or "quantiles".'
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
        """Bounds that contain the share `coverage` of future values, according to the model.

        They are quantiles of sample paths, since teacher forcing learns the distribution of a
        single step. With `samples=0` they are the quantiles of `predict`, without random numbers:
        correct for a model trained with `teacher_forcing=0`.

        Args:
            x: Inputs, as in `predict`.
            coverage: Float in (0, 1).
            samples: Integer, the number of paths.
            seed: Integer, or None, as in `predict_samples`.

        Returns:
            The pair (lower, upper) of arrays `(batch, horizon, channels)`.

        Raises:
            ValueError: If the head has no such quantiles, or an argument is out of range.
        """
        if checks.rate("coverage", "the share inside an interval", coverage) == 0:
            raise ValueError(
                "`coverage` must be above 0. Received: coverage=0. Give 0.9, for example."
            )
        levels = [round((1 + sign * coverage) / 2, 9) for sign in (-1, 1)]
        if samples == 0:
            prediction = self.predict(x, verbose=0)
            return tuple(self.quantile(prediction, level) for level in levels)
        paths = self.predict_samples(x, samples, seed)
        return tuple(np.quantile(paths, levels, axis=1).astype("float32"))
