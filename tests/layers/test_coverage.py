"""Coverage features match their equations over several steps."""

import extract
import keras
import numpy as np
import pytest
import steps
import tensorflow as tf

from keras_bahdanau.layers.attention.coverage import GridCoverage, LocationConvolution, NoCoverage
from keras_bahdanau.layers.registry import COVERAGES

RANDOM = np.random.default_rng(7)
LENGTHS = (6, 3, 0)
SOURCE_TIME, TARGET_TIME, KEY_UNITS = 6, 4, 5
MASK = np.arange(SOURCE_TIME) < np.array(LENGTHS)[:, None]
KEYS = RANDOM.normal(size=(len(LENGTHS), SOURCE_TIME, KEY_UNITS)).astype("float32")
WEIGHTS = (RANDOM.uniform(size=(len(LENGTHS), TARGET_TIME, SOURCE_TIME)) * MASK[:, None]).astype(
    "float32"
)
KINDS = [kind for kind in COVERAGES if kind]


def built(kind, **kwargs):
    if kind == "convolution":
        kwargs = {"filters": 3, "kernel_size": 3, **kwargs}
    if kind == "grid":
        kwargs = {"filters": 3, "kernel_size": 3, "grid_height": 2, **kwargs}
    layer = COVERAGES.get(kind, **kwargs)
    layer.build(KEYS.shape)
    return extract.randomize(layer)


def marked(layer, keys=KEYS):
    """Return a function of all weights that returns the keys at each step."""

    def function(weights, mask):
        def step(state, weights):
            return layer.add_to(keys, state), layer.remember(state, weights)

        return steps.looped(step, layer.initial_state(steps.memory(mask)), weights)

    return function


def coverage(layer, weights):
    """Return V C_{i-1} for a sentence, where C_ij = C_{i-1,j} + alpha_ij."""
    (V,) = extract.arrays(layer.projection)
    before = [weights[:i].sum(axis=0) for i in range(len(weights))]
    return np.array([[c * V[0] for c in C] for C in before])


def convolution(layer, weights):
    """Return U (F * alpha_{i-1}) for a sentence, with zeros around it and before step 1."""
    (F,), (U,) = extract.arrays(layer.convolution), extract.arrays(layer.projection)
    size = len(F)
    before = (size - 1) // 2  # positions to the left of the centre
    features = []
    seen = weights
    for last in [np.zeros(weights.shape[1]), *seen[:-1]]:
        padded = np.pad(last, size)
        windows = [padded[size + j - before :][:size] for j in range(len(last))]
        features.append([window @ F[:, 0] @ U for window in windows])
    return np.array(features)


@pytest.mark.few(3)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 15])
def test_convolution_is_that_of_the_last_weights(run, size):
    layer = built("convolution", kernel_size=size)
    found = run(marked(layer), WEIGHTS, MASK)
    for row in range(len(LENGTHS)):
        expected = KEYS[row] + convolution(layer, WEIGHTS[row].astype("float64"))
        np.testing.assert_allclose(found[row], expected, atol=1e-5)


def grid(layer, weights):
    """Return U_f (Q * sum of previous weights) for a sentence, with zeros around the grid."""
    (Q,), (U,) = extract.arrays(layer.convolution), extract.arrays(layer.projection)
    wide, high, height = *Q.shape[:2], layer.grid_height
    left, above = (wide - 1) // 2, (high - 1) // 2
    features = np.zeros((*weights.shape, len(Q[0, 0, 0])))
    for i, so_far in enumerate(weights[:i].sum(axis=0) for i in range(len(weights))):
        for cell in range(len(so_far)):
            for dx in range(-left, wide - left):
                for dy in range(-above, high - above):
                    x, y = cell // height + dx, cell % height + dy
                    other = x * height + y
                    if 0 <= y < height and 0 <= other < len(so_far):
                        features[i, cell] += so_far[other] * Q[dx + left, dy + above, 0]
    return features @ U


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("size", "height", "rows"),
    [(3, 2, 3), (5, 3, 5), (4, 3, 4), (5, 2, 3), (3, 6, 3), (3, 4, 3), (2, 1, 1)],
)
def test_coverage_of_a_grid_is_a_convolution_of_two_axes(run, size, height, rows):
    """This includes an incomplete last column: six positions in columns of four."""
    layer = built("grid", kernel_size=size, grid_height=height)
    assert layer.convolution.kernel.shape == (size, rows, 1, 3)
    found = run(marked(layer), WEIGHTS, MASK)
    for row in range(len(LENGTHS)):
        expected = KEYS[row] + grid(layer, WEIGHTS[row].astype("float64"))
        np.testing.assert_allclose(found[row], expected, atol=1e-5)


def test_a_grid_of_one_row_is_a_convolution_along_the_source(run):
    layer, flat = built("grid", grid_height=1), built("convolution")
    flat.set_weights([layer.convolution.kernel[:, 0], layer.projection.kernel])
    so_far = np.cumsum(WEIGHTS, axis=1)[:, 2]
    np.testing.assert_allclose(run(layer.features, so_far), run(flat.features, so_far), atol=1e-6)


