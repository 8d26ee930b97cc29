"""Custom gradients on backends that support them; autograd elsewhere."""

import keras
import numpy as np
import tensorflow as tf

from keras_bahdanau.layers.recurrence import custom_gradient


@custom_gradient
def squares(x, y):
    """Return two outputs; their custom gradient is ten times the true gradient."""

    def gradient(*upstream):
        of_first, of_second = upstream
        return 20 * x * of_first, 20 * y * of_second

    return (x * x, y * y), gradient


def test_the_gradient_by_hand_is_taken():
    x, y = tf.constant(3.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        one, other = squares(x, y)
        total = one + other
    assert (float(one), float(other)) == (9, 4)
    np.testing.assert_array_equal(tape.gradient(total, [x, y]), [60, 40])


def test_on_torch_it_is_the_function_alone(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")

    @custom_gradient
    def doubled(x):
        return 2 * x, None

    assert doubled(3) == 6
