"""Forecaster, an encoder and an attention decoder for time series."""

import inspect
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bahdanau.layers.attention.arguments import may_equal
from keras_bahdanau.layers.decoder_cells.attention_rnn import AttentionRNN
from keras_bahdanau.layers.decoder_cells.bahdanau import DecoderCell
from keras_bahdanau.layers.recurrence import outside_graphs, scan
from keras_bahdanau.layers.registry import CompositeLayer, from_config
from keras_bahdanau.models.forecast_heads import resolve_head
from keras_bahdanau.models.forecast_paths import PathSampler
from keras_bahdanau.models.forecast_window import (
    SCALINGS,
    SERIES,
    PastWindow,
    check_inputs,
    check_target,
    named_inputs,
    read_window,
)
from keras_bahdanau.models.losses import batch_mean, layer_losses
from keras_bahdanau.settings import checks


class EncodedWindow(NamedTuple):
    """Encoded past of a batch: the result of a `Forecaster` with `training=True`."""

    window: PastWindow
    prepared: Any  # `ProjectedMemory`
    future: Any  # (batch, horizon, width), covariates of the steps to forecast; or ()


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Forecaster(PathSampler, CompositeLayer, keras.Model):
    """Model that forecasts time series and attends to the past at each future step.

    An encoder reads the past. At each step of the horizon, the decoder reads the value of the
    previous step and attends to the encoder's outputs, concatenated with the past values (Bahdanau
    et al. 2015, eq. 4 to 6, with numeric values instead of tokens). A dense layer maps the output
    of the decoder, the input of the step and the context to the parameters of the next value
    (A.2.2).

    ```python
    model = keras_bahdanau.Forecaster(12, head="gaussian")
    model.compile("adam")
    model.fit(x, y, epochs=50)  # x (batch, time, channels), y (batch, 12, channels)
    mean_and_deviation = model.predict(x)  # (batch, 12, channels, 2)
    lower, upper = model.predict_interval(x, 0.9)
    weights = keras_bahdanau.attention_weights(model, x)[model.name]  # (batch, 12, time)
    ```

    In `fit`, the decoder reads the values of `y`. In `predict`, it reads its own predictions: the
    mean for a point or Gaussian head, and the median for quantiles. `evaluate` and validation
    report the loss of these predictions.

    Args:
        horizon: Positive integer. Number of steps to forecast.
        encoder: Layer or model that maps `(batch, time, inputs_units)` to `(batch, time, units)`.
            It gets a mask if its `call` has the argument `mask`. None for a bidirectional GRU.
        decoder: `layers.AttentionRNN`. None for a `layers.DecoderCell` with additive attention,
            where the query is the state and the input of the step, and s_0 is
            tanh(W mean_j h_j + b).
        head: What is predicted for each value: "point" for its mean; "gaussian" for its mean and
            standard deviation; "quantiles" for the quantiles 0.1, 0.5 and 0.9; or a `ForecastHead`,
            such as `models.QuantileHead((0.05, 0.5, 0.95))`. Each head has its own loss.
        scaling: How each row and channel is scaled, based on its observed past: "standard" for
            (value - mean) / standard deviation; "mean" for value / mean magnitude; or None. The
            loss and the layers use scaled values. Predictions are in the units of `y`.
        teacher_forcing: Float in [0, 1]. Fraction of the training steps that read the value of `y`.
            Other steps read the model's own prediction (Bengio et al. 2015, scheduled sampling).
        units: Positive integer. Width of each direction of the default encoder, and of the default
            decoder.
        season: Positive integer, the number of steps in a season, or None. With a season, the
            decoder also reads the value one season before each step, and the head predicts the
            change from that value, so before training `predict` repeats the last season. With 1,
            the head predicts the change from the previous step (Martinez et al. 2017, residual
            decoder).

    Call arguments:
        inputs: Float tensor `(batch, time, channels)`, the past. Or a dictionary with the past as
            "past" and any of the following, with the same widths as in the first call:
            "past_covariates", `(batch, time, width)`, other values known for the past steps;
            "future_covariates", `(batch, horizon, width)`, values known for the future steps;
            "mask", bool `(batch, time)`, False where a row has no step (padding), or
            `(batch, time, channels)`, False where a value is missing;
            "levels", float `(batch, horizon, channels)` in (0, 1), the levels of the quantiles that
            the next steps read, 0.5 by default.
        mask: Bool tensor `(batch, time)`, as above. Keras fills in the mask that `inputs` carries.
        return_attention_scores: Python bool. True to also return the weights.
        training: Python bool. True to return an `EncodedWindow` for `compute_loss`.

    NaN means a missing value. Missing values are left out of the scale and the loss. In their
    place, the encoder reads a scaled value of 0 and a flag, so that a season keeps its length.
    Steps before the first observed value of a row are padding: they get no weight and do not change
    the state.

    Output:
        Float32 tensor, `(batch, horizon, channels)` for a point head, or
        `(batch, horizon, channels, size)` for other heads: [mean, deviation], or the quantiles.
        With `return_attention_scores=True`, the pair of this tensor and the float32 weights
        `(batch, horizon, time)`, which are zero for a row without a past.

    Raises:
        ValueError: If an argument is out of range, or a shape is wrong.
        TypeError: If a part or an input has the wrong type.
    """

    def __init__(
        self,
        horizon,
        encoder=None,
        decoder=None,
        head="point",
        scaling="standard",
        teacher_forcing=1.0,
        units=64,
        season=None,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)  # windows are scaled in float32
        self.horizon = checks.positive_integer("horizon", "the number of steps", horizon)
        self.head = resolve_head(head)
        self.scaling = checks.choice("scaling", scaling, SCALINGS)
        self.teacher_forcing = checks.fraction(
            "teacher_forcing", "the fraction of steps that read the target", teacher_forcing
        )
        self.units = checks.positive_integer("units", "the width of the encoder and decoder", units)
        if season is not None:
            season = checks.positive_integer("season", "the steps of a season", season)
        self.season = season
        policy = {"dtype": self.dtype_policy}
        if encoder is None:
            # cuDNN rejects padding on the left, and an exported file with cuDNN fails on a CPU
            gru = keras.layers.GRU(units, return_sequences=True, use_cudnn=False, **policy)
            encoder = keras.layers.Bidirectional(gru, name="encoder", **policy)
        if decoder is None:
            cell = DecoderCell(units, query=("state", "embedding"), name="cell", **policy)
            decoder = AttentionRNN(cell, name="decoder", **policy)
        _check_parts(encoder, decoder)
        if isinstance(encoder, keras.Model):
            encoder.supports_masking = True  # otherwise Keras warns that its output has no mask
        self.encoder, self.decoder = encoder, decoder
        self.seed_generator = None
        if 0 < teacher_forcing < 1:
            self.seed_generator = keras.random.SeedGenerator()

    def build(self, inputs_shape):
        shapes = named_inputs(inputs_shape)
        self.widths = {name: shapes[name][-1] for name in SERIES if name in shapes}
        channels = self.widths["past"]
        inputs_units = 2 * channels + self.widths.get("past_covariates", 0)
        step_units = channels * (2 if self.season else 1) + self.widths.get("future_covariates", 0)
        with outside_graphs():
            inputs = keras.KerasTensor((None, None, inputs_units))
            values = self._encode(inputs, keras.KerasTensor((None, None), "bool"))
            if not self.decoder.built:
                self.decoder.build((None, None, step_units), values.shape)
            cell = self.decoder.decoder_cell
            self.output_layer = keras.layers.Dense(
                channels * self.head.size,
                kernel_initializer="zeros" if self.season else "glorot_uniform",
                dtype="float32",
                name="output_layer",
            )
            self.output_layer.build((None, cell.output_units + step_units + cell.context_units))
        self.built = True

    def compile(
        self,
        optimizer="adam",
        loss=None,
        loss_weights=None,
        metrics=None,
        weighted_metrics=None,
        **kwargs,
    ):
        """Configure training as in Keras; raise ValueError for a loss, which the head defines."""
        if loss is not None or loss_weights is not None:
            name = getattr(loss, "__name__", None) or repr(loss)
            raise ValueError(
                "A forecaster uses the loss of its head. Received: loss="
                f"{name}. Leave it out, or use another head."
            )
        super().compile(optimizer, None, None, metrics, weighted_metrics, **kwargs)

    def compile_from_config(self, config):
        """Compile a loaded model with its saved arguments, as Keras does."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.built:
            self.optimizer.build(self.trainable_variables)

    def fit(self, x=None, y=None, *args, **kwargs):
        self._check_data(x, y)
        return super().fit(x, y, *args, **kwargs)

    def evaluate(self, x=None, y=None, *args, **kwargs):
        self._check_data(x, y)
        return super().evaluate(x, y, *args, **kwargs)

    def predict(self, x, *args, **kwargs):
        self._check_data(x)
        return super().predict(x, *args, **kwargs)

    def _check_data(self, x, y=None):
        """Check arrays before Keras traces a graph, which wrong shapes would leave incomplete."""
        if not (isinstance(x, dict) or hasattr(x, "shape")):
            return  # a dataset
        inputs = named_inputs(x)
        check_inputs(inputs, self.horizon, self.widths if self.built else None)
        if hasattr(y, "shape"):
            check_target(y, self.horizon, inputs["past"].shape[-1])

    def __call__(self, inputs, *args, **kwargs):
        widths = self.widths if self.built else None
        check_inputs(named_inputs(inputs), self.horizon, widths)
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, mask=None, return_attention_scores=False, training=None):
        inputs = _named(inputs, mask)
        window = self._read(inputs)
        values = self._encode(window.inputs, window.mask, training)
        prepared = self.decoder.prepare(values, window.mask, training=training)
        future = inputs.get("future_covariates", ())
        encoded = EncodedWindow(window, prepared, future)
        if training:
            return encoded
        parameters, weights = self._decode(encoded, levels=inputs.get("levels", ()))
        parameters = self.head.affine(parameters, window.location, window.scale)
        prediction = parameters if self.head.size > 1 else parameters[..., 0]
        return (prediction, weights) if return_attention_scores else prediction

    def _read(self, inputs):
        names = ("past", "mask", "past_covariates")
        return read_window(*map(inputs.get, names), self.scaling, self.season or 1)

    def _encode(self, inputs, mask, training=None):
        """Return the values `(batch, time, units)` to attend to.

        These are the output of the encoder, followed by its inputs, so that the context contains
        the weighted mean of past values. Raises ValueError if the encoder's output has a wrong
        shape.
        """
        takes_mask = "mask" in inspect.signature(self.encoder.call).parameters
        values = self.encoder(inputs, training=training, **({"mask": mask} if takes_mask else {}))
        shape = tuple(getattr(values, "shape", ()))
        if len(shape) != 3 or not may_equal(shape[1], inputs.shape[1]):
            raise ValueError(
                "The encoder must return (batch, time, units), a vector for each step. Received: "
                f"{shape or type(values).__name__} for inputs of shape {tuple(inputs.shape)}. Set "
                "return_sequences=True on recurrent layers."
            )
        return ops.concatenate([values, ops.cast(inputs, values.dtype)], axis=-1)

    def _decode(self, encoded, y=None, levels=(), training=None):
        """Run all steps; return scaled parameters `(batch, horizon, channels, size)` and weights.

        The weights are () if there is a `y`, because the loss does not need them. A step reads the
        previous value of the scaled `y` if it is observed, and otherwise the model's own
        prediction, at the level of the step.
        """
        window, prepared, future = encoded
        batch, channels = ops.shape(window.recent)[0], self.widths["past"]
        shape = (batch, self.horizon, channels)
        known = ops.zeros(shape, "bool")
        return_weights = y is None
        if y is None:
            y = ops.zeros(shape)
        elif not training or self.teacher_forcing:
            known = ops.logical_not(ops.isnan(y))
        if training and self.seed_generator is not None:
            draws = keras.random.uniform((batch, self.horizon, 1), seed=self.seed_generator)
            known = ops.logical_and(known, draws < self.teacher_forcing)

        def step(carry, slices):
            state, recent = carry
            target, is_known, covariates, level = slices
            inputs = [recent[:, -1]]
            inputs += [recent[:, 0]] if self.season else []
            inputs += [] if isinstance(covariates, tuple) else [covariates]
            inputs = ops.concatenate(inputs, axis=-1)
            output, state = self.decoder.step(inputs, state, prepared, training=training)
            features = [ops.cast(x, "float32") for x in (output.output, inputs, output.context)]
            outputs = self.output_layer(ops.concatenate(features, axis=-1))
            parameters = self.head.parameters(ops.reshape(outputs, (-1, channels, self.head.size)))
            if self.season:
                parameters = self.head.affine(parameters, recent[:, 0], ops.ones_like(recent[:, 0]))
            level = 0.5 if isinstance(level, tuple) else level
            value = self.head.quantile(parameters, level)
            value = ops.expand_dims(ops.where(is_known, target, value), axis=1)
            recent = ops.concatenate([recent[:, 1:], value], axis=1)
            return (parameters, output.weights if return_weights else ()), (state, recent)

        slices = (
            ops.where(known, y, 0.0),
            known,
            *(x if isinstance(x, tuple) else ops.cast(x, "float32") for x in (future, levels)),
        )
        template = (
            ops.zeros((batch, channels, self.head.size)),
            ops.zeros(ops.shape(window.mask), "float32") if return_weights else (),
        )
        carry = (self.decoder.initial_state(prepared), window.recent)
        return scan(step, carry, slices, template)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """Return the loss of the head for scaled values, plus layer losses, as a float32 scalar.

        The loss is the mean over values of `y` that are not NaN, weighted by `sample_weight`, which
        is `(batch,)`, `(batch, horizon)` or `(batch, horizon, channels)`. `y_pred` is a prediction
        or an `EncodedWindow`. For an `EncodedWindow`, this method runs the decoder with the values
        of `y`, and updates the compiled metrics.
        """
        check_target(y, self.horizon, self.widths["past"])
        y = ops.cast(y, "float32")
        if isinstance(y_pred, EncodedWindow):
            window = y_pred.window
            parameters, _ = self._decode(y_pred, window.scaled(y), training=training)
            prediction = self.head.affine(parameters, window.location, window.scale)
            point = ops.stop_gradient(self.head.quantile(prediction))
            super().compute_metrics(x, y, point, sample_weight)
        else:
            window = self._read(_named(x))
            parameters = self._expand_prediction(y_pred)
            inverse = -window.location / window.scale, 1 / window.scale
            parameters = self.head.affine(parameters, *inverse)
        known = ops.logical_not(ops.isnan(y))
        target = ops.where(known, window.scaled(y), 0.0)
        weight = ops.cast(known, "float32")
        if sample_weight is not None:
            axes = len(sample_weight.shape)
            for axis in range(axes, 3):
                sample_weight = ops.expand_dims(sample_weight, axis)
            weight = weight * ops.cast(sample_weight, "float32")
        total = ops.sum(weight * self.head.loss(target, parameters))
        loss = batch_mean(ops.divide_no_nan(total, ops.sum(weight)))
        return ops.sum(ops.stack([loss, *layer_losses(self)]))

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Return metrics of the point forecast; `compute_loss` updates them in training."""
        if isinstance(y_pred, EncodedWindow):
            return self.get_metrics_result()
        point = self.head.quantile(self._expand_prediction(y_pred))
        return super().compute_metrics(x, y, point, sample_weight)

    def compute_mask(self, inputs, mask=None):
        return None  # no step of the horizon is padding

    def compute_output_spec(self, inputs, mask=None, return_attention_scores=False, training=None):
        batch, time, channels = named_inputs(inputs)["past"].shape
        sizes = (self.head.size,) if self.head.size > 1 else ()
        prediction = keras.KerasTensor((batch, self.horizon, channels, *sizes), "float32")
        if not return_attention_scores:
            return prediction
        return prediction, keras.KerasTensor((batch, self.horizon, time), "float32")

    def export(
        self, filepath, format="tf_saved_model", verbose=None, input_signature=None, **kwargs
    ):
        """Export the model, including its loop over time, as `keras.Model.export` does.

        By default, the batch and time axes may have any size. The exported file has the same inputs
        as the first call of the model, but without the mask and the levels. Use NaN for missing
        values, and for padding before a series. Raises ValueError if the model has not been built.
        """
        if not self.built:
            raise ValueError(
                "A forecaster must be built before it is exported. Received: "
                f"{self.name}, which is not built. Train it, or call it once."
            )
        if input_signature is None:
            times = {"future_covariates": self.horizon}
            specs = {
                name: keras.InputSpec(shape=(None, times.get(name), width), dtype="float32")
                for name, width in self.widths.items()
            }
            input_signature = [specs if len(specs) > 1 else specs["past"]]
        super().export(filepath, format, verbose, input_signature, **kwargs)

    def get_config(self):
        parts = {"encoder": self.encoder, "decoder": self.decoder, "head": self.head}
        return {
            **super().get_config(),
            "horizon": self.horizon,
            **{name: keras.saving.serialize_keras_object(part) for name, part in parts.items()},
            "scaling": self.scaling,
            "teacher_forcing": self.teacher_forcing,
            "units": self.units,
            "season": self.season,
        }

    @classmethod
    def from_config(cls, config):
        parts = {part: from_config(config[part]) for part in ("encoder", "decoder", "head")}
        return cls(**{**config, **parts})


def _named(inputs, mask=None):
    """Return the inputs by name, including the mask that Keras fills in for the past."""
    inputs = named_inputs(inputs)
    mask = mask.get("past") if isinstance(mask, dict) else mask
    return inputs if mask is None else {"mask": mask, **inputs}


def _check_parts(encoder, decoder):
    """Raise TypeError unless encoder and decoder have the right types."""
    for name, part, kind in (
        ("encoder", encoder, keras.layers.Layer),
        ("decoder", decoder, AttentionRNN),
    ):
        if not isinstance(part, kind):
            raise TypeError(
                f"`{name}` must be a {kind.__name__}. Received: {name}={part!r}. Leave it out to "
                "use the default."
            )
