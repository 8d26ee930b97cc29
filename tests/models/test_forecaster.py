"""Forecaster: loop, losses, missing values and intervals match NumPy in float64."""

import re
import subprocess
import sys

import extract
import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

import keras_bahdanau as kb
from keras_bahdanau.models import GaussianHead, PointHead, QuantileHead
from keras_bahdanau.models.forecast_window import read_window

RANDOM = np.random.default_rng(4)
BATCH, TIME, CHANNELS, HORIZON = 4, 7, 2, 3
X = RANDOM.normal(20, 5, (BATCH, TIME, CHANNELS)).astype("float32")
Y = RANDOM.normal(20, 5, (BATCH, HORIZON, CHANNELS)).astype("float32")
COVARIATES = {
    "past_covariates": RANDOM.normal(size=(BATCH, TIME, 1)).astype("float32"),
    "future_covariates": RANDOM.normal(size=(BATCH, HORIZON, 3)).astype("float32"),
}
SIZES = {"point": (), "gaussian": (2,), "quantiles": (3,)}
Z_90 = 1.6448536269514722  # 0.95 quantile of the standard normal distribution
each_head = pytest.mark.parametrize("head", SIZES)


@keras.saving.register_keras_serializable(package="test_forecaster")
class LaplaceHead(kb.models.ForecastHead):
    """A user-defined head with the median and the logarithm of the scale."""

    size = 2

    def parameters(self, outputs):
        return outputs

    def loss(self, y, parameters):
        log_scale = parameters[..., 1]
        return ops.log(2.0) + log_scale + ops.abs(y - parameters[..., 0]) / ops.exp(log_scale)

    def quantile(self, parameters, level=0.5):
        if isinstance(level, float) and level == 0.5:
            return parameters[..., 0]
        side = ops.convert_to_tensor(level, "float32") - 0.5
        distance = -ops.log(1 - 2 * ops.abs(side)) * ops.exp(parameters[..., 1])
        return parameters[..., 0] + ops.sign(side) * distance

    def affine(self, parameters, location, scale):
        median = super().affine(parameters[..., :1], location, scale)
        return ops.concatenate(
            [median, parameters[..., 1:] + ops.log(ops.expand_dims(scale, -1))], -1
        )


def new_forecaster(head="point", x=X, **options):
    """Return a `Forecaster` with random weights."""
    model = kb.Forecaster(HORIZON, head=head, **{"units": 5, **options})
    is_dict = isinstance(x, dict)
    model.build({name: array.shape for name, array in x.items()} if is_dict else x.shape)
    return extract.randomize(model)


def predicted(model, x):
    return np.asarray(model(x))


def scaled_by_hand(x, scaling="standard"):
    """Return (scaled past, location, scale) in float64, for windows without missing values."""
    x = np.float64(x)
    if scaling == "mean":
        scale = np.abs(x).mean(axis=1, keepdims=True)
        return x / scale, np.zeros_like(scale), scale
    location, scale = x.mean(axis=1, keepdims=True), x.std(axis=1, keepdims=True)
    return (x - location) / scale, location, scale


def softplus(x):
    return np.log1p(np.exp(x))


def losses_by_hand(name, y, prediction):
    """Return the loss of each value, in float64."""
    y, prediction = np.float64(y), np.float64(prediction)
    if name == "point":
        return (y - prediction) ** 2
    if name == "gaussian":
        mean, deviation = prediction[..., 0], prediction[..., 1]
        density = np.exp(-0.5 * ((y - mean) / deviation) ** 2) / deviation / np.sqrt(2 * np.pi)
        return -np.log(density)
    errors = y[..., None] - prediction
    weights = np.where(errors > 0, (0.1, 0.5, 0.9), (-0.9, -0.5, -0.1))
    return (weights * errors).mean(axis=-1)


