"""v^T tanh(q + k) and its custom gradient match NumPy."""

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

from keras_bahdanau.layers.scores.tanh_products import AT_ONCE, tanh_scores

BATCH, SOURCE, UNITS = 2, 3, 4
SHAPES = {
    "one query": ((BATCH, UNITS), (BATCH, SOURCE, UNITS)),
    "a beam": ((BATCH, 5, UNITS), (BATCH, SOURCE, UNITS)),
    "a sentence": ((BATCH, AT_ONCE + 1, UNITS), (BATCH, SOURCE, UNITS)),
    "keys of its own": ((BATCH, 5, UNITS), (BATCH, 5, SOURCE, UNITS)),
    "one source token": ((BATCH, 5, UNITS), (BATCH, 1, UNITS)),
    "one sentence": ((1, 5, UNITS), (1, SOURCE, UNITS)),
}


def in_float64(query, keys, v, upstream):
    """Return scores, and gradients of query, keys and v, by the equations."""
    many = query.ndim == 3
    queries = query if many else query[:, None]
    own = keys if keys.ndim == 4 else keys[:, None]
    hidden = np.tanh(queries[:, :, None] + own)  # -> (batch, n, source_time, units)
    up = upstream if many else upstream[:, None]
    slopes = up[..., None] * v[:, 0] * (1 - hidden**2)
    of_query, of_keys = slopes.sum(2), slopes if keys.ndim == 4 else slopes.sum(1)
    scores = hidden @ v[:, 0]
    of_v = np.einsum("bns,bnsu->u", up, hidden)[:, None]
    return (scores if many else scores[:, 0], of_query if many else of_query[:, 0], of_keys, of_v)


def with_gradients(query, keys, v, upstream):
    with tf.GradientTape() as tape:
        tape.watch((query, keys, v))
        scores = tanh_scores(query, keys, v)
    return scores, *tape.gradient(scores, (query, keys, v), upstream)


def drawn(case):
    rng = np.random.default_rng(0)
    query, keys = SHAPES[case]
    many = query[:-1] + (keys[-2],)
    return [rng.normal(size=size) for size in (query, keys, (UNITS, 1), many)]


@pytest.mark.few(3)
@pytest.mark.parametrize("case", SHAPES)
def test_scores_and_gradients_are_those_of_the_equation(run, case):
    arrays = drawn(case)
    found = run(with_gradients, *(tf.constant(one, "float32") for one in arrays))
    for one, other in zip(found, in_float64(*arrays), strict=True):
        assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", ["one query", "a sentence"])
def test_half_precision_is_near_and_its_scores_are_float32(run, case):
    arrays = drawn(case)
    dtypes = ("bfloat16", "bfloat16", "float32", "float32")
    found = run(with_gradients, *map(tf.constant, arrays, dtypes))
    assert found[0].dtype == "float32"
    for one, other in zip(found, in_float64(*arrays), strict=True):
        assert_allclose(np.asarray(one, "float32"), other, rtol=0.1, atol=0.1)


@pytest.mark.few(1)
@pytest.mark.parametrize("case", ["one query", "a sentence"])
def test_shapes_may_be_unknown(case):
    arrays = [tf.constant(one, "float32") for one in drawn(case)]
    unknown = [tf.TensorSpec([None] * (one.ndim - 1) + [one.shape[-1]]) for one in arrays]
    unknown[-1] = tf.TensorSpec([None] * arrays[-1].ndim)
    unknown[2] = tf.TensorSpec((UNITS, 1))
    found = tf.function(with_gradients, input_signature=unknown)(*arrays)
    for one, other in zip(found, with_gradients(*arrays), strict=True):
        assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_no_pair_is_kept_for_the_gradient():
    sentence = [tf.TensorSpec(one.shape) for one in drawn("a sentence")]
    graph = tf.function(with_gradients).get_concrete_function(*sentence).graph
    pairs = BATCH * (AT_ONCE + 1) * SOURCE * UNITS
    sizes = [
        tensor.shape.num_elements() or 0 for op in graph.get_operations() for tensor in op.outputs
    ]
    assert max(sizes) < pairs
