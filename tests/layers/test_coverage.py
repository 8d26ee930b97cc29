"""Location features: coverage and convolution against the equations, over steps."""

import extract
import keras
import numpy as np
import pytest
import steps
import tensorflow as tf

from keras_bahdanau.layers.coverage import LOCATIONS, LocationConvolution, NoLocation, new_location

RANDOM = np.random.default_rng(7)
LENGTHS = (6, 3, 0)
SOURCE_TIME, TARGET_TIME, KEY_UNITS = 6, 4, 5
MASK = np.arange(SOURCE_TIME) < np.array(LENGTHS)[:, None]
KEYS = RANDOM.normal(size=(len(LENGTHS), SOURCE_TIME, KEY_UNITS)).astype("float32")
WEIGHTS = (RANDOM.uniform(size=(len(LENGTHS), TARGET_TIME, SOURCE_TIME)) * MASK[:, None]).astype(
    "float32"
)
KINDS = [kind for kind in LOCATIONS if kind]


def built(kind, **kwargs):
    if kind == "convolution":
        kwargs = {"filters": 3, "kernel_size": 3, **kwargs}
    location = new_location(kind, **kwargs)
    location.build(KEYS.shape)
    return extract.randomize(location)


def marked(location, keys=KEYS):
    """A function of all weights: the keys that each step sees."""

    def function(weights, mask):
        def step(memo, weights):
            return location.add_to(keys, memo), location.remember(memo, weights)

        return steps.looped(step, location.first_state(steps.memory(mask)), weights)

    return function


def coverage(location, weights):
    """V C_{i-1} of a sentence, C_ij = C_{i-1,j} + alpha_ij."""
    (V,) = extract.arrays(location.projection)
    before = [weights[:i].sum(axis=0) for i in range(len(weights))]
    return np.array([[c * V[0] for c in C] for C in before])


def convolution(location, weights):
    """U (F * alpha_{i-1}) of a sentence, zeros around it and in the first step."""
    (F,), (U,) = extract.arrays(location.convolution), extract.arrays(location.projection)
    size = len(F)
    before = (size - 1) // 2  # places to the left of the middle
    features = []
    for last in [np.zeros(weights.shape[1]), *weights[:-1]]:
        padded = np.pad(last, size)
        windows = [padded[size + j - before :][:size] for j in range(len(last))]
        features.append([window @ F[:, 0] @ U for window in windows])
    return np.array(features)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 15])
def test_convolution_is_that_of_the_last_weights(run, size):
    location = built("convolution", kernel_size=size)
    found = run(marked(location), WEIGHTS, MASK)
    for row in range(len(LENGTHS)):
        expected = KEYS[row] + convolution(location, WEIGHTS[row].astype("float64"))
        np.testing.assert_allclose(found[row], expected, atol=1e-5)


def test_coverage_is_the_sum_of_the_weights_so_far(run):
    location = built("coverage")
    found = run(marked(location), WEIGHTS, MASK)
    for row in range(len(LENGTHS)):
        expected = KEYS[row] + coverage(location, WEIGHTS[row].astype("float64"))
        np.testing.assert_allclose(found[row], expected, atol=1e-5)


def test_without_location_the_keys_stay_as_they_are():
    location = built(None)
    assert isinstance(location, NoLocation) and location.weights == []
    assert location.first_state(steps.memory(MASK)) == location.remember((), WEIGHTS[:, 0]) == ()
    assert location.add_to(KEYS, ()) is KEYS


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_is_the_same_alone_and_in_a_batch_padded_further(run, kind):
    location = built(kind)
    found = run(marked(location), WEIGHTS, MASK)
    wide = run(
        marked(location, np.pad(KEYS, ((0, 0), (0, 3), (0, 0)))),
        np.pad(WEIGHTS, ((0, 0), (0, 0), (0, 3))),
        np.pad(MASK, ((0, 0), (0, 3))),
    )
    np.testing.assert_allclose(wide[:, :, :SOURCE_TIME], found, atol=1e-6)
    alone = run(marked(location, KEYS[1:2, :3]), WEIGHTS[1:2, :, :3], MASK[1:2, :3])
    np.testing.assert_allclose(alone, found[1:2, :, :3], atol=1e-6)


@pytest.mark.parametrize("kind", LOCATIONS)
def test_each_row_of_a_beam_has_the_keys_it_has_alone(run, kind):
    location = built(kind)
    memo = RANDOM.uniform(size=WEIGHTS.shape).astype("float32") if kind else ()
    keys = run(location.add_to, KEYS, memo)
    after = run(location.remember, memo, WEIGHTS)
    for n in range(TARGET_TIME if kind else 0):
        one = run(location.add_to, KEYS, memo[:, n])
        np.testing.assert_allclose(keys[:, n], one, atol=1e-6)
        one = run(location.remember, memo[:, n], WEIGHTS[:, n])
        np.testing.assert_array_equal(after[:, n], one)


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_of_xla_gives_the_same_and_every_weight_learns(kind):
    location = built(kind)

    def step(memo, weights):
        last, keys = memo
        shown = tf.reduce_sum(location.add_to(keys, last) ** 2, axis=-1)
        return shown, (location.remember(last, weights * shown), keys)

    memo = (location.first_state(steps.memory(MASK)), tf.constant(KEYS))
    weights, variables = 0.1 * WEIGHTS, location.trainable_variables
    expected = steps.gradients(steps.unrolled, step, memo, weights, variables)
    found = steps.looped_by_xla(step, memo, weights, variables)
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        assert np.all(np.isfinite(other)) and np.any(other)
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", LOCATIONS)
def test_a_step_runs_in_litert(kind):
    location = built(kind)

    def step(keys, memo, weights):
        return location.add_to(keys, memo), location.remember(memo, weights)

    args = (KEYS[:1], WEIGHTS[:1, 0] if kind else (), WEIGHTS[:1, 1])
    expected = step(*tf.nest.map_structure(tf.convert_to_tensor, args))
    found = steps.litert(step, *args)
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("policy", ["float16", "bfloat16", "mixed_float16"])
def test_the_memo_is_float32_under_every_policy(kind, policy):
    location = built(kind, dtype=policy)
    memo = location.remember(location.first_state(steps.memory(MASK)), WEIGHTS[:, 0])
    assert memo.dtype == "float32"
    keys = tf.cast(KEYS, location.compute_dtype)
    found = location(keys, memo)
    assert found.dtype == location.compute_dtype
    expected = built(kind)(KEYS, memo)
    np.testing.assert_allclose(tf.cast(found, "float32"), expected, atol=0.05)


@pytest.mark.parametrize("kind", LOCATIONS)
def test_it_is_written_down_and_read_back(kind):
    location = built(kind, name="location")
    loaded = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(location))
    assert type(loaded) is type(location) and loaded.get_config() == location.get_config()
    if not loaded.built:
        loaded.build(KEYS.shape)
    loaded.set_weights(location.get_weights())
    if kind:
        np.testing.assert_array_equal(
            marked(loaded)(tf.constant(WEIGHTS), MASK), marked(location)(tf.constant(WEIGHTS), MASK)
        )


def test_a_location_has_a_known_name():
    with pytest.raises(ValueError, match="None, 'coverage', 'convolution'. Received: location="):
        new_location("fertility")


@pytest.mark.parametrize("name", ["filters", "kernel_size"])
@pytest.mark.parametrize("value", [0, 1.5, None])
def test_sizes_must_be_positive_integers(name, value):
    with pytest.raises(ValueError, match=rf"`{name}`.*positive integer. Received: {name}="):
        LocationConvolution(**{name: value})