@pytest.mark.few(1)
@each_head
def test_a_loss_is_its_formula_in_float64(head):
    """Without scaling, the loss is computed directly from the predictions."""
    model = new_forecaster(head, scaling=None)
    x, y = X / 10, Y / 10
    prediction = predicted(model, x)
    loss = model.compute_loss(x, y, prediction, training=False)
    expected = losses_by_hand(head, y, prediction).mean()
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_parameters_are_those_of_a_distribution():
    outputs = RANDOM.normal(size=(2, 5, 3)).astype("float32")
    gaussian = np.asarray(GaussianHead().parameters(outputs[..., :2]))
    np.testing.assert_allclose(gaussian[..., 1], softplus(outputs[..., 1]) + 1e-3, rtol=1e-5)
    low, middle, high = np.moveaxis(np.asarray(QuantileHead().parameters(outputs)), -1, 0)
    np.testing.assert_allclose(middle, outputs[..., 1], atol=1e-6)
    np.testing.assert_allclose(middle - low, softplus(outputs[..., 0]), rtol=1e-4)
    np.testing.assert_allclose(high - middle, softplus(outputs[..., 2]), rtol=1e-4)


def test_quantiles_between_those_of_the_head_are_on_a_line():
    head, parameters = QuantileHead((0.25, 0.5, 0.75)), np.float32([[1.0, 2.0, 6.0]])
    levels = {0.25: 1.0, 0.5: 2.0, 0.4: 1.6, 0.625: 4.0}
    for level, value in levels.items():
        np.testing.assert_allclose(head.quantile(parameters, level), [value], rtol=1e-5)
    beyond = head.quantile(np.repeat(parameters, 2, axis=0), np.float32([0.05, 0.95]))
    np.testing.assert_allclose(beyond, [0.2, 9.2], rtol=1e-5)  # as in a sampled path


@pytest.mark.few(2)
@each_head
@pytest.mark.parametrize("scaling", ["standard", "mean", None])
def test_a_prediction_is_a_loop_of_single_steps(head, scaling):
    inputs = {"past": X, **COVARIATES}
    model = new_forecaster(head, inputs, scaling=scaling)
    past, location, scale = scaled_by_hand(X, scaling)
    if scaling is None:
        past, location, scale = np.float64(X), 0 * location, 1 + 0 * scale
    read = [past, np.ones_like(past), COVARIATES["past_covariates"]]
    read = np.concatenate(read, axis=-1).astype("float32")
    prepared = model.decoder.prepare(np.concatenate([model.encoder(read), read], axis=-1))
    state, value = model.decoder.initial_state(prepared), past[:, -1]
    kernel, bias = (np.float64(weight) for weight in model.output_layer.get_weights())
    prediction, weights = model(inputs, return_attention_scores=True)
    for index in range(HORIZON):
        x = np.concatenate([value, COVARIATES["future_covariates"][:, index]], axis=-1)
        step, state = model.decoder.step(x.astype("float32"), state, prepared)
        np.testing.assert_allclose(weights[:, index], step.weights, atol=1e-5)
        features = np.concatenate([step.output, x, step.context], axis=-1)
        outputs = (features @ kernel + bias).reshape(BATCH, CHANNELS, -1)
        if head == "point":
            value = outputs[..., 0]
            expected = value[:, None] * scale + location
        elif head == "gaussian":
            value, deviation = outputs[..., 0], softplus(outputs[..., 1]) + 1e-3
            expected = np.stack(
                [value[:, None] * scale + location, deviation[:, None] * scale], axis=-1
            )
        else:
            value = outputs[..., 1]
            below, above = softplus(outputs[..., 0]), softplus(outputs[..., 2])
            expected = np.stack([value - below, value, value + above], axis=-1)[:, None]
            expected = expected * scale[..., None] + location[..., None]
        np.testing.assert_allclose(prediction[:, index], expected[:, 0], rtol=2e-4, atol=1e-3)


def test_before_training_a_season_is_repeated_with_own_forecasts_behind_it():
    model = kb.Forecaster(HORIZON, season=2, units=4)
    expected = X[:, [-2, -1, -2]]
    np.testing.assert_allclose(predicted(model, X), expected, rtol=1e-5)
    walk = predicted(kb.Forecaster(HORIZON, season=1, head="gaussian", units=4), X)
    np.testing.assert_allclose(walk[..., 0], X[:, [-1] * HORIZON], rtol=1e-5)


