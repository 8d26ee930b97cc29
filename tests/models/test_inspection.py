"""`attention_weights` returns the weights that the layers in a Keras model compute."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

import keras_bahdanau as kb
from keras_bahdanau.models import attention_weights

IDS = np.array([[3, 1, 4, 0], [2, 0, 0, 0], [5, 6, 7, 8]])


def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def pooled_classifier(*layers):
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(9, 4, mask_zero=True),
            *layers,
            kb.AttentionPooling(5, name="pooling"),
            keras.layers.Dense(2),
        ]
    )


def two_sequences():
    query, value = keras.Input((2, 4)), keras.Input((3, 4))
    return query, value, [np.random.default_rng(0).normal(size=(5, n, 4)) for n in (2, 3)]


def test_weights_of_pooling_are_those_of_the_paper():
    model = pooled_classifier()
    embedding, pooling = model.layers[:2]
    weights = attention_weights(model, IDS)
    assert [*weights] == ["pooling"] and weights["pooling"].dtype == np.float32
    # u_t = tanh(W h_t + b), alpha_t = softmax(u_t^T u_w) over real steps
    kernel, bias = (variable.numpy() for variable in pooling.attention.score.weights)
    hidden = np.tanh(embedding.get_weights()[0][IDS] @ kernel + bias)
    scores = np.where(IDS > 0, hidden @ pooling.query_vector.numpy()[0], -1e9)
    np.testing.assert_allclose(weights["pooling"], softmax(scores), atol=1e-6)


def test_weights_of_dot_attention_are_the_softmax_of_products():
    query, value, arrays = two_sequences()
    context = keras.layers.Attention(name="dot")([query, value])
    weights = attention_weights(keras.Model([query, value], context), arrays)["dot"]
    np.testing.assert_allclose(weights, softmax(np.einsum("bqd,bvd->bqv", *arrays)), atol=1e-6)


@pytest.mark.parametrize(
    ("layer", "is_list", "shape"),
    [
        (lambda: keras.layers.AdditiveAttention(name="attention"), True, (5, 2, 3)),
        (lambda: keras.layers.MultiHeadAttention(2, 3, name="attention"), False, (5, 2, 2, 3)),
        (lambda: kb.BahdanauAttention(6, name="attention"), False, (5, 2, 3)),
        (
            lambda: kb.layers.Attention("dot", window="local-m", name="attention"),
            True,
            (5, 2, 3),
        ),
    ],
)
def test_weights_are_those_that_the_layer_returns(layer, is_list, shape):
    query, value, arrays = two_sequences()
    attention = layer()
    context = attention([query, value]) if is_list else attention(query, value)
    model = keras.Model([query, value], keras.layers.Dense(1)(context))
    before = model.predict(arrays, verbose=0)
    weights = attention_weights(model, arrays, batch_size=2)["attention"]  # batch sizes 2, 2, 1
    tensors = [ops.convert_to_tensor(array, "float32") for array in arrays]
    inputs = [tensors] if is_list else tensors
    _, expected = attention(*inputs, return_attention_scores=True)
    assert weights.shape == shape
    np.testing.assert_allclose(weights, expected, atol=1e-6)
    assert "call" not in vars(attention)
    np.testing.assert_allclose(model.predict(arrays, verbose=0), before, atol=1e-6)


def test_a_nested_model_prefixes_its_name_and_a_shared_layer_gives_a_list():
    attention = kb.BahdanauAttention(4, name="shared")
    inputs = keras.Input((3, 4))
    inner = keras.Model(inputs, attention(attention(inputs, inputs), inputs), name="inner")
    outer_inputs = keras.Input((3, 4))
    hidden = kb.AttentionPooling(2, name="pooling")(inner(outer_inputs))
    model = keras.Model(outer_inputs, hidden)
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    weights = attention_weights(model, x)
    assert [*weights] == ["inner/shared", "pooling"]
    first, second = weights["inner/shared"]
    context, expected = attention(x, x, return_attention_scores=True)
    np.testing.assert_allclose(first, expected, atol=1e-6)
    _, expected = attention(context, x, return_attention_scores=True)
    np.testing.assert_allclose(second, expected, atol=1e-6)


class Tagger(keras.Model):
    """A subclassed model that already requests attention weights from its layers."""

    def __init__(self):
        super().__init__()
        self.blocks = [keras.layers.Dense(4), keras.layers.MultiHeadAttention(1, 2, name="own")]
        self.pooling = kb.AttentionPooling(3, return_attention_scores=True, name="pooling")

    def call(self, x, return_attention_scores=False):
        hidden = self.blocks[0](x)
        hidden, heads = self.blocks[1](hidden, hidden, return_attention_scores=True)
        context, weights = self.pooling(hidden)
        return context, heads, weights


def test_a_subclassed_model_gives_the_weights_that_it_computes_itself():
    model, x = Tagger(), np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    weights = attention_weights(model, x)
    _, heads, pooled = model(x)
    assert set(weights) == {"own", "pooling"}
    np.testing.assert_allclose(weights["own"], heads, atol=1e-6)
    np.testing.assert_allclose(weights["pooling"], pooled, atol=1e-6)


def test_a_loaded_model_gives_the_same_weights(tmp_path):
    model = pooled_classifier(keras.layers.GRU(3, return_sequences=True))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    before, after = (attention_weights(one, IDS.tolist())["pooling"] for one in (model, loaded))
    np.testing.assert_allclose(after, before, atol=1e-6)
    assert not before[IDS == 0].any()
    np.testing.assert_allclose(
        attention_weights(model, IDS[1:2])["pooling"], before[1:2], atol=1e-6
    )


def test_a_wrapper_over_time_gives_the_weights_of_each_step():
    inputs = keras.Input((2, 4), dtype="int32")
    words = keras.Sequential([keras.layers.Embedding(9, 4), kb.AttentionPooling(3, name="words")])
    sentences = keras.layers.TimeDistributed(words, name="sentences")(inputs)
    model = keras.Model(inputs, kb.AttentionPooling(3, name="document")(sentences))
    weights = attention_weights(model, np.stack([IDS, IDS[::-1]], axis=1))
    assert [array.shape for array in weights[f"sentences/{words.name}/words"]] == [(3, 4)] * 2
    np.testing.assert_allclose(weights["document"].sum(axis=-1), 1, atol=1e-6)


def test_weights_of_a_sequence_to_sequence_model_are_its_alignment():
    encoder = kb.Encoder(vocabulary_size=9, embedding_units=4, units=4)
    decoder = kb.Decoder(9, 4, units=4, attention=kb.BahdanauAttention(3))
    model = kb.Seq2Seq(encoder, decoder, name="translator")
    inputs = (IDS, np.array([[1, 4], [1, 5], [1, 6]]))
    weights = attention_weights(model, inputs, batch_size=2)
    _, alignment = model(inputs, return_attention_scores=True)
    assert [*weights] == ["translator"]
    np.testing.assert_allclose(weights["translator"], alignment, atol=1e-6)


def test_dictionaries_of_inputs_are_cut_into_batches():
    query, value, (q, v) = two_sequences()
    query.name, value.name = "query", "value"
    inputs = {"query": query, "value": value}
    model = keras.Model(inputs, kb.BahdanauAttention(3, name="a")(query, value))
    arrays = {"query": q, "value": v}
    np.testing.assert_allclose(
        attention_weights(model, arrays, batch_size=2)["a"],
        attention_weights(model, arrays)["a"],
        atol=1e-6,
    )


def test_weights_of_half_precision_are_float32():
    query, value, arrays = two_sequences()
    layer = keras.layers.AdditiveAttention(dtype="mixed_bfloat16", name="a")
    weights = attention_weights(keras.Model([query, value], layer([query, value])), arrays)["a"]
    assert weights.dtype == np.float32


def test_a_model_without_attention_is_refused():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match=r"must have an attention layer.*Sequential of Dense\."):
        attention_weights(model, np.ones((1, 3)))


class Silent(keras.layers.Layer):
    """A layer with the argument `return_attention_scores` that returns no weights."""

    def call(self, x, return_attention_scores=False):
        return x


def test_an_error_restores_the_layers():
    model = keras.Sequential([keras.Input((3,)), Silent(name="silent")])
    with pytest.raises(ValueError, match=r"must return \(outputs, weights\).*layer silent"):
        attention_weights(model, np.ones((1, 3)))
    assert "call" not in vars(model.layers[0])
    assert model(np.ones((1, 3))).shape == (1, 3)


class Compiled(keras.Model):
    """A model that calls its attention layer in a compiled function."""

    def __init__(self):
        super().__init__()
        self.pooling = kb.AttentionPooling(3, name="pooling")
        self.pooled = tf.function(self.pooling)

    def call(self, x):
        return self.pooled(x)


def test_weights_inside_of_a_compiled_function_are_refused():
    model, x = Compiled(), np.ones((2, 3, 4), "float32")
    model(x[:1])
    with pytest.raises(ValueError, match="which are not available in a compiled function"):
        attention_weights(model, x)
    assert model(x).shape == (2, 4)


class Unused(keras.Model):
    """A model that has an attention layer and never calls it."""

    def __init__(self):
        super().__init__()
        self.pooling = kb.AttentionPooling(3, name="pooling")
        self.pooling.build((None, None, 4))

    def call(self, x):
        return x


@pytest.mark.parametrize(
    ("model", "x", "kind", "message"),
    [
        (lambda: "model.keras", IDS, TypeError, "`model` must be a keras.Model. Received: str"),
        (Unused, IDS, ValueError, "calls none of pooling"),
        (pooled_classifier, IDS[:0], ValueError, "at least one example"),
        (pooled_classifier, [[1], [1, 2]], TypeError, "Pad the rows to the same length"),
        (pooled_classifier, {"a": IDS, "b": IDS[:1]}, ValueError, "a common batch axis"),
    ],
)
def test_wrong_arguments_are_refused(model, x, kind, message):
    with pytest.raises(kind, match=message):
        attention_weights(model(), x)
