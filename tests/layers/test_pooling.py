"""AttentionPooling reduces a sequence to a vector as in the equations of Yang et al. (2016)."""

import keras
import numpy as np
import pytest

import keras_bahdanau as kb
from keras_bahdanau import layers

RANDOM = np.random.default_rng(16)
STEPS = RANDOM.normal(size=(3, 4, 6)).astype("float32")
LENGTHS = (4, 2, 0)
MASK = np.arange(4) < np.array(LENGTHS)[:, None]
IDS = np.array([[3, 4, 5], [1, 0, 0]])


def oracle(pooling, steps):
    """Return context and weights of one sequence by equations 8 to 10, in float64."""
    projection = pooling.attention.score.key_projection
    W, b = (np.asarray(weight, "float64") for weight in (projection.kernel, projection.bias))
    scores = np.tanh(steps @ W + b) @ np.asarray(pooling.query_vector, "float64")[0]
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    return weights @ steps, weights


def test_a_sequence_becomes_the_mean_of_the_paper(run):
    pooling = kb.AttentionPooling(5, bias_initializer="random_normal")
    context, weights = run(
        lambda steps, mask: pooling(steps, mask, return_attention_scores=True), STEPS, MASK
    )
    for row, length in enumerate(LENGTHS[:2]):
        expected = oracle(pooling, STEPS[row, :length].astype("float64"))
        np.testing.assert_allclose(context[row], expected[0], atol=1e-6)
        np.testing.assert_allclose(weights[row, :length], expected[1], atol=1e-6)
        assert not weights[row, length:].any()
    assert not context[2].any() and not weights[2].any()


@pytest.mark.few(3)
@pytest.mark.parametrize("options", [{}, {"query": "last"}, {"heads": 2}])
@pytest.mark.parametrize("score", ["additive", "dot", "general", "scaled-dot", "cosine", "concat"])
def test_each_score_query_and_heads_pool_a_sequence_after_loading_too(score, options, tmp_path):
    inputs = keras.Input((None, 6))
    pooling = kb.AttentionPooling(4, score, return_attention_scores=True, **options)
    outputs = pooling(keras.layers.Masking()(inputs))
    assert [output.shape for output in outputs] == [(None, 6), (None, None)]
    model = keras.Model(inputs, outputs)
    steps = STEPS * MASK[..., None]
    context, weights = model(steps)
    np.testing.assert_allclose(np.sum(weights, axis=1), [1, 1, 0], atol=1e-5)
    np.testing.assert_allclose(model(steps[1:2, :2])[0], context[1:2], atol=1e-6)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(steps)[0], context)


@pytest.mark.slow
def test_a_sequential_classifier_ignores_padding_and_learns():
    model = keras.Sequential(
        [
            keras.layers.Embedding(10, 6, mask_zero=True),
            keras.layers.Bidirectional(keras.layers.LSTM(4, return_sequences=True)),
            kb.AttentionPooling(5),
            keras.layers.Dense(1),
        ]
    )
    wide = np.pad(IDS, ((0, 0), (0, 4)))
    np.testing.assert_allclose(model(wide), model(IDS), atol=1e-6)
    np.testing.assert_allclose(model(IDS[1:, :1]), model(IDS)[1:], atol=1e-6)
    model.compile("adam", "mse")
    before = [weight.numpy() for weight in model.weights]
    model.fit(IDS, np.ones((2, 1)), verbose=0)
    after = [weight.numpy() for weight in model.weights]
    assert not any(np.array_equal(*pair) for pair in zip(before, after, strict=True))


@pytest.mark.parametrize("side", ["right", "left"])
def test_the_last_real_step_is_the_query(side):
    mask = MASK[:2] if side == "right" else MASK[:2, ::-1]
    last = STEPS[[0, 1], [3, 1] if side == "right" else [3, 3]]
    pooling = kb.AttentionPooling(5, "general", query="last")
    context = pooling(STEPS[:2], mask=mask)
    expected = pooling.attention(last, STEPS[:2], value_mask=mask)
    np.testing.assert_allclose(context, expected, atol=1e-6)


def test_two_of_them_are_a_hierarchical_attention():
    words = keras.Input((3, 4, 6))
    sentences = keras.layers.TimeDistributed(kb.AttentionPooling(5))(words)
    model = keras.Model(words, kb.AttentionPooling(5)(sentences))
    assert model(RANDOM.normal(size=(2, 3, 4, 6))).shape == (2, 6)


def test_the_mask_of_words_tells_which_sentences_are_real():
    """Keras' `TimeDistributed` returns the mask of its inputs, which has one axis too many."""
    ids = keras.Input((None, None), dtype="int32")
    words = keras.layers.Embedding(9, 6, mask_zero=True)(ids)
    sentences = keras.layers.TimeDistributed(kb.AttentionPooling(5))(words)
    outputs = kb.AttentionPooling(4, return_attention_scores=True)(sentences)
    model = keras.Model(ids, outputs)
    documents = np.array([[[3, 4, 5], [2, 0, 0]], [[1, 2, 0], [0, 0, 0]]])
    vectors, weights = model(documents)
    np.testing.assert_allclose(weights[1], [1, 0], atol=1e-6)
    wide, wide_weights = model(np.pad(documents, ((0, 0), (0, 1), (0, 2))))
    np.testing.assert_allclose(wide, vectors, atol=1e-6)
    np.testing.assert_allclose(wide_weights[:, :2], weights, atol=1e-6)
    assert not np.any(wide_weights[:, 2])


def test_a_grid_is_pooled_with_a_map_of_weights():
    pooling, grid = kb.AttentionPooling(5), STEPS.reshape(3, 2, 2, 6)
    context, weights = pooling(grid, return_attention_scores=True)
    assert weights.shape == (3, 2, 2)
    np.testing.assert_allclose(context, pooling(STEPS), atol=1e-6)


def test_regularizers_apply_to_the_query_and_the_projection():
    pooling = kb.AttentionPooling(5, kernel_regularizer="l2")
    pooling(STEPS)
    copy = kb.AttentionPooling.from_config(pooling.get_config())
    copy(STEPS)
    assert len(pooling.losses) == len(copy.losses) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"units": 0}, "`units`.*positive integer. Received: units=0"),
        ({"query": "first"}, "`query` must be one of 'learned', 'last'"),
        ({"score": "bahdanu"}, "`attention` must be one of"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        kb.AttentionPooling(**{"units": 5, **arguments})


def test_one_vector_a_row_is_refused():
    with pytest.raises(ValueError, match="return_sequences=True") as error:
        keras.Sequential([keras.Input((4, 6)), keras.layers.LSTM(3), kb.AttentionPooling(5)])
    assert "\n" not in str(error.value)
    assert layers.AttentionPooling is kb.AttentionPooling


@pytest.mark.parametrize(
    ("inputs", "mask", "message"),
    [
        ([STEPS, STEPS[:, 0]], None, "one tensor. Received: a list of 2 tensors.*return_state"),
        (STEPS, MASK[:, :3], r"`mask` must be \(batch, source_time\)"),
        (STEPS, np.array(LENGTHS), "For lengths, pass ops.arange"),
    ],
)
def test_wrong_inputs_are_refused_in_one_line(inputs, mask, message):
    with pytest.raises(ValueError, match=message) as error:
        kb.AttentionPooling(5)(inputs, mask=mask)
    assert "\n" not in str(error.value)