def test_with_a_season_a_step_reads_the_value_a_season_before_and_adds_to_it():
    """The loop is computed by hand for the median; the third step reads a forecast."""
    inputs, season = {"past": X, **COVARIATES}, 2
    model = new_forecaster("quantiles", inputs, season=season)
    past, location, scale = scaled_by_hand(X)
    read = [past, np.ones_like(past), COVARIATES["past_covariates"]]
    read = np.concatenate(read, axis=-1).astype("float32")
    prepared = model.decoder.prepare(np.concatenate([model.encoder(read), read], axis=-1))
    state, values = model.decoder.initial_state(prepared), [*np.moveaxis(past, 1, 0)]
    kernel, bias = (np.float64(weight) for weight in model.output_layer.get_weights())
    for index in range(HORIZON):
        x = [values[-1], values[-season], COVARIATES["future_covariates"][:, index]]
        x = np.concatenate(x, axis=-1)
        step, state = model.decoder.step(x.astype("float32"), state, prepared)
        outputs = np.concatenate([step.output, x, step.context], axis=-1) @ kernel + bias
        values.append(outputs.reshape(BATCH, CHANNELS, 3)[..., 1] + values[-season])
    expected = np.stack(values[-HORIZON:], axis=1) * scale + location
    prediction = predicted(model, inputs)
    np.testing.assert_allclose(prediction[..., 1], expected, rtol=2e-4, atol=1e-3)
    loss = model.compute_loss(inputs, Y, prediction, training=False)
    own = expected.astype("float32")  # teacher forcing with these equals the prediction
    forced = model.compute_loss(inputs, own, model(inputs, training=True))
    free = model.compute_loss(inputs, own, prediction, training=False)
    np.testing.assert_allclose(forced, free, rtol=1e-4, atol=1e-6)
    assert float(loss) > float(free)


def test_recent_values_are_those_of_the_last_real_steps():
    """There is padding on both sides, a gap in a mask of steps, and missing values."""
    nan = np.nan
    x = np.float32([[9, 1, 2, 3, 4, 9], [nan, nan, 5, nan, 6, nan], [9, 9, 9, 9, 7, 9]])[..., None]
    mask = np.array([[0, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 1, 0]], bool)
    mask[0, 3] = False
    read = read_window(x, mask, None, None, size=4)
    expected = [[0, 1, 2, 4], [5, 0, 6, 6], [0, 0, 0, 7]]
    np.testing.assert_array_equal(np.asarray(read.recent)[..., 0], expected)
    np.testing.assert_array_equal(read_window(x, mask, None, None).recent[..., 0], [[4], [6], [7]])


@pytest.mark.few(1)
@each_head
def test_teacher_forcing_with_the_models_own_values_is_its_prediction(head):
    model = new_forecaster(head)
    prediction = predicted(model, X)
    y = model.quantile(prediction)
    forced = model.compute_loss(X, y, model(X, training=True))
    np.testing.assert_allclose(
        forced, model.compute_loss(X, y, prediction, training=False), rtol=1e-4, atol=1e-6
    )
    other = model.compute_loss(X, Y, model(X, training=True))
    assert abs(float(other) - float(model.compute_loss(X, Y, prediction, training=False))) > 1e-3


def test_without_teacher_forcing_training_has_the_loss_of_predict():
    model = new_forecaster("gaussian", teacher_forcing=0)
    forced = model.compute_loss(X, Y, model(X, training=True))
    free = model.compute_loss(X, Y, predicted(model, X), training=False)
    np.testing.assert_allclose(forced, free, rtol=1e-5)


@pytest.mark.slow
def test_a_share_of_teacher_forcing_is_between_both():
    losses = []
    for share in (0.0, 0.5, 1.0):
        model = new_forecaster(teacher_forcing=share)
        losses.append(float(model.compute_loss(X, Y, model(X, training=True))))
    assert len(set(losses)) == 3


