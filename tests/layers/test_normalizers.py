"""Normalizers: masked softmax, and monotonic alignment compared with its stochastic process."""

import itertools

import extract
import keras
import numpy as np
import pytest
import steps
import tensorflow as tf
from modes import eager_is_slow
from reference import sigmoid, softmax

from keras_bahdanau.layers.attention.monotonic import Monotonic, MonotonicChunkwise
from keras_bahdanau.layers.attention.normalizers import Hardmax, Softmax, masked_softmax
from keras_bahdanau.layers.registry import NORMALIZERS

RANDOM = np.random.default_rng(6)
LENGTHS = (5, 3, 1, 0)
SOURCE_TIME, TARGET_TIME = 5, 4
MASK = np.arange(SOURCE_TIME) < np.array(LENGTHS)[:, None]
SCORES = (2 * RANDOM.normal(size=(len(LENGTHS), TARGET_TIME, SOURCE_TIME))).astype("float32")
KINDS = sorted(NORMALIZERS)
STATELESS = ("softmax", "softmax-sharp", "sigmoid")
WITH_GAPS = np.array([[True, False, True, False, True]])
ALL_ALLOWED = np.ones((1, SOURCE_TIME), bool)


def built(kind, **kwargs):
    normalizer = NORMALIZERS.get(kind, **kwargs)
    normalizer.build()
    return normalizer


def monotonic(hard=False, r=-0.7, **kwargs):
    normalizer = Monotonic(hard=hard, offset=r, **kwargs)
    normalizer.build()
    return normalizer


def alignment(normalizer, training=False):
    """Return a function of all scores and the mask that returns the weights of every step."""

    def function(scores, mask):
        def step(state, scores):
            return normalizer.align(scores, mask, state, training=training)

        return steps.looped(step, normalizer.initial_state(steps.memory(mask)), scores)

    return function


def recursion(probabilities, last):
    """alpha_j = p_j q_j,  q_j = (1 - p_{j-1}) q_{j-1} + alpha_{i-1,j}."""
    alpha, q, passed = np.zeros(len(last)), 0.0, 0.0
    for j, p in enumerate(probabilities):
        q = passed * q + last[j]
        alpha[j], passed = p * q, 1 - p
    return alpha


def walk(stops):
    """Return the position where each step stops, or None, for draws `(target_time, source_time)`.

    A step that doesn't stop has left the sentence, and no later step stops.
    """
    place, found = 0, []
    for row in stops:
        ahead = [] if place is None else [j for j in range(place, len(row)) if row[j]]
        place = ahead[0] if ahead else None
        found.append(place)
    return found


def expected_walk(probabilities):
    """Return the probability of each position at each step, as a sum over all possible draws."""
    alpha = np.zeros(probabilities.shape)
    for draws in itertools.product([0, 1], repeat=probabilities.size):
        draws = np.reshape(draws, probabilities.shape)
        chance = np.prod(np.where(draws, probabilities, 1 - probabilities))
        for i, j in enumerate(walk(draws)):
            if j is not None:
                alpha[i, j] += chance
    return alpha


def test_softmax_is_over_the_allowed_places(run):
    weights = run(alignment(built("softmax")), SCORES, MASK)
    assert weights.dtype == np.float32
    for row, length in enumerate(LENGTHS):
        np.testing.assert_array_equal(weights[row, :, length:], 0)
        for t in range(TARGET_TIME if length else 0):
            expected = softmax(SCORES[row, t, :length].astype("float64"))
            np.testing.assert_allclose(weights[row, t, :length], expected, atol=1e-6)


def test_sharp_softmax_is_that_of_scores_as_many_times_as_large(run):
    weights = run(alignment(built("softmax-sharp")), SCORES, MASK)
    expected = run(alignment(built("softmax")), 2 * SCORES, MASK)
    np.testing.assert_allclose(weights, expected, atol=1e-6)
    assert np.max(weights[0]) > np.max(run(alignment(built("softmax")), SCORES, MASK)[0])


