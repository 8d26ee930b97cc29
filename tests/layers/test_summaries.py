"""Summaries of a sentence have the expected values and ignore padding, in each precision."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.layers.memory import first_value, last_value, masked_mean

VALUES = np.array(
    [[[1, 10], [2, 20], [6, 60]], [[4, 40], [5, 50], [9, 90]], [[7, 70], [8, 80], [9, 90]]],
    "float32",
)
MASK = np.array([[True, True, True], [True, False, False], [False, False, False]])
EXPECTED = {
    masked_mean: [[3, 30], [4, 40], [0, 0]],
    first_value: [[1, 10], [4, 40], [0, 0]],
    last_value: [[6, 60], [4, 40], [0, 0]],
}
EACH = pytest.mark.parametrize("function", EXPECTED)


@EACH
def test_padding_and_empty_sentences_do_not_count(run, function):
    np.testing.assert_array_equal(run(function, VALUES, MASK), EXPECTED[function])


@EACH
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_stands_at_padding_is_not_read(run, function, value):
    dirty = np.where(MASK[..., None], VALUES, value).astype("float32")
    np.testing.assert_array_equal(run(function, dirty, MASK), EXPECTED[function])


@EACH
def test_a_batch_without_any_step_gives_zero(run, function):
    found = run(function, VALUES[:, :0], MASK[:, :0])
    np.testing.assert_array_equal(found, np.zeros((3, 2)))


@EACH
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_kept_but_not_summed_in(function, dtype):
    values, mask = tf.ones((1, 3000, 2), dtype), tf.ones((1, 3000), bool)
    found = function(values, mask)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.ones((1, 2)))