SCALES = {  # window, (location, scale) of "standard", scale of "mean"
    "two values": ([1.0, 3.0], (2.0, 1.0), 2.0),
    "missing values": ([np.nan, 1.0, np.nan, 3.0], (2.0, 1.0), 2.0),
    "a constant": ([1000.1, 1000.1, 1000.1], (1000.1, 1000.1), 1000.1),
    "zeros": ([0.0, 0.0], (0.0, 1.0), 1.0),
    "one value": ([np.nan, -4.0], (-4.0, 4.0), 4.0),
    "nothing": ([np.nan, np.nan], (0.0, 1.0), 1.0),
    "huge values": ([1e25, 3e25], (2e25, 1e25), 2e25),
    "tiny values": ([1e-25, 3e-25], (2e-25, 1e-25), 2e-25),
    "large and near": ([1e6 - 1, 1e6 + 1], (1e6, 1.0), 1e6),
}


@pytest.mark.parametrize("name", SCALES)
def test_a_window_is_scaled_by_its_observed_values(name):
    window, standard, mean = SCALES[name]
    x = np.float32(window)[None, :, None]
    for scaling, (location, scale) in {"standard": standard, "mean": (0.0, mean)}.items():
        read = read_window(x, None, None, scaling)
        np.testing.assert_allclose(np.ravel(read.location), [location], rtol=1e-6)
        np.testing.assert_allclose(np.ravel(read.scale), [scale], rtol=1e-5)
        expected = np.nan_to_num((np.float64(window) - location) / scale)
        np.testing.assert_allclose(np.ravel(read.inputs[..., 0]), expected, atol=1e-5)


def padded(before, behind):
    """Return the rows of `X` with padding around them, and a mask."""
    sizes = [(0, 0), (before, behind)]
    mask = np.pad(np.ones((BATCH, TIME), bool), sizes)
    return np.pad(X, [*sizes, (0, 0)], constant_values=999), mask


@pytest.mark.few(1)
@pytest.mark.parametrize(("before", "behind"), [(3, 0), (0, 2), (2, 4)])
def test_padding_is_ignored_on_either_side(before, behind):
    model = new_forecaster("gaussian")
    expected, expected_weights = model(X, return_attention_scores=True)
    x, mask = padded(before, behind)
    prediction, weights = model({"past": x, "mask": mask}, return_attention_scores=True)
    np.testing.assert_allclose(prediction, expected, rtol=1e-5)
    real = slice(before, before + TIME)
    np.testing.assert_allclose(np.asarray(weights)[:, :, real], expected_weights, atol=1e-6)
    assert not np.asarray(weights)[:, :, ~mask[0]].any()


def test_a_row_alone_is_what_it_is_in_a_batch():
    """Rows have different lengths; series and covariates are padded with NaN at the beginning."""
    inputs = {"past": X.copy(), **COVARIATES}
    model = new_forecaster("quantiles", inputs)
    starts = [0, 3, 5, 1]
    inputs["past_covariates"] = inputs["past_covariates"].copy()
    for row, start in enumerate(starts):
        inputs["past"][row, :start] = np.nan
        inputs["past_covariates"][row, :start] = np.nan
    together, weights = model(inputs, return_attention_scores=True)
    for row, start in enumerate(starts):
        alone = {name: array[row : row + 1] for name, array in inputs.items()}
        alone["past"], alone["past_covariates"] = (
            alone[name][:, start:] for name in ("past", "past_covariates")
        )
        np.testing.assert_allclose(predicted(model, alone)[0], together[row], rtol=1e-5, atol=1e-4)
        assert not np.asarray(weights)[row, :, :start].any()


def test_a_missing_value_counts_as_a_step_and_by_nan_or_mask_alike():
    model = new_forecaster("gaussian")
    observed = np.ones(X.shape, bool)
    observed[0, 3, 1] = observed[1, 4] = observed[2, -1, 0] = False
    with_nan, weights = model(np.where(observed, X, np.nan), return_attention_scores=True)
    masked = predicted(model, {"past": np.where(observed, X, 1e6), "mask": observed})
    np.testing.assert_allclose(masked, with_nan, rtol=1e-6)
    assert np.isfinite(with_nan).all() and np.asarray(weights).all()  # also for gaps
    assert not np.allclose(with_nan, predicted(model, X))