def test_sigmoid_is_normalized_over_the_allowed_places(run):
    scores = SCORES.copy()
    scores[0, 0] = [-200, -201, 50, -600, 0]
    weights = run(alignment(built("sigmoid")), scores, MASK)
    for row, length in enumerate(LENGTHS):
        np.testing.assert_array_equal(weights[row, :, length:], 0)
        for t in range(TARGET_TIME if length else 0):
            shares = sigmoid(scores[row, t, :length].astype("float64"))
            np.testing.assert_allclose(weights[row, t, :length], shares / shares.sum(), atol=1e-6)
    far = run(alignment(built("sigmoid")), np.full((1, 1, 5), -300, "float32"), ALL_ALLOWED)
    np.testing.assert_allclose(far, 0.2, atol=1e-6)


def chunkwise(alpha, energy, width):
    """beta_j = sum_{k=j}^{j+w-1} alpha_k exp(u_j) / sum_{l=k-w+1}^k exp(u_l)."""
    beta = np.zeros(len(alpha))
    for k, share in enumerate(alpha):
        first = max(0, k - width + 1)
        beta[first : k + 1] += share * softmax(energy[first : k + 1])
    return beta


def mocha(width, hard=False, r=-0.7, g=0.6, **kwargs):
    normalizer = MonotonicChunkwise(width, hard=hard, offset=r, **kwargs)
    normalizer.build()
    normalizer.g.assign(g)
    return normalizer


@eager_is_slow
@pytest.mark.few(1)
@pytest.mark.parametrize("width", [1, 2, 3, 8])
def test_mocha_in_expectation_is_the_sum_of_the_paper(run, width):
    weights = run(alignment(mocha(width)), SCORES, MASK)
    for row, length in enumerate(LENGTHS):
        last = np.eye(SOURCE_TIME)[0]
        for t in range(TARGET_TIME):
            scores = SCORES[row, t].astype("float64")
            last = recursion(np.where(MASK[row], sigmoid(scores - 0.7), 0), last)
            expected = chunkwise(last[:length], 0.6 * scores[:length], width)
            np.testing.assert_allclose(weights[row, t, :length], expected, atol=1e-6)
            np.testing.assert_array_equal(weights[row, t, length:], 0)


@pytest.mark.slow
def test_mocha_of_one_place_is_monotonic(run):
    for hard in (False, True):
        found = run(alignment(mocha(1, hard)), SCORES, MASK)
        np.testing.assert_allclose(found, run(alignment(monotonic(hard)), SCORES, MASK), atol=1e-6)


def test_hard_mocha_looks_back_from_the_place_where_it_stops(run):
    third = np.log(3)  # exp(third) = 3 exp(0)
    scores = np.array(
        [
            [
                [-1, third - 1, -1, -1, 1],
                [9, -1, -1, third - 1, 9],
                [-1, -1, -1, -1, -1],
            ]
        ],
        "float32",
    )
    weights = run(alignment(mocha(3, hard=True, r=0.0, g=1.0)), scores, ALL_ALLOWED)
    expected = [
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],  # doesn't stop
    ]
    expected[0][:2] = [1 / 4, 3 / 4]  # stops at 1, where the chunk has only two positions
    expected[1][1:4] = [1 / 5, 1 / 5, 3 / 5]  # stops at 3, and looks back to 1
    np.testing.assert_allclose(weights[0], expected, atol=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("width", [2, 4])
def test_hard_and_expected_mocha_agree_where_all_is_decided(run, width):
    scores = np.where(SCORES > 0, 40, -40).astype("float32") + SCORES
    soft, hard = (
        run(alignment(mocha(width, hard, r=0.0, g=0.02)), scores, MASK) for hard in (False, True)
    )
    stopped = hard.sum(axis=-1) > 0.5  # they differ after a step without a stop
    stopped = np.cumprod(stopped, axis=-1) > 0
    assert stopped.sum() > 4
    np.testing.assert_allclose(soft[stopped], hard[stopped], atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_masked_softmax_of_large_scores_is_finite(run, dtype):
    scores = tf.cast([[1e4, -1e4, 3e4], [-3e4, -3e4, 3e4], [3e4, 3e4, 3e4]], dtype)
    mask = np.array([[True, True, False], [True, True, False], [False] * 3])
    found = run(masked_softmax, scores, mask)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 0]])


def test_masked_softmax_without_a_mask_counts_every_place(run):
    found = run(masked_softmax, SCORES)
    np.testing.assert_allclose(found, softmax(SCORES.astype("float64")), atol=1e-6)


