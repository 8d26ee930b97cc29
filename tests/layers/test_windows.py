"""Windows (the positions that a step may attend to) match their definitions in plain Python."""

import extract
import keras
import numpy as np
import pytest
import steps
import tensorflow as tf
from reference import sigmoid

from keras_bahdanau.layers.attention.windows import LocalMedian, LocalMonotonic, LocalPredictive
from keras_bahdanau.layers.registry import WINDOWS

RANDOM = np.random.default_rng(5)
LENGTHS = (6, 3, 1, 0)
SOURCE_TIME = 6
MASK = np.arange(SOURCE_TIME) < np.array(LENGTHS)[:, None]
QUERIES = RANDOM.normal(size=(len(LENGTHS), 8, 5)).astype("float32")  # more steps than positions
GAPS = np.array([[True] + [False] * 8 + [True]] * len(LENGTHS))


PLACED = ("local-m", "local-median")  # with a position as their state


def built(kind, **kwargs):
    kwargs = {"width": 2, **kwargs} if kind != "everywhere" else kwargs
    window = WINDOWS.get(kind, **kwargs)
    window.build((None, QUERIES.shape[-1]))
    return extract.randomize(window)


def restrictions(window, scale=1.0):
    """Return a function of all queries and the mask: inside and gaussian of each step."""

    def function(queries, mask):
        state, seen = window.initial_state(steps.memory(mask)), []
        for t in range(QUERIES.shape[1]):
            inside, gaussian, state = window.restrict(scale * queries[:, t], mask, state)
            seen.append((inside, tf.broadcast_to(gaussian, tf.shape(inside))))
        inside, gaussian = zip(*seen, strict=True)
        return tf.stack(inside, axis=1), tf.stack(gaussian, axis=1)

    return function


def predicted(window, query, length):
    """Return p_t = S sigmoid(v^T tanh(W h_t))."""
    (W,), (v,) = extract.arrays(window.projection), extract.arrays(window.v)
    return length * sigmoid(np.tanh(query @ W) @ v[:, 0])


def test_everywhere_is_every_real_token(run):
    inside, gaussian = run(restrictions(built("everywhere")), QUERIES, MASK)
    np.testing.assert_array_equal(inside, np.broadcast_to(MASK[:, None], inside.shape))
    np.testing.assert_array_equal(gaussian, 1)


@pytest.mark.parametrize("width", [1, 2, 10])
def test_local_m_moves_on_by_one_and_stays_at_the_last_token(run, width):
    inside, gaussian = run(restrictions(built("local-m", width=width)), QUERIES, MASK)
    np.testing.assert_array_equal(gaussian, 1)
    for row, length in enumerate(LENGTHS):
        for t in range(QUERIES.shape[1]):
            middle = min(t, length - 1)
            expected = [s < length and abs(s - middle) <= width for s in range(SOURCE_TIME)]
            np.testing.assert_array_equal(inside[row, t], expected)


@pytest.mark.parametrize("width", [1, 2, 10])
def test_local_p_is_a_gaussian_around_the_predicted_place(run, width):
    window = built("local-p", width=width)
    inside, gaussian = run(restrictions(window), QUERIES, MASK)
    assert gaussian.dtype == np.float32
    for row, length in enumerate(LENGTHS):
        for t, query in enumerate(QUERIES[row]):
            middle = predicted(window, query, length)
            for s in range(SOURCE_TIME):
                assert inside[row, t, s] == (s < length and abs(s - middle) <= width)
                expected = np.exp(-((s - middle) ** 2) / (2 * (width / 2) ** 2))
                np.testing.assert_allclose(gaussian[row, t, s], expected, atol=1e-5)


@pytest.mark.parametrize("width", [1, 2])
def test_local_median_is_around_the_median_of_the_last_weights(run, width):
    window = built("local-median", width=width)
    weights = np.random.default_rng(2).dirichlet(np.ones(SOURCE_TIME), (len(LENGTHS), 3))
    weights = (weights * MASK[:, None]).astype("float32")  # they don't have to sum to 1
    weights[0, 1] = 0  # like a monotonic alignment beyond the end: the window doesn't move

    def function(weights, mask):
        state, seen = window.initial_state(steps.memory(mask)), []
        for t in range(4):
            inside, gaussian, state = window.restrict(QUERIES[:, t], mask, state)
            seen.append(tf.cast(inside, "float32") * gaussian)
            if t < 3:
                state = window.remember(state, weights[:, t])
        return tf.stack(seen, axis=1)

    inside = run(function, weights, MASK)
    for row, length in enumerate(LENGTHS):
        middle = 0
        for t in range(4):
            expected = [s < length and abs(s - middle) <= width for s in range(SOURCE_TIME)]
            np.testing.assert_array_equal(inside[row, t], expected)
            if t < 3 and weights[row, t].any():
                shares = np.cumsum(weights[row, t].astype(float))
                middle = next(j for j, share in enumerate(shares) if share >= shares[-1] / 2)
    assert not np.array_equal(inside[0, 0], inside[0, 1])