def test_the_first_step_reads_the_last_observed_value():
    """The last values aren't known yet, as for a month that isn't reported."""
    model = new_forecaster(scaling=None)
    x = X.copy()
    x[:, -2:, 0] = np.nan
    first = model(x, training=True).window.recent[:, 0]
    expected = np.stack([X[:, -3, 0], X[:, -1, 1]], axis=-1)
    np.testing.assert_allclose(first, expected, rtol=1e-6)


@pytest.mark.few(1)
@each_head
def test_gradients_are_finite_for_a_window_with_nothing(head):
    model = new_forecaster(head)
    x, y = X.copy(), Y.copy()
    x[0], x[1, 1:], x[2], y[0, 1] = np.nan, np.nan, 7.0, np.nan
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = model.compute_loss(x, y, model(x, training=True))
    gradients = tape.gradient(loss, [x, *model.trainable_variables])
    assert np.isfinite(loss) and all(np.isfinite(gradient).all() for gradient in gradients)
    prediction, weights = model(x, return_attention_scores=True)
    assert np.isfinite(prediction).all() and not np.asarray(weights)[0].any()


def test_the_loss_is_a_weighted_mean_over_known_values():
    model = new_forecaster(scaling=None)
    y, row_weights = Y.copy(), np.float32([1, 0, 2, 5])
    y[0, 1, 0] = y[2, 2] = np.nan
    y[3] = np.nan
    prediction = predicted(model, X)
    losses = np.nan_to_num(losses_by_hand("point", y, prediction))
    known = ~np.isnan(y)
    for weights in (None, row_weights, np.repeat(row_weights[:, None], HORIZON, axis=1)):
        share = known * (1 if weights is None else weights.reshape(BATCH, -1, 1))
        loss = model.compute_loss(X, y, prediction, weights, training=False)
        np.testing.assert_allclose(loss, (share * losses).sum() / share.sum(), rtol=1e-4)
    nothing = model.compute_loss(X, np.full_like(Y, np.nan), prediction, training=False)
    assert float(nothing) == 0


@pytest.mark.few(1)
@each_head
def test_fit_and_evaluate_have_the_losses_of_the_head(head):
    """Metrics are computed for the point forecast; `fit` has no teacher forcing here."""
    model = new_forecaster(head, teacher_forcing=0)
    model.compile(keras.optimizers.SGD(0.0), metrics=["mae"], run_eagerly=True)
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH)
    history = model.fit(data, shuffle=False, verbose=0, validation_data=data).history
    past, location, scale = scaled_by_hand(X)
    prediction = model.predict(X, verbose=0)
    assert prediction.shape == (BATCH, HORIZON, CHANNELS, *SIZES[head])
    point = model.quantile(prediction)
    expected = float(model.compute_loss(X, Y, prediction, training=False))
    if head == "point":
        in_scales = losses_by_hand(head, (Y - location) / scale, (point - location) / scale)
        np.testing.assert_allclose(expected, in_scales.mean(), rtol=1e-4)
    for name, value in {"loss": expected, "mae": np.abs(Y - point).mean()}.items():
        np.testing.assert_allclose(history[name], [value], rtol=1e-4)
        np.testing.assert_allclose(history[f"val_{name}"], [value], rtol=1e-4)


@pytest.mark.slow
def test_an_interval_of_one_step_is_that_of_the_distribution():
    model = new_forecaster("gaussian")
    mean, deviation = np.moveaxis(model.predict(X, verbose=0), -1, 0)
    lower, upper = model.predict_interval(X, 0.9, samples=0)
    np.testing.assert_allclose(lower, mean - Z_90 * deviation, rtol=1e-4)
    np.testing.assert_allclose(upper, mean + Z_90 * deviation, rtol=1e-4)
    quantiles = new_forecaster("quantiles")
    prediction = quantiles.predict(X, verbose=0)
    lower, upper = quantiles.predict_interval(X, 0.8, samples=0)
    np.testing.assert_array_equal((lower, upper), (prediction[..., 0], prediction[..., 2]))


