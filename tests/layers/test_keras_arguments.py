"""Attention layers follow Keras' conventions for lists, names, masks, grids and errors."""

import keras
import modes
import numpy as np
import pytest
import tensorflow as tf

import keras_bahdanau as kb
from keras_bahdanau import layers

RANDOM = np.random.default_rng(74)
QUERY = RANDOM.normal(size=(2, 3, 6)).astype("float32")
VALUE = RANDOM.normal(size=(2, 4, 6)).astype("float32")
KEY = RANDOM.normal(size=(2, 4, 6)).astype("float32")
WIDE_KEY = RANDOM.normal(size=(2, 4, 7)).astype("float32")
GRID = RANDOM.normal(size=(2, 2, 3, 6)).astype("float32")
QUERY_MASK = np.array([[1, 1, 0], [1, 1, 1]], bool)
VALUE_MASK = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], bool)
KEY_MASK = np.array([[1, 0, 1, 1], [1, 1, 1, 1]], bool)
ATTENTION_MASK = np.array([[[1, 0, 1, 1], [1, 1, 0, 0], [1, 1, 1, 1]]] * 2, bool)
KINDS = {
    "Bahdanau": lambda: kb.BahdanauAttention(5),
    "heads": lambda: layers.MultiHeadAttention(kb.BahdanauAttention(3), 2),
    "Luong": lambda: layers.LuongAttention(),
    "dot": lambda: layers.Attention("dot"),
    "local-p": lambda: layers.LuongAttention(window="local-p"),
    "local-m": lambda: layers.LuongAttention(window="local-m"),
    "monotonic": lambda: kb.BahdanauAttention(5, normalizer="monotonic"),
    "coverage": lambda: kb.BahdanauAttention(5, coverage="sum"),
    "past": lambda: layers.PastAttention(kb.BahdanauAttention(5)),
    "hard": lambda: layers.HardAlignment(units=5, order=1),
}
every_kind = [pytest.mark.few(2), pytest.mark.parametrize("kind", KINDS)]


def each_kind(test):
    for mark in every_kind:
        test = mark(test)
    return test


def softmax(scores, real):
    """Softmax over real positions in float64; zeros if there are none."""
    powers = np.where(real, np.exp(scores - np.max(scores, where=real, initial=-1e9)), 0)
    total = powers.sum(axis=-1, keepdims=True)
    return np.divide(powers, total, out=np.zeros_like(powers), where=total > 0)


def oracle(attention, query, value, key, real):
    """Additive attention: context and weights; `real` is `(batch, target_time, source_time)`."""
    kernels = attention.score.query_projection.kernel, attention.score.key_projection.kernel
    w, u, v = (np.asarray(kernel, "float64") for kernel in (*kernels, attention.score.v))
    hidden = np.tanh((query @ w)[:, :, None] + (key @ u)[:, None])
    weights = softmax((hidden @ v)[..., 0], real)
    return weights @ value, weights


MASKS = {
    "none": {},
    "value": {"value_mask": VALUE_MASK},
    "query": {"query_mask": QUERY_MASK},
    "key": {"key": KEY, "key_mask": KEY_MASK},
    "a wide key": {"key": WIDE_KEY},
    "value and key": {"key": KEY, "value_mask": VALUE_MASK, "key_mask": KEY_MASK},
    "attention": {"attention_mask": ATTENTION_MASK},
    "attention of all sources": {"attention_mask": ATTENTION_MASK[0]},
    "causal": {"use_causal_mask": True},
    "all": {
        "key": WIDE_KEY,
        "query_mask": QUERY_MASK,
        "value_mask": VALUE_MASK,
        "key_mask": KEY_MASK,
        "attention_mask": ATTENTION_MASK[:, :1],
        "use_causal_mask": True,
    },
}


def real_positions(arguments):
    real = np.ones((2, 3, 4), bool)
    for name in ("value_mask", "key_mask"):
        real &= arguments.get(name, np.ones((2, 4), bool))[:, None]
    real = real & arguments.get("attention_mask", True)
    return real & np.tril(np.ones((3, 4), bool)) if "use_causal_mask" in arguments else real