def test_local_median_moves_with_each_beam():
    window = built("local-median", width=1)
    weights = tf.one_hot([[4, 0], [1, 2]], SOURCE_TIME)  # (batch, beam, source_time)
    np.testing.assert_array_equal(window.remember(tf.zeros((2, 2)), weights), [[4, 0], [1, 2]])


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", WINDOWS)
@pytest.mark.parametrize("mask", [MASK, GAPS], ids=["padding", "gaps"])
def test_a_sentence_with_a_real_token_has_a_window(run, kind, mask):
    width = {} if kind == "everywhere" else {"width": 1}
    inside, _ = run(restrictions(built(kind, **width), scale=100.0), QUERIES, mask)
    np.testing.assert_array_equal(inside.any(axis=-1), mask.any(axis=-1)[:, None].repeat(8, 1))
    assert not np.any(inside & ~mask[:, None])


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", WINDOWS)
def test_more_padding_changes_nothing(run, kind):
    window = built(kind)
    inside, gaussian = run(restrictions(window), QUERIES, MASK)
    wide, wide_factor = run(restrictions(window), QUERIES, np.pad(MASK, ((0, 0), (0, 3))))
    np.testing.assert_array_equal(wide, np.pad(inside, ((0, 0), (0, 0), (0, 3))))
    np.testing.assert_allclose(wide_factor[..., :SOURCE_TIME], gaussian, atol=1e-6)


@pytest.mark.parametrize("kind", WINDOWS)
def test_each_query_of_a_beam_is_answered_as_it_is_alone(run, kind):
    window = built(kind)
    beam = QUERIES[:, :3]
    places = np.array([[0, 1, 2], [5, 0, 1], [2, 2, 2], [0, 1, 0]], "float32")
    state = places if kind in PLACED else ()
    inside, gaussian, after = run(window.restrict, beam, MASK, state)
    shape = (4, 3, SOURCE_TIME)
    for n in range(3):
        one = places[:, n] if kind in PLACED else ()
        expected = run(window.restrict, beam[:, n], MASK, one)
        np.testing.assert_array_equal(np.broadcast_to(inside, shape)[:, n], expected[0])
        np.testing.assert_allclose(
            np.broadcast_to(gaussian, shape)[:, n],
            np.broadcast_to(expected[1], MASK.shape),
            atol=1e-6,
        )
        if kind in PLACED:
            np.testing.assert_array_equal(after[:, n], expected[2])


def weighted(window, mask):
    """Return a step function: the gaussian inside the window, and zero elsewhere."""

    def step(state, query):
        inside, gaussian, state = window.restrict(query, mask, state)
        return tf.where(inside, gaussian, 0.0), state

    return step


def test_every_weight_of_local_p_learns_through_the_factor():
    window = built("local-p")
    found = steps.gradients(
        steps.unrolled, weighted(window, MASK), (), QUERIES, window.trainable_variables
    )
    gradients = [np.asarray(gradient) for gradient in found[1]]
    assert len(gradients) == 3
    assert all(np.all(np.isfinite(gradient)) and np.any(gradient) for gradient in gradients)
    assert not np.any(gradients[0][LENGTHS.index(0)])


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("kind", WINDOWS)
def test_a_loop_of_xla_gives_the_same_and_the_same_gradients(kind):
    window = built(kind)
    state = (window.initial_state(steps.memory(MASK)), tf.convert_to_tensor(MASK))

    def step(state, query):
        state, mask = state
        inside, gaussian, state = window.restrict(query, mask, state)
        shown = tf.where(inside, gaussian, 0.0) * tf.reduce_sum(query, axis=-1, keepdims=True)
        return shown, (state, mask)

    variables = window.trainable_variables
    expected = steps.gradients(steps.unrolled, step, state, QUERIES, variables)
    found = steps.looped_by_xla(step, state, QUERIES, variables)
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", WINDOWS)
def test_a_step_runs_in_litert(kind):
    window = built(kind)
    state = np.array([2], "float32") if kind in PLACED else ()
    args = (QUERIES[1:2, 0], MASK[1:2], state)
    expected = window.restrict(*map(tf.convert_to_tensor, args[:2]), state)
    for found, one in zip(steps.litert(window.restrict, *args), expected, strict=True):
        np.testing.assert_allclose(found, one, atol=1e-6)


@pytest.mark.parametrize("kind", WINDOWS)
@pytest.mark.parametrize("policy", ["float16", "mixed_bfloat16"])
def test_positions_are_float32_under_every_policy(kind, policy):
    window = built(kind, dtype=policy)
    mask = tf.ones((1, 3000), "bool")
    state = window.initial_state(steps.memory(mask))
    if kind == "local-m":
        state += 2500.0  # adding 1 isn't exact in float16 or bfloat16
    query = tf.cast(QUERIES[:1, 0], window.compute_dtype)
    inside, gaussian, after = window(query, mask, state)
    if kind == "local-m":
        assert after.dtype == "float32" and float(after[0]) == 2501
        np.testing.assert_array_equal(np.flatnonzero(inside[0]), range(2498, 2503))
    if kind == "local-p":
        assert gaussian.dtype == "float32"


@pytest.mark.parametrize("kind", WINDOWS)
def test_it_is_written_down_and_read_back(kind):
    window = built(kind, name="window")
    config = keras.saving.serialize_keras_object(window)
    loaded = keras.saving.deserialize_keras_object(config)
    assert type(loaded) is type(window) and loaded.get_config() == window.get_config()
    loaded.set_weights(window.get_weights())
    for one, other in zip(
        restrictions(loaded)(tf.constant(QUERIES), MASK),
        restrictions(window)(tf.constant(QUERIES), MASK),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_a_window_has_a_known_name():
    with pytest.raises(ValueError, match="'local-p', 'local-median'. Received: window="):
        WINDOWS.get("local")


@pytest.mark.parametrize("new", [LocalMedian, LocalMonotonic, LocalPredictive])
@pytest.mark.parametrize("width", [0, 2.5, None])
def test_width_must_be_a_positive_integer(new, width):
    with pytest.raises(ValueError, match=r"`width`.*positive integer. Received: width="):
        new(width)