@pytest.mark.few(1)
@pytest.mark.parametrize("head", ["gaussian", "quantiles", LaplaceHead()])
def test_intervals_are_nested_and_around_the_median_of_the_paths(head):
    model = new_forecaster(head)
    wide, narrow = (model.predict_interval(X, coverage) for coverage in (0.8, 0.4))
    assert (wide[0] < narrow[0]).all() and (narrow[1] < wide[1]).all()
    paths = model.predict_samples(X, samples=200, seed=0)
    assert paths.shape == (BATCH, 200, HORIZON, CHANNELS)
    inside = (paths > wide[0][:, None]) & (paths < wide[1][:, None])
    np.testing.assert_allclose(inside.mean(axis=1), 0.8, atol=0.02)
    again = model.predict_interval(X, 0.8)
    np.testing.assert_array_equal(again, wide)


@pytest.mark.slow
def test_paths_of_a_random_walk_spread_as_its_steps_add_up():
    """For y_i = y_{i-1} + noise, the deviation at step i is sqrt(i) times that of one step.

    The mean is the previous value, which the output layer reads after the five units.
    """
    x = np.full((1, 5, 1), 3.0, "float32")
    model = new_forecaster("gaussian", x, scaling=None)
    kernel = np.zeros_like(model.output_layer.kernel)
    kernel[5, 0] = 1
    model.output_layer.set_weights([kernel, np.float32([0, np.log(np.exp(0.999) - 1)])])
    paths = model.predict_samples(x, samples=4000, seed=1)[0, :, :, 0]
    np.testing.assert_allclose(paths.mean(axis=0), 3.0, atol=0.1)
    np.testing.assert_allclose(paths.std(axis=0), np.sqrt([1, 2, 3]), rtol=0.05)
    prediction = model.predict(x, verbose=0)[0, :, 0]
    np.testing.assert_allclose(prediction, [[3, 1]] * HORIZON, rtol=1e-5)


def test_weights_over_the_past_are_read_and_drawn():
    x = X.copy()
    x[0, :2] = np.nan
    model = new_forecaster(x=x)
    inputs = keras.Input((None, CHANNELS))
    around = keras.Model(inputs, model(inputs))
    for outer in (model, around):
        weights = kb.attention_weights(outer, x, batch_size=3)[model.name]
        assert weights.shape == (BATCH, HORIZON, TIME)
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
        assert not weights[0, :, :2].any()
    above, below = kb.plot_weights(weights[0], curve=x[0]).axes
    assert np.isnan(above.lines[0].get_ydata()[:2]).all()
    np.testing.assert_array_equal(below.images[0].get_array(), np.float64(weights[0]))


def test_a_mask_of_keras_is_the_mask_of_the_past():
    model = new_forecaster()
    inputs = keras.Input((None, CHANNELS))
    around = keras.Model(inputs, model(keras.layers.Masking(999)(inputs)))
    x, _ = padded(2, 1)
    assert around.output_shape == (None, HORIZON, CHANNELS)
    np.testing.assert_allclose(around(x), predicted(model, X), rtol=1e-5)


ENCODERS = {
    "convolution": lambda: keras.layers.Conv1D(4, 3, padding="same"),
    "functional": lambda: _functional_encoder(),
    "sequential": lambda: keras.Sequential(
        [keras.layers.Dense(4), keras.layers.LSTM(4, return_sequences=True)]
    ),
}