@eager_is_slow
@pytest.mark.parametrize("mask", [MASK, MASK & WITH_GAPS], ids=["padding", "gaps"])
def test_soft_alignment_is_the_recursion_of_the_paper(run, mask):
    weights = run(alignment(monotonic()), SCORES, mask)
    assert weights.dtype == np.float32
    for row in range(len(LENGTHS)):
        last = np.eye(SOURCE_TIME)[0]
        for t in range(TARGET_TIME):
            probabilities = np.where(mask[row], sigmoid(SCORES[row, t] - 0.7), 0)
            last = recursion(probabilities, last)
            np.testing.assert_allclose(weights[row, t], last, atol=1e-6)
            np.testing.assert_array_equal(weights[row, t, ~mask[row]], 0)


def test_soft_alignment_is_the_expectation_over_all_walks(run):
    scores = SCORES[:1, :3, :3]
    weights = run(alignment(monotonic()), scores, np.ones((1, 3), bool))
    expected = expected_walk(sigmoid(scores[0].astype("float64") - 0.7))
    np.testing.assert_allclose(weights[0], expected, atol=1e-6)


def test_hard_alignment_stops_at_the_first_probable_place_from_the_last_one_on(run):
    scores = (3 * RANDOM.normal(size=(40, 6, 5))).astype("float32")
    lengths = RANDOM.integers(0, 6, 40)
    mask = np.arange(5) < lengths[:, None]
    weights = run(alignment(monotonic(hard=True)), scores, mask)
    for row, length in enumerate(lengths):
        place = 0
        for t in range(6):
            ahead = [j for j in range(place, length) if sigmoid(scores[row, t, j] - 0.7) > 0.5]
            place = ahead[0] if ahead else place
            expected = np.eye(5)[place] if ahead else np.zeros(5)
            np.testing.assert_array_equal(weights[row, t], expected)


def test_where_no_place_is_probable_the_place_stays(run):
    scores = np.array([[[-9, -9, 9, -9], [9, 9, -9, -9], [9, 9, 9, 9]]], "float32")
    weights = run(alignment(monotonic(hard=True)), scores, np.ones((1, 4), bool))
    np.testing.assert_array_equal(weights, [[[0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]]])


def test_in_training_the_hard_alignment_is_the_soft_one(run):
    soft = run(alignment(monotonic()), SCORES, MASK)
    found = run(alignment(monotonic(hard=True, score_noise=0.0), training=True), SCORES, MASK)
    np.testing.assert_array_equal(found, soft)


def test_alignments_of_extreme_scores_are_exact(run):
    scores = np.array([[[-1e4, 1e4, 1e4], [1e4, -1e4, 1e4], [1e4, 1e4, -1e4]]], "float32")
    expected = [[[0, 1, 0], [0, 0, 1], [0, 0, 0]]]
    for hard in (False, True):
        weights = run(alignment(monotonic(hard)), scores, np.ones((1, 3), bool))
        np.testing.assert_allclose(weights, expected, atol=1e-6)


def test_a_long_sentence_of_decided_scores_keeps_its_digits(run):
    scores = np.where(np.arange(400) < 390, 30.0, -0.5)[None].astype("float32")
    last = np.eye(400)[390:391].astype("float32")
    found, _ = run(monotonic(r=0.0).align, scores, np.ones((1, 400), bool), last)
    expected = recursion(sigmoid(scores[0].astype("float64")), last[0])
    np.testing.assert_allclose(found[0], expected, atol=2e-4)


@pytest.mark.parametrize(
    "normalizer", [monotonic(score_noise=1.5), monotonic(hard=True, score_noise=1.5)]
)
def test_training_adds_noise_to_the_scores(normalizer):
    scores = np.full((4000, 1), 0.2, "float32")
    mask = np.ones((4000, 1), bool)
    p, _ = normalizer.align(scores, mask, mask.astype("float32"), training=True)
    noise = np.log(p / (1 - p)) - (0.2 - 0.7)
    assert abs(np.mean(noise)) < 0.1 and abs(np.std(noise) - 1.5) < 0.1
    again, _ = normalizer.align(scores, mask, mask.astype("float32"), training=True)
    assert not np.any(np.isclose(p, again, atol=1e-7).all())