@pytest.mark.parametrize("name", MASKS)
def test_weights_are_those_of_the_equations_under_each_mask(run, name):
    arguments, attention = MASKS[name], kb.BahdanauAttention(5)
    context, weights = run(
        lambda: attention(QUERY, VALUE, return_attention_scores=True, **arguments)
    )
    key = arguments.get("key", VALUE)
    expected = oracle(attention, QUERY, VALUE, key, real_positions(arguments))
    real_queries = arguments.get("query_mask", np.ones((2, 3), bool))[..., None]
    np.testing.assert_allclose(weights, expected[1], atol=1e-6)
    np.testing.assert_allclose(context, expected[0] * real_queries, atol=1e-6)


PRODUCTS = {
    "dot": lambda attention, query, key: query @ key.swapaxes(1, 2),
    "scaled-dot": lambda attention, query, key: query @ key.swapaxes(1, 2) / np.sqrt(6),
    "general": lambda attention, query, key: (
        query @ (key @ np.asarray(attention.score.key_projection.kernel, "float64")).swapaxes(1, 2)
    ),
}


@pytest.mark.parametrize("score", PRODUCTS)
@pytest.mark.parametrize("name", [name for name in MASKS if name not in ("a wide key", "all")])
def test_products_have_the_weights_of_the_equations_under_each_mask(name, score):
    arguments, attention = MASKS[name], layers.Attention(score)
    context, weights = attention(QUERY, VALUE, return_attention_scores=True, **arguments)
    key = np.float64(arguments.get("key", VALUE))
    scores = PRODUCTS[score](attention, np.float64(QUERY), key)
    expected = softmax(scores, real_positions(arguments))
    np.testing.assert_allclose(weights, expected, atol=1e-6)
    real_queries = arguments.get("query_mask", np.ones((2, 3), bool))[..., None]
    np.testing.assert_allclose(context, expected @ VALUE * real_queries, atol=1e-6)


def with_identity_projections():
    attention = kb.BahdanauAttention(6, kernel_initializer="identity")
    attention.build(QUERY.shape, VALUE.shape)
    return attention


def additive_pair():
    """Return Keras' `AdditiveAttention`, and ours with W = U = 1 and the same v."""
    stock, attention = keras.layers.AdditiveAttention(), with_identity_projections()
    stock.build([QUERY.shape, VALUE.shape])
    attention.score.v.assign(np.asarray(stock.scale)[:, None])
    return stock, attention


def dot_pair():
    return keras.layers.Attention(), layers.Attention("dot")


@pytest.mark.parametrize("pair", [additive_pair, dot_pair])
@pytest.mark.parametrize("name", [name for name in MASKS if name not in ("a wide key", "all")])
def test_stock_attention_gives_the_same_for_lists_and_names(name, pair):
    """Every row has a real position: Keras' layer gives an all-padding row uniform weights."""
    arguments = dict(MASKS[name])
    if "attention_mask" in arguments:
        return  # not supported by Keras' layer: see the next test
    arguments.pop("key_mask", None)  # not supported by Keras' layer
    stock, attention = pair()
    tensors = [QUERY, VALUE, *([arguments["key"]] if "key" in arguments else [])]
    options = {
        "mask": [arguments.get("query_mask"), arguments.get("value_mask")],
        "use_causal_mask": "use_causal_mask" in arguments,
        "return_attention_scores": True,
    }
    expected = stock(tensors, **options)
    for outputs in (
        attention(tensors, **options),
        attention(QUERY, VALUE, return_attention_scores=True, **arguments),
    ):
        for tensor, stock_tensor in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(tensor, stock_tensor, atol=1e-6)


@pytest.mark.parametrize("name", MASKS)
def test_one_stock_head_without_projections_gives_the_same(name):
    """`keras.layers.MultiHeadAttention` reads all masks; only queries with real positions count."""
    arguments = {**MASKS[name], **({"key": KEY} if "key" in MASKS[name] else {})}
    stock = keras.layers.MultiHeadAttention(1, 6, use_bias=False)
    stock.build(QUERY.shape, VALUE.shape)
    stock.set_weights([np.eye(6).reshape(weight.shape) for weight in stock.get_weights()])
    options = {**arguments, "return_attention_scores": True}
    expected = stock(QUERY, VALUE, **options)
    outputs = layers.Attention("scaled-dot")(QUERY, VALUE, **options)
    live = real_positions(arguments).any(axis=-1) & arguments.get("query_mask", True)
    assert live.sum() > 3
    np.testing.assert_allclose(outputs[0][live], expected[0][live], atol=1e-6)
    np.testing.assert_allclose(outputs[1][live], expected[1][:, 0][live], atol=1e-6)


