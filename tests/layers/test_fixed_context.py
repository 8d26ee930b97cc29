"""Without attention, all steps have the same context."""

import numpy as np
import pytest

from keras_bahdanau.layers import FixedContext

RANDOM = np.random.default_rng(24)
VALUES = RANDOM.normal(size=(3, 4, 6)).astype("float32")
MASK = np.arange(4) < np.array([4, 2, 0])[:, None]


@pytest.mark.parametrize("axes", [(), (5,)], ids=["one query", "many"])
def test_the_context_is_the_last_real_value_whatever_is_asked(run, axes):
    query = RANDOM.normal(size=(3, *axes, 7)).astype("float32")

    def function(query, values, mask):
        return FixedContext()(query, values, mask=mask, return_attention_scores=True)

    context, weights = run(function, query, VALUES, MASK)
    last = np.stack([VALUES[0, 3], VALUES[1, 1], np.zeros(6, "float32")])
    expected = np.reshape(last, (3, *(1,) * len(axes), 6)) * np.ones((*axes, 1), "float32")
    np.testing.assert_array_equal(context, expected)
    assert weights.dtype == np.float32 and weights.shape == (3, *axes, 4) and not weights.any()