def test_inference_draws_nothing():
    for normalizer in (monotonic(score_noise=5.0), monotonic(hard=True, score_noise=5.0)):
        before = np.asarray(normalizer.random.state)
        once, again = (alignment(normalizer)(tf.constant(SCORES), MASK) for _ in range(2))
        np.testing.assert_array_equal(once, again)
        np.testing.assert_array_equal(normalizer.random.state, before)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
def test_more_padding_changes_nothing(run, kind):
    normalizer = built(kind)
    wide = np.pad(SCORES, ((0, 0), (0, 0), (0, 3)), constant_values=50.0)
    weights = run(alignment(normalizer), SCORES, MASK)
    found = run(alignment(normalizer), wide, np.pad(MASK, ((0, 0), (0, 3))))
    np.testing.assert_allclose(found[..., :SOURCE_TIME], weights, atol=1e-6)
    np.testing.assert_array_equal(found[..., SOURCE_TIME:], 0)


@pytest.mark.parametrize("kind", KINDS)
def test_each_row_of_a_beam_is_aligned_as_it_is_alone(run, kind):
    normalizer = built(kind)
    state = RANDOM.dirichlet(np.ones(SOURCE_TIME), SCORES.shape[:2]).astype("float32")
    if kind in ("monotonic-hard", "mocha-hard"):
        state = np.eye(SOURCE_TIME, dtype="float32")[RANDOM.integers(0, 5, SCORES.shape[:2])]
    stateful = kind not in STATELESS
    allowed = MASK[:, None]
    weights, after = run(normalizer.align, SCORES, allowed, state if stateful else ())
    for n in range(TARGET_TIME):
        one = run(normalizer.align, SCORES[:, n], MASK, state[:, n] if stateful else ())
        np.testing.assert_allclose(weights[:, n], one[0], atol=1e-6)
        if stateful:
            np.testing.assert_allclose(after[:, n], one[1], atol=1e-6)


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("training", [False, True])
def test_gradients_are_finite_and_none_comes_from_padding(kind, training):
    normalizer = built(kind)

    def step(state, scores):
        return normalizer.align(scores, MASK, state, training=training)

    state = normalizer.initial_state(steps.memory(MASK))
    scores = SCORES * np.array([1, 1, 1e4, 1e4], "float32")[:, None, None]
    _, (by_scores, *by_weights) = steps.gradients(
        steps.unrolled, step, state, scores, normalizer.trainable_variables
    )
    if kind == "monotonic-hard" and not training:
        assert by_scores is None  # a decision has no gradient
        return
    assert np.all(np.isfinite(by_scores)) and np.any(by_scores)
    assert not np.any(np.asarray(by_scores)[~np.broadcast_to(MASK[:, None], SCORES.shape)])
    assert len(by_weights) == (0 if kind in STATELESS else 2 if "mocha" in kind else 1)
    if kind == "mocha-hard" and not training:
        assert by_weights.pop(0) is None  # r, for the same reason
    assert all(np.isfinite(gradient) and gradient != 0 for gradient in by_weights)