def _functional_encoder():
    inputs = keras.Input((None, 2 * CHANNELS))
    hidden = keras.layers.GRU(4, return_sequences=True)(inputs)
    return keras.Model(inputs, keras.layers.Add()([hidden, keras.layers.Dense(4)(inputs)]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODERS)
def test_any_encoder_and_decoder_are_trained_saved_and_loaded(name, tmp_path):
    model = kb.Forecaster(
        HORIZON,
        encoder=ENCODERS[name](),
        decoder=kb.AttentionRNN(keras.layers.LSTMCell(4), "general"),
        head=LaplaceHead(),
    )
    model.compile(keras.optimizers.Adam(0.01), weighted_metrics=["mse"])
    losses = model.fit(X, Y, epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(predicted(loaded, X), predicted(model, X), rtol=1e-5)
    assert loaded.evaluate(X, Y, verbose=0) == pytest.approx(model.evaluate(X, Y, verbose=0))
    assert int(loaded.optimizer.iterations) == 5


def test_without_attention_weights_are_zero():
    decoder = kb.AttentionRNN(kb.layers.DecoderCell(5, attention=None))
    model = new_forecaster(decoder=decoder)
    prediction, weights = model(X, return_attention_scores=True)
    assert np.isfinite(prediction).all() and not np.any(weights)


PROGRAM = """
import sys, numpy as np, keras, keras_bahdanau
model = keras.saving.load_model(sys.argv[1])
inputs = dict(np.load(sys.argv[2]))
np.save(sys.argv[3], model.predict(inputs, verbose=0))
"""


@pytest.mark.slow
def test_a_file_is_read_in_another_process_without_custom_objects(tmp_path):
    inputs = {"past": X, **COVARIATES}
    model = new_forecaster(QuantileHead((0.05, 0.5)), inputs, teacher_forcing=0.5, season=5)
    model.compile("adam")
    model.save(tmp_path / "model.keras")
    np.savez(tmp_path / "inputs.npz", **inputs)
    names = ("model.keras", "inputs.npz", "prediction.npy")
    paths = [tmp_path / name for name in names]
    subprocess.run([sys.executable, "-c", PROGRAM, *paths], check=True)
    np.testing.assert_allclose(np.load(paths[-1]), predicted(model, inputs), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("covariates", [{}, COVARIATES], ids=["alone", "with covariates"])
def test_an_exported_model_has_the_loop_inside(covariates, tmp_path):
    """It matches `predict` for any batch size and length, missing values and empty rows."""
    inputs = {"past": X, **covariates}
    season = 5 if covariates else None  # longer than the shortest past
    model = new_forecaster("gaussian", inputs if covariates else X, season=season)
    model.export(tmp_path / "exported", verbose=False)
    exported = tf.saved_model.load(tmp_path / "exported")
    for rows, time in ((BATCH, TIME), (1, 3)):
        x = {name: array[:rows] for name, array in inputs.items()}
        for name in {"past", "past_covariates"} & {*x}:
            x[name] = x[name][:, :time].copy()
        x["past"][0, 1], x["past"][-1] = np.nan, np.nan
        x = x if covariates else x["past"]
        expected = model.predict(x, verbose=0)
        np.testing.assert_allclose(exported.serve(x), expected, rtol=1e-5, atol=1e-5)


def test_an_export_needs_a_built_model(tmp_path):
    with pytest.raises(ValueError, match="must be built before it is exported"):
        kb.Forecaster(2).export(tmp_path)


@pytest.mark.slow
def test_it_learns_a_season_better_than_last_seasons_values():
    """For noisy waves of period 8, repeating the last season doubles the variance of the noise."""
    random = np.random.default_rng(0)
    waves = np.sin(np.arange(32) * np.pi / 4 + random.uniform(0, 6, (600, 1)))
    waves = (waves + random.normal(0, 0.3, waves.shape))[..., None]
    x, y = waves[:, :24], waves[:, 24:]
    keras.utils.set_random_seed(0)
    model = kb.Forecaster(8, units=16)
    model.compile(keras.optimizers.Adam(0.01))
    model.fit(x[:500], y[:500], epochs=45, verbose=0)
    error = np.abs(model.predict(x[500:], verbose=0) - y[500:]).mean()
    assert error < 0.85 * np.abs(x[500:, -8:] - y[500:]).mean()


REFUSED = {
    "no horizon": (lambda: kb.Forecaster(0), "`horizon`.* must be a positive integer"),
    "a wrong head": (lambda: kb.Forecaster(2, head="normal"), "`head` must be one of 'point'"),
    "a head of quantiles": (lambda: kb.Forecaster(2, head=(0.5,)), "ForecastHead. Received"),
    "no season": (lambda: kb.Forecaster(2, season=0), "`season`.* must be a positive integer"),
    "a wrong scaling": (lambda: kb.Forecaster(2, scaling="max"), "`scaling` must be one of"),
    "falling quantiles": (lambda: QuantileHead((0.9, 0.5)), r"must increase within \(0, 1\)"),
    "no median": (lambda: QuantileHead((0.1, 0.9)), "and include 0.5"),
    "a quantile of 1": (lambda: QuantileHead((0.5, 1.0)), "must increase within"),
    "a whole pass of teacher forcing": (
        lambda: kb.Forecaster(2, teacher_forcing=2),
        "`teacher_forcing`, the fraction",
    ),
    "a cell as decoder": (
        lambda: kb.Forecaster(2, decoder=keras.layers.GRUCell(3)),
        "`decoder` must be a AttentionRNN",
    ),
    "a loss": (
        lambda: kb.Forecaster(2).compile("adam", "mse"),
        "uses the loss of its head. Received: loss='mse'",
    ),
    "an encoder of one vector": (
        lambda: kb.Forecaster(2, encoder=keras.layers.GRU(3))(X),
        r"must return \(batch, time, units\)",
    ),
    "one axis less": (lambda: new_forecaster()(X[..., 0]), r"must be \(batch, time, channels\)"),
    "a list": (lambda: new_forecaster()([[1.0, 2.0]]), "`past` must be an array"),
    "another channel": (lambda: new_forecaster()(X[..., :1]), "the same as in the first call"),
    "a missing covariate": (
        lambda: new_forecaster(x={"past": X, **COVARIATES})(X),
        "as in the first call, .*'future_covariates': 3",
    ),
    "an unknown name": (
        lambda: new_forecaster()({"past": X, "future": X}),
        'Inputs must be "past" and any of',
    ),
    "covariates of another horizon": (
        lambda: new_forecaster()({"past": X, "future_covariates": X}),
        r"`future_covariates` must have shape \(4, 3, None\)",
    ),
    "a mask of another length": (
        lambda: new_forecaster()({"past": X, "mask": np.ones((BATCH, 2), bool)}),
        r"`mask` must have shape \(4, 7\) or \(4, 7, 2\)",
    ),
    "targets of another horizon": (
        lambda: new_forecaster().compute_loss(X, Y[:, :2], Y, training=False),
        r"`y` must be \(batch, 3, 2\)",
    ),
    "targets without channels": (
        lambda: new_forecaster().compute_loss(X, Y[..., 0], Y, training=False),
        r"y.shape=\(4, 3\)",
    ),
    "an interval of points": (
        lambda: new_forecaster().predict_interval(X),
        "need a head with a distribution",
    ),
    "a level outside of the quantiles": (
        lambda: new_forecaster("quantiles").quantile(np.ones((1, 3, 2, 3)), 0.05),
        r"`level` must be within \(0.1, 0.9\)",
    ),
    "no coverage": (lambda: new_forecaster("gaussian").predict_interval(X, 0), "must be above 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_use_is_refused_in_one_line(name):
    use, message = REFUSED[name]
    with pytest.raises((TypeError, ValueError), match=message) as error:
        use()
    if name != "an encoder of one vector":  # Keras adds a line with the layer's name
        assert "\n" not in str(error.value)


def test_a_fit_with_another_horizon_says_so():
    model = new_forecaster()
    model.compile("adam", run_eagerly=True)
    with pytest.raises(ValueError, match=r"`y` must be \(batch, 3, 2\)"):
        model.fit(X, Y[:, :2], verbose=0)


def test_heads_round_trip_through_their_configs():
    for head in (PointHead(), GaussianHead(), QuantileHead((0.2, 0.5))):
        copy = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(head))
        assert (type(copy), copy.get_config()) == (type(head), head.get_config())


def test_wrong_arrays_are_refused_before_a_graph_and_right_ones_fit_then():
    x, y = np.zeros((4, 5, 2), "float32"), np.zeros((4, 3, 2), "float32")
    model = kb.Forecaster(3, units=4)
    model.compile("adam")
    for wrong_x, wrong_y, received in (
        (x, y[:, :2], "y.shape=(4, 2, 2)"),
        (x, y[..., 0], "y.shape=(4, 3)"),
        (x[..., 0], y, "past.shape=(4, 5)"),
    ):
        with pytest.raises(ValueError, match=re.escape(f"Received: {received}")):
            model.fit(wrong_x, wrong_y, verbose=0)
    assert np.isfinite(model.fit(x, y, verbose=0).history["loss"]).all()
    with pytest.raises(ValueError, match=re.escape("Received: {'past': 1}")):
        model.predict(x[..., :1], verbose=0)