def test_stock_attention_gives_the_same_with_the_masks_that_inputs_carry():
    stock, attention = additive_pair()
    ids = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    query, value = (keras.layers.Embedding(10, 6, mask_zero=True)(tensor) for tensor in ids)
    outputs = [layer([query, value], return_attention_scores=True) for layer in (stock, attention)]
    model = keras.Model(ids, outputs)
    for stock_tensor, tensor in zip(*model([IDS, WIDE_IDS]), strict=True):
        np.testing.assert_allclose(tensor, stock_tensor, atol=1e-6)
    assert outputs[1][0]._keras_mask is not None


@each_kind
def test_all_forms_of_a_call_are_one(kind):
    attention = KINDS[kind]()
    expected = attention(QUERY, VALUE, value_mask=VALUE_MASK)
    for context in (
        attention([QUERY, VALUE], mask=[None, VALUE_MASK]),
        attention([QUERY, VALUE], value_mask=VALUE_MASK),
        attention((QUERY, VALUE, VALUE), mask=[QUERY_MASK | True, VALUE_MASK, VALUE_MASK]),
        attention(query=QUERY, value=VALUE, mask=VALUE_MASK),
        attention(QUERY, values=VALUE, mask=VALUE_MASK),
        attention(QUERY, VALUE, VALUE_MASK),  # the order of earlier versions
        attention(QUERY, VALUE, None, None, VALUE_MASK, None, None, False, False, False),
        attention(QUERY, VALUE, attention_mask=VALUE_MASK[:, None]),
        attention(QUERY, VALUE, VALUE, key_mask=VALUE_MASK),
    ):
        np.testing.assert_allclose(context, expected, atol=1e-6)


def test_the_arguments_are_those_of_the_attention_of_keras():
    import inspect

    stock = inspect.signature(keras.layers.MultiHeadAttention.call).parameters
    assert list(inspect.signature(kb.BahdanauAttention.call).parameters) == list(stock)


@each_kind
def test_a_mask_for_each_query_counts_step_by_step(kind):
    attention = KINDS[kind]()
    causal = np.tril(np.ones((3, 4), bool))
    both = attention(QUERY, VALUE, use_causal_mask=True, return_attention_scores=True)
    masked = attention(QUERY, VALUE, attention_mask=causal, return_attention_scores=True)
    for tensor, expected in zip(both, masked, strict=True):
        np.testing.assert_allclose(tensor, expected, atol=1e-6)
    assert not np.asarray(both[1])[:, ~causal].any()
    first = attention(QUERY[:, 0], VALUE, attention_mask=causal[:1], return_attention_scores=True)
    np.testing.assert_allclose(both[0][:, 0], first[0], atol=1e-6)


def classifier(attention, as_list=False, encoder=keras.layers.LSTM):
    """Return a model from padded ids to predictions and weights."""
    ids = keras.Input((None,), dtype="int32")
    words = keras.layers.Embedding(10, 6, mask_zero=True)(ids)
    states, query = encoder(6, return_sequences=True)(words), keras.layers.GRU(6)(words)
    inputs = ([query, states],) if as_list else (query, states)
    context, weights = attention(*inputs, return_attention_scores=True)
    return keras.Model(ids, [keras.layers.Dense(2)(context), weights])


IDS = np.array([[3, 4, 5], [1, 0, 0]])
WIDE_IDS = np.pad(IDS, ((0, 0), (0, 4)))


def assert_padding_is_ignored(model):
    """Assert that padding has weight 0 and changes nothing, in a batch or alone."""
    short, wide, alone = (model(ids) for ids in (IDS, WIDE_IDS, IDS[1:, :1]))
    assert not np.asarray(wide[1])[WIDE_IDS == 0].any()
    np.testing.assert_allclose(wide[0], short[0], atol=1e-6)
    np.testing.assert_allclose(wide[0][1:], alone[0], atol=1e-6)