@pytest.mark.slow
def test_gradients_of_the_soft_alignment_are_those_of_finite_differences():
    function = alignment(monotonic())

    def loss(scores):
        return tf.reduce_sum(function(scores, ALL_ALLOWED) ** 2)

    analytic, numeric = tf.test.compute_gradient(loss, [tf.constant(SCORES[:1])], delta=1e-2)
    np.testing.assert_allclose(analytic[0], numeric[0], atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("training", [False, True])
def test_a_loop_of_xla_gives_the_same_and_the_same_gradients(kind, training):
    normalizer = built(kind, **({} if kind in STATELESS else {"score_noise": 0.0}))

    def step(state, scores):
        state, mask = state
        weights, state = normalizer.align(scores, mask, state, training=training)
        return weights + 0 * scores, (state, mask)

    state = (normalizer.initial_state(steps.memory(MASK)), tf.convert_to_tensor(MASK))
    variables = normalizer.trainable_variables
    expected = steps.gradients(steps.unrolled, step, state, SCORES, variables)
    found = steps.looped_by_xla(step, state, SCORES, variables)
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        if other is not None:
            np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.slow
def test_a_loop_of_xla_draws_new_noise_at_each_step():
    normalizer = monotonic()

    def step(state, scores):
        mask, first = state
        weights, _ = normalizer.align(scores, mask, first, training=True)
        return weights, state

    mask = tf.ones((3, 2), "bool")
    state = (mask, normalizer.initial_state(steps.memory(mask)))
    outputs, gradients = steps.looped_by_xla(
        step, state, np.zeros((3, 6, 2), "float32"), normalizer.trainable_variables
    )
    assert len(np.unique(outputs[..., 0])) == 18
    assert all(np.all(np.isfinite(gradient)) for gradient in gradients)


@pytest.mark.slow
@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_step_runs_in_litert(kind):
    normalizer = built(kind)
    scores = np.array([[-1e4, 0.3, 1e4, 2.0, -0.4]], "float32")
    state = () if kind in STATELESS else np.eye(SOURCE_TIME, dtype="float32")[1:2]
    args = (scores, ALL_ALLOWED & [[True] * 4 + [False]], state)
    expected = normalizer.align(*tf.nest.map_structure(tf.convert_to_tensor, args))
    for found, one in zip(steps.litert(normalizer.align, *args), expected, strict=True):
        np.testing.assert_allclose(found, one, atol=1e-6)


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("policy", ["float16", "bfloat16", "mixed_float16"])
def test_weights_are_float32_under_every_policy(kind, policy):
    normalizer = built(kind, dtype=policy)
    state = normalizer.initial_state(steps.memory(MASK))
    weights, after = normalizer(tf.constant(SCORES[:, 0]), tf.constant(MASK), state)
    expected, _ = built(kind).align(tf.constant(SCORES[:, 0]), MASK, state)
    np.testing.assert_array_equal(weights, expected)
    assert all(leaf.dtype == "float32" for leaf in tf.nest.flatten((weights, after)))


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_written_down_and_read_back(kind):
    options = {} if kind in STATELESS else {"score_noise": 0.5, "offset": -2.0}
    options |= {"width": 3} if "mocha" in kind else {}
    normalizer = extract.randomize(built(kind, name="normalizer", **options))
    loaded = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(normalizer))
    assert type(loaded) is type(normalizer) and loaded.get_config() == normalizer.get_config()
    assert loaded.get_config().items() >= options.items()
    if not loaded.built:
        loaded.build()
    loaded.set_weights(normalizer.get_weights())
    scores = tf.constant(SCORES)
    np.testing.assert_array_equal(
        alignment(loaded)(scores, MASK), alignment(normalizer)(scores, MASK)
    )


def test_hardmax_takes_the_first_of_the_largest_scores(run):
    scores = np.array([[1.0, 3.0, 3.0], [9.0, 0.0, -1.0], [1.0, 2.0, 3.0]], "float32")
    mask = np.array([[1, 1, 1], [0, 1, 1], [0, 0, 0]], bool)
    weights = run(alignment(Hardmax()), scores[:, None], mask)
    np.testing.assert_array_equal(weights[:, 0], [[0, 1, 0], [0, 1, 0], [0, 0, 0]])


def test_the_names_are_classes():
    assert isinstance(NORMALIZERS.get("softmax"), Softmax)
    assert [NORMALIZERS.get(kind).hard for kind in ("monotonic", "monotonic-hard")] == [False, True]


@pytest.mark.parametrize("beta", [0, -1, float("nan"), None, 1e9])
def test_sharpness_is_a_number_above_zero(beta):
    with pytest.raises(
        ValueError, match=r"`beta` must be a number in \(0, 1000\]. Received: beta="
    ):
        Softmax(beta=beta)


@pytest.mark.parametrize("width", [0, 1.5, None, 101])
def test_the_width_of_a_chunk_is_a_positive_integer(width):
    with pytest.raises(ValueError, match="`width`, the positions of a chunk, .* Received: width="):
        MonotonicChunkwise(width=width)


def test_a_normalizer_has_a_known_name():
    with pytest.raises(ValueError, match="'mocha-hard'. Received: normalizer='sparsemax'"):
        NORMALIZERS.get("sparsemax")


@pytest.mark.parametrize("noise", [-1, float("nan"), "much", True])
def test_noise_must_not_be_negative(noise):
    with pytest.raises(ValueError, match="`score_noise`.* at least 0. Received: score_noise="):
        Monotonic(score_noise=noise)


@pytest.mark.parametrize("offset", [float("inf"), None, True])
def test_offset_must_be_a_number(offset):
    with pytest.raises(ValueError, match="`offset`.* must be a number. Received: offset="):
        Monotonic(offset=offset)
