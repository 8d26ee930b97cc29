"""Adam with one kernel per update gives the same weights as Keras' class."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.optimizers import Adam, AveragingAdam, InverseSquareRoot

RANDOM = np.random.default_rng(76)
SHAPES = ((12, 4), (4, 4), (4,), (2, 3, 4))
ROWS = np.array([3, 1, 3, 7, 3], "int32")  # rows of the first weight, which is a table
EVERYTHING = {"global_clipnorm": 0.5, "weight_decay": 0.01, "use_ema": True, "ema_momentum": 0.9}


def trained(kind, steps=200, dtype="float32", jit_compile=False, scales_loss=False, **settings):
    """Return an optimizer's weights and variables after steps with fixed random gradients."""
    random = np.random.default_rng(3)
    weights = [
        keras.Variable(random.normal(size=shape), dtype=dtype, name=f"weight_{index}")
        for index, shape in enumerate(SHAPES)
    ]
    schedule = InverseSquareRoot(2e-3, warmup_steps=20)
    inner = kind(schedule, name="adam", **settings)
    inner.exclude_from_weight_decay([weights[2]])
    optimizer = inner
    if scales_loss:
        optimizer = keras.optimizers.LossScaleOptimizer(inner, name="scaled")
    optimizer.build(weights)

    @tf.function(jit_compile=jit_compile)
    def update(slices, *gradients):
        table = tf.IndexedSlices(slices, ROWS, weights[0].shape)
        optimizer.apply([table, *gradients], weights)

    for _ in range(steps):
        gradients = [random.normal(size=(5, 4)), *(random.normal(size=x) for x in SHAPES[1:])]
        update(*(tf.constant(gradient, dtype) for gradient in gradients))
    variables = {variable.path: variable.numpy() for variable in optimizer.variables}
    return [weight.numpy() for weight in weights], variables


def assert_like_keras(tolerance=1e-6, **settings):
    """Assert equal weights; moments differ more, since the kernel's 1 - beta_2 has fewer digits."""
    weights, moments = trained(Adam, **settings)
    expected, expected_moments = trained(keras.optimizers.Adam, **settings)
    assert [*moments] == [*expected_moments]
    assert_close(weights, expected, tolerance)
    assert_close(moments.values(), expected_moments.values(), 30 * tolerance)


def assert_close(arrays, targets, tolerance):
    for array, target in zip(arrays, targets, strict=True):
        np.testing.assert_allclose(array, target, rtol=tolerance, atol=tolerance)


def test_weights_after_200_steps_are_those_of_keras():
    assert_like_keras(**EVERYTHING)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"clipnorm": 0.3},
        {"clipvalue": 0.1},
        {"amsgrad": True, "global_clipnorm": 0.5},
        {"gradient_accumulation_steps": 3, "global_clipnorm": 0.5},
        {"beta_1": 0.5, "beta_2": 0.9, "epsilon": 1e-3},
        {"scales_loss": True, "global_clipnorm": 0.5},
    ],
)
def test_each_setting_is_that_of_keras(settings):
    assert_like_keras(**settings)


@pytest.mark.slow
def test_double_precision_xla_and_half_precision_are_those_of_keras():
    assert_like_keras(dtype="float64", **EVERYTHING)
    assert_like_keras(jit_compile=True, **EVERYTHING)
    assert_like_keras(1e-2, dtype="bfloat16", steps=20)


def test_an_update_is_one_kernel_a_weight():
    weights = [keras.Variable(RANDOM.normal(size=shape)) for shape in SHAPES]
    for kind in (Adam, AveragingAdam):
        optimizer = kind(1e-3, global_clipnorm=1.0)
        optimizer.build(weights)
        update = tf.function(lambda *slopes, optimizer=optimizer: optimizer.apply(slopes, weights))
        graph = update.get_concrete_function(*(tf.zeros(shape) for shape in SHAPES)).graph
        kernels = [op for op in graph.get_operations() if op.type == "ResourceApplyAdam"]
        assert len(kernels) == len(SHAPES)


def test_gradients_that_are_not_finite_make_weights_that_are_not():
    weight = keras.Variable(np.ones(3))
    optimizer = Adam(0.1, global_clipnorm=1.0)
    optimizer.apply([tf.constant([1.0, np.inf, 0.0])], [weight])
    assert np.all(np.isnan(weight.numpy()))


def test_it_is_saved_and_loaded_and_reads_the_variables_of_keras(tmp_path):
    def model(optimizer):
        layers = [keras.Input((2,)), keras.layers.Dense(1)]
        model = keras.Sequential(layers)
        model.compile(optimizer, "mse", run_eagerly=True)
        return model

    x, y = RANDOM.normal(size=(6, 2)), RANDOM.normal(size=(6, 1))
    first = model(keras.optimizers.Adam(0.1, name="adam"))
    first.fit(x, y, verbose=0)
    first.save_weights(tmp_path / "all.weights.h5")
    second = model(Adam(0.1, name="adam"))
    second.optimizer.build(second.trainable_variables)
    second.load_weights(tmp_path / "all.weights.h5")
    second.save(tmp_path / "model.keras")
    third = keras.saving.load_model(tmp_path / "model.keras")
    assert type(third.optimizer) is Adam
    assert third.optimizer.get_config() == first.optimizer.get_config()
    for variables in zip(*(m.optimizer.variables for m in (first, second, third)), strict=True):
        assert len({variable.numpy().tobytes() for variable in variables}) == 1