def test_coverage_is_the_sum_of_the_weights_so_far(run):
    layer = built("sum")
    found = run(marked(layer), WEIGHTS, MASK)
    for row in range(len(LENGTHS)):
        expected = KEYS[row] + coverage(layer, WEIGHTS[row].astype("float64"))
        np.testing.assert_allclose(found[row], expected, atol=1e-5)


def test_without_location_the_keys_stay_as_they_are():
    layer = built(None)
    assert isinstance(layer, NoCoverage) and layer.weights == []
    assert layer.initial_state(steps.memory(MASK)) == layer.remember((), WEIGHTS[:, 0]) == ()
    assert layer.add_to(KEYS, ()) is KEYS


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_is_the_same_alone_and_in_a_batch_padded_further(run, kind):
    layer = built(kind)
    found = run(marked(layer), WEIGHTS, MASK)
    wide = run(
        marked(layer, np.pad(KEYS, ((0, 0), (0, 3), (0, 0)))),
        np.pad(WEIGHTS, ((0, 0), (0, 0), (0, 3))),
        np.pad(MASK, ((0, 0), (0, 3))),
    )
    np.testing.assert_allclose(wide[:, :, :SOURCE_TIME], found, atol=1e-6)
    alone = run(marked(layer, KEYS[1:2, :3]), WEIGHTS[1:2, :, :3], MASK[1:2, :3])
    np.testing.assert_allclose(alone, found[1:2, :, :3], atol=1e-6)


@pytest.mark.parametrize("kind", COVERAGES)
def test_each_row_of_a_beam_has_the_keys_it_has_alone(run, kind):
    layer = built(kind)
    state = RANDOM.uniform(size=WEIGHTS.shape).astype("float32") if kind else ()
    keys = run(layer.add_to, KEYS, state)
    after = run(layer.remember, state, WEIGHTS)
    for n in range(TARGET_TIME if kind else 0):
        one = run(layer.add_to, KEYS, state[:, n])
        np.testing.assert_allclose(keys[:, n], one, atol=1e-6)
        one = run(layer.remember, state[:, n], WEIGHTS[:, n])
        np.testing.assert_array_equal(after[:, n], one)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_of_xla_gives_the_same_and_every_weight_learns(kind):
    layer = built(kind)

    def step(state, weights):
        last, keys = state
        shown = tf.reduce_sum(layer.add_to(keys, last) ** 2, axis=-1)
        return shown, (layer.remember(last, weights * shown), keys)

    state = (layer.initial_state(steps.memory(MASK)), tf.constant(KEYS))
    weights, variables = 0.1 * WEIGHTS, layer.trainable_variables
    expected = steps.gradients(steps.unrolled, step, state, weights, variables)
    found = steps.looped_by_xla(step, state, weights, variables)
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        assert np.all(np.isfinite(other)) and np.any(other)
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", COVERAGES)
def test_a_step_runs_in_litert(kind):
    layer = built(kind)

    def step(keys, state, weights):
        return layer.add_to(keys, state), layer.remember(state, weights)

    args = (KEYS[:1], WEIGHTS[:1, 0] if kind else (), WEIGHTS[:1, 1])
    expected = step(*tf.nest.map_structure(tf.convert_to_tensor, args))
    found = steps.litert(step, *args)
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("policy", ["float16", "bfloat16", "mixed_float16"])
def test_the_state_is_float32_under_every_policy(kind, policy):
    layer = built(kind, dtype=policy)
    state = layer.remember(layer.initial_state(steps.memory(MASK)), WEIGHTS[:, 0])
    assert state.dtype == "float32"
    keys = tf.cast(KEYS, layer.compute_dtype)
    found = layer(keys, state)
    assert found.dtype == layer.compute_dtype
    expected = built(kind)(KEYS, state)
    np.testing.assert_allclose(tf.cast(found, "float32"), expected, atol=0.05)


@pytest.mark.parametrize("kind", COVERAGES)
def test_it_is_written_down_and_read_back(kind):
    layer = built(kind, name="coverage")
    loaded = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert type(loaded) is type(layer) and loaded.get_config() == layer.get_config()
    if not loaded.built:
        loaded.build(KEYS.shape)
    loaded.set_weights(layer.get_weights())
    if kind:
        np.testing.assert_array_equal(
            marked(loaded)(tf.constant(WEIGHTS), MASK), marked(layer)(tf.constant(WEIGHTS), MASK)
        )


def test_a_location_has_a_known_name():
    with pytest.raises(
        ValueError,
        match="None, 'sum', 'convolution', 'grid'. Received: coverage=",
    ):
        COVERAGES.get("fertility")


@pytest.mark.parametrize("name", ["filters", "kernel_size"])
@pytest.mark.parametrize("value", [0, 1.5, None])
def test_sizes_must_be_positive_integers(name, value):
    with pytest.raises(ValueError, match=rf"`{name}`.*positive integer. Received: {name}="):
        LocationConvolution(**{name: value})


@pytest.mark.parametrize("name", ["filters", "kernel_size", "grid_height"])
@pytest.mark.parametrize("value", [0, 1.5, None])
def test_sizes_of_a_grid_must_be_positive_integers(name, value):
    with pytest.raises(ValueError, match=rf"`{name}`.*positive integer. Received: {name}="):
        GridCoverage(**{name: value})
