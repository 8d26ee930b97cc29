"""User-defined scores: the example in the docstring, and errors."""

import inspect
import re

import extract
import keras
import numpy as np
import pytest
from decoders import new_decoder
from keras import ops

import keras_bahdanau as kb
from keras_bahdanau.layers import ATTENTIONS, AdditiveScore, Attention, MultiHeadAttention, Score

RANDOM = np.random.default_rng(8)
QUERIES = RANDOM.normal(size=(2, 3, 4)).astype("float32")
VALUES = RANDOM.normal(size=(2, 5, 6)).astype("float32")


class TutorialScore(AdditiveScore):
    """The sum as in TensorFlow's tutorial, for a single query."""

    def compare(self, query, keys):
        added = ops.expand_dims(self.query_projection(query), 1) + keys
        return ops.squeeze(ops.matmul(ops.tanh(added), self.v), axis=-1)


class Unfinished(Score):
    def build(self, query_shape, values_shape):
        self.key_units = values_shape[-1]

    def project(self, values):
        return values


class WithoutWidth(AdditiveScore):
    def build(self, query_shape, values_shape):
        super().build(query_shape, values_shape)
        self.key_units = None


def built(score):
    attention = Attention(score)
    attention.build(QUERIES.shape, VALUES.shape)
    return attention


@pytest.fixture(scope="module")
def relu_score():
    """`ReluScore` from the example in the docstring, which is executed here."""
    (example,) = re.findall(r"```python\n(.*?)```", inspect.getdoc(Score), re.DOTALL)
    namespace = {}
    exec(example, namespace)
    assert isinstance(namespace["decoder"], kb.Decoder)
    return namespace["ReluScore"]


def test_the_example_of_the_docstring_is_its_equation(relu_score, run):
    attention = built(relu_score(7))
    extract.randomize(attention)
    W, U, v = extract.arrays(attention.score)
    W, U, v = (array.astype("float64") for array in (W, U, v[:, 0]))

    def e(s, h):
        return v @ np.maximum(W.T @ s + U.T @ h, 0)

    scores = run(attention.score, QUERIES, VALUES)
    expected = [[[e(s, h) for h in VALUES[b]] for s in QUERIES[b]] for b in range(2)]
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)
    for i in range(3):  # a single query
        one = run(attention.score, QUERIES[:, i], VALUES)
        np.testing.assert_allclose(one, scores[:, i], rtol=1e-5, atol=1e-6)


def test_the_example_of_the_docstring_is_made_of_its_config(relu_score):
    attention = Attention(relu_score(7), coverage="sum")
    config = keras.saving.serialize_keras_object(attention)
    twin = keras.saving.deserialize_keras_object(config)
    assert (type(twin.score), twin.score.units) == (relu_score, 7)


def test_a_score_as_an_attention_is_wrapped():
    score = AdditiveScore(8)
    attention = ATTENTIONS.get(score, dropout=0.5, name="mine")
    assert type(attention) is Attention
    assert (attention.score, attention.dropout, attention.name) == (score, 0.5, "mine")
    heads = ATTENTIONS.get(keras.saving.serialize_keras_object(score), heads=2)
    assert isinstance(heads, MultiHeadAttention)
    decoder = new_decoder(5, 4, 8, attention=AdditiveScore(8))
    assert decoder.cell.attention.has_weights is True


@pytest.mark.parametrize("kind", [AdditiveScore, Attention])
def test_a_class_in_place_of_an_attention_is_refused(kind):
    message = rf"must be a name or a layer. Received: the class {kind.__name__}. Pass an instance"
    with pytest.raises(TypeError, match=message):
        new_decoder(5, 4, 8, attention=kind)


def test_a_score_for_one_query_alone_is_refused_when_it_is_built():
    with pytest.raises(ValueError) as caught:
        built(TutorialScore(7))
    message = str(caught.value)
    assert message.startswith("`compare` must return (batch, n, source_time). Received: ")
    assert "from TutorialScore for a query (batch, n, query_units)" in message
    assert message.endswith(
        "Insert axes: a query (batch, n, 1, units) matches keys (batch, 1, source_time, units)."
    )


def test_a_score_without_its_width_is_refused():
    message = r"key_units=None. Set `key_units` in `build`."
    with pytest.raises(ValueError, match=message):
        built(WithoutWidth(7))


def test_what_a_score_lacks_is_named():
    with pytest.raises(NotImplementedError, match=r"Unfinished must define `compare\(query"):
        built(Unfinished())
    with pytest.raises(NotImplementedError, match=r"Score must define `build\(query_shape, values"):
        built(Score())