@each_kind
def test_padding_is_ignored_in_a_functional_model_and_after_loading(kind, tmp_path):
    for as_list in (False, True):
        model = classifier(KINDS[kind](), as_list)
        assert_padding_is_ignored(model)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(WIDE_IDS)[1], model(WIDE_IDS)[1])


def test_padding_is_ignored_in_a_subclassed_model():
    class Classifier(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = keras.layers.Embedding(10, 6, mask_zero=True)
            self.encoder = keras.layers.LSTM(6, return_sequences=True, return_state=True)
            self.attention = kb.BahdanauAttention(5)

        def call(self, ids):
            states, last, _ = self.encoder(self.embedding(ids))
            return self.attention([last, states], return_attention_scores=True)

    assert_padding_is_ignored(Classifier())


class LSTMWithoutMask(keras.layers.LSTM):
    """An LSTM whose output has no mask, as in Keras 3.16 and later."""

    def compute_mask(self, inputs, mask=None):
        return None


def test_a_mask_is_found_before_recurrent_layers_that_carry_none():
    assert_padding_is_ignored(classifier(kb.BahdanauAttention(5), encoder=LSTMWithoutMask))
    layers_of_model = [
        keras.layers.Embedding(10, 6, mask_zero=True),
        LSTMWithoutMask(6, return_sequences=True),
        keras.layers.Dropout(0.5),
        LSTMWithoutMask(6, return_sequences=True),
    ]
    ids = tensor = keras.Input((None,), dtype="int32")
    for layer in layers_of_model:
        tensor = layer(tensor)
    outputs = kb.AttentionPooling(5)(tensor, return_attention_scores=True)
    assert_padding_is_ignored(keras.Model(ids, outputs))


def test_an_explicit_mask_wins_over_that_of_the_inputs():
    ids = keras.Input((None,), dtype="int32")
    words = keras.layers.Embedding(10, 6, mask_zero=True)(ids)
    mask = keras.Input((None,), dtype="bool")
    attention = kb.BahdanauAttention(5)
    _, weights = attention(words, words, value_mask=mask, return_attention_scores=True)
    model = keras.Model([ids, mask], weights)
    every = np.ones(IDS.shape, bool)
    assert np.all(np.asarray(model([IDS, every])) > 0)


def test_the_mask_of_the_query_goes_on_with_the_context():
    ids = keras.Input((None,), dtype="int32")
    words = keras.layers.Embedding(10, 6, mask_zero=True)(ids)
    context = kb.BahdanauAttention(5)(words, keras.Input((4, 6)))
    assert context._keras_mask is not None
    stock = keras.layers.AdditiveAttention()
    masks = [QUERY_MASK, VALUE_MASK]
    np.testing.assert_array_equal(
        kb.BahdanauAttention(5).compute_mask([QUERY, VALUE], masks),
        stock.compute_mask([QUERY, VALUE], masks),
    )


@each_kind
def test_a_grid_is_attended_to_as_a_sequence_and_its_weights_are_a_map(kind):
    attention = KINDS[kind]()
    flat, mask = GRID.reshape(2, 6, 6), RANDOM.integers(0, 2, (2, 2, 3))
    expected = attention(QUERY, flat, value_mask=mask.reshape(2, 6), return_attention_scores=True)
    context, weights = attention(QUERY, GRID, value_mask=mask, return_attention_scores=True)
    assert weights.shape == (2, 3, 2, 3)
    np.testing.assert_allclose(context, expected[0], atol=1e-6)
    np.testing.assert_allclose(np.reshape(weights, (2, 3, 6)), expected[1], atol=1e-6)


def test_a_grid_of_unknown_size_goes_into_a_functional_model():
    image, query = keras.Input((None, None, 3)), keras.Input((6,))
    grid = keras.layers.Conv2D(6, 2, strides=2)(image)
    outputs = kb.BahdanauAttention(5)(query, grid, return_attention_scores=True)
    assert [output.shape for output in outputs] == [(None, 6), (None, None, None)]
    model = keras.Model([image, query], outputs)
    assert model([np.ones((2, 4, 8, 3)), QUERY[:, 0]])[1].shape == (2, 2, 4)


CALLS = {
    "`values`.*swapped": lambda layer: layer(QUERY, VALUE[:, 0]),
    "`values`.*or a grid": lambda layer: layer(QUERY[:, 0], VALUE[:, 0]),
    r"`query` must be \(batch, units\) or": lambda layer: layer(GRID, VALUE),
    "`query` must be .*units": lambda layer: layer(QUERY[0, 0], VALUE),
    "the same batch size": lambda layer: layer(QUERY[:1], VALUE),
    "`value` must be numeric.*str": lambda layer: layer(QUERY, np.full((2, 4, 6), "a")),
    "`query` must be numeric.*complex64": lambda layer: layer(QUERY * 1j, VALUE),
    "`value` must be dense.*row_lengths": lambda layer: layer(
        QUERY, tf.RaggedTensor.from_tensor(VALUE)
    ),
    r"`mask` must be \(batch, source_time\)": lambda layer: layer(
        QUERY, VALUE, value_mask=VALUE_MASK[:, :3]
    ),
    r"`mask` must be.*value_mask.shape=\(2,\).*For lengths, pass": lambda layer: layer(
        QUERY, VALUE, value_mask=np.array([3, 2])
    ),
    r"`mask` must be.*Pass mask\[..., 0\]": lambda layer: layer(
        QUERY, VALUE, value_mask=VALUE_MASK[..., None]
    ),
    r"`query_mask` must be \(batch, target_time\).*as value_mask=": lambda layer: layer(
        QUERY, VALUE, query_mask=VALUE_MASK
    ),
    r"`query_mask` must be \(batch,\)": lambda layer: layer(
        QUERY[:, 0], VALUE, query_mask=QUERY_MASK
    ),
    r"`attention_mask` must be \(batch, target_time, source_time\)": lambda layer: layer(
        QUERY, VALUE, attention_mask=ATTENTION_MASK[:, :2]
    ),
    "`key` must match `value` in all axes": lambda layer: layer(QUERY, VALUE, KEY[:, :2]),
    "`use_causal_mask=True` needs": lambda layer: layer(QUERY[:, 0], VALUE, use_causal_mask=True),
    "`mask` contains `value_mask`": lambda layer: layer(
        QUERY, VALUE, mask=VALUE_MASK, value_mask=VALUE_MASK
    ),
    "`values` is an alias": lambda layer: layer(QUERY, VALUE, values=VALUE),
    "needs `query` and `value`.*AttentionPooling, or": lambda layer: layer(VALUE),
    "a list of 1 tensors": lambda layer: layer([VALUE]),
    "A list of masks.*a list of 4": lambda layer: layer(QUERY, VALUE, mask=[None] * 4),
}


@pytest.mark.parametrize("message", CALLS)
def test_a_wrong_call_is_refused_in_one_line(message):
    for kind in ("Bahdanau", "heads", "monotonic"):
        with pytest.raises(ValueError, match=message) as error:
            CALLS[message](KINDS[kind]())
        assert "\n" not in str(error.value)


def test_a_wrong_rank_is_refused_when_the_model_is_built():
    states, last = keras.Input((6, 4)), keras.Input((4,))
    for kind in KINDS.values():
        with pytest.raises(ValueError, match=r"`values`.*value.shape=\(None, 4\)"):
            kind()(states, last)
    with pytest.raises(ValueError, match="AttentionPooling"):
        keras.Sequential([keras.Input((6, 4)), kb.BahdanauAttention(5)])


def test_projections_have_initializers_regularizers_and_constraints():
    options = {
        "kernel_initializer": keras.initializers.RandomNormal(stddev=0.5),
        "kernel_regularizer": keras.regularizers.L2(0.5),
        "kernel_constraint": "non_neg",
    }
    attention = kb.BahdanauAttention(5, use_bias=True, bias_initializer="ones", **options)
    attention(QUERY, VALUE)
    kernels = [
        attention.score.v,
        *(weight for weight in attention.weights if "kernel" in weight.path),
    ]
    assert len(kernels) == 3
    assert not np.array_equal(kernels[1], kernels[2])  # each is initialized separately
    squares = sum(np.sum(np.square(kernel)) for kernel in kernels)
    np.testing.assert_allclose(sum(attention.losses), 0.5 * squares, rtol=1e-5)
    assert all(isinstance(kernel.constraint, keras.constraints.NonNeg) for kernel in kernels)
    np.testing.assert_array_equal(attention.score.key_projection.bias, np.ones(5))
    copy = kb.BahdanauAttention.from_config(attention.get_config())
    copy(QUERY, VALUE)
    assert len(copy.losses) == 3 and copy.score.use_bias
    heads = layers.MultiHeadAttention(kb.BahdanauAttention(3), 2, use_bias=True, **options)
    heads(QUERY, VALUE)
    assert len(heads.losses) == 6
    general = layers.LuongAttention(**options)
    general(QUERY, VALUE)
    assert len(type(general).from_config(general.get_config()).score.dense_arguments) == 3
    with pytest.raises(ValueError, match="A `score` layer takes its own kernel_regularizer"):
        layers.Attention(layers.AdditiveScore(3), kernel_regularizer="l2")


LARGE = [
    ("float32", 2e4),
    ("float32", 1e30),
    ("float16", 3e4),
    ("mixed_bfloat16", 1e30),
]


@pytest.mark.parametrize(("policy", "size"), LARGE)
@pytest.mark.parametrize("score", ["additive", "dot", "scaled-dot", "general", "cosine"])
def test_a_live_row_of_large_numbers_has_weights_that_sum_to_one(policy, size, score):
    attention = layers.Attention(score, units=5, dtype=policy)
    for query, value in ((QUERY, VALUE), (abs(QUERY), -abs(VALUE))):
        context, weights = attention(
            size * np.sign(query),
            size * np.sign(value),
            value_mask=VALUE_MASK,
            return_attention_scores=True,
        )
        np.testing.assert_allclose(np.sum(weights, axis=-1), 1, atol=1e-5)
        assert np.all(np.isfinite(np.asarray(context, "float32")))
        assert not np.any(np.moveaxis(np.asarray(weights), 1, -1)[~VALUE_MASK])


@pytest.mark.parametrize("window", layers.WINDOWS)
def test_no_row_and_no_column_give_nothing(window):
    attention = layers.LuongAttention(window=window)
    for rows, columns in ((0, 4), (2, 0)):
        value = np.zeros((rows, columns, 6), "float32")
        for query in (QUERY[:rows], QUERY[:rows, 0]):
            context, weights = modes.eager(
                lambda query, value: attention(query, value, return_attention_scores=True),
                query,
                value,
            )
            assert weights.shape == (*query.shape[:-1], columns) and not np.any(context)


def test_a_constant_query_without_a_batch_is_refused_when_the_model_is_built():
    values, labels = keras.Input((4, 6)), np.ones((3, 6), "float32")
    with pytest.raises(ValueError, match="`query` must have the batch axis of `value`.*repeat"):
        kb.BahdanauAttention(5)(labels, values)
    query = keras.ops.repeat(labels[None], keras.ops.shape(VALUE)[0], axis=0)
    assert kb.BahdanauAttention(5)(query, VALUE).shape == (2, 3, 6)


def test_a_mask_of_values_is_none_of_queries():
    steps, mask = keras.Input((4, 6)), keras.Input((4,), dtype="bool")
    with pytest.raises(ValueError, match="`attention_mask` must be.*as value_mask="):
        kb.BahdanauAttention(5)(steps, steps, attention_mask=mask)


def add_positions(words):
    return keras.ops.ones((1, 1, 6)) + words


OPERATIONS = {
    "multiply": lambda words: words * 2.0,
    "add": add_positions,
    "get_item": lambda words: keras.layers.Dropout(0.1)(words[:, ::-1]),
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("layer", [kb.AttentionPooling(5), kb.BahdanauAttention(5)])
def test_a_mask_that_an_operation_drops_is_told(layer, name):
    ids = keras.Input((4,), dtype="int32")
    words = OPERATIONS[name](keras.layers.Embedding(10, 6, mask_zero=True)(ids))
    query = () if isinstance(layer, kb.AttentionPooling) else (keras.Input((6,)),)
    with pytest.warns(UserWarning, match=f"The values have no mask.*'{name}.*Pass mask="):
        layer(*query, words)
    layer(*query, words, mask=ids > 0)  # no warning
    if query:
        layer(words, words, value_mask=ids > 0)  # padding is a query, but gets no weight
    layer(*query, OPERATIONS[name](keras.layers.Embedding(10, 6)(ids)))
