"""A linear regression with two weights and a bias, for tests of callbacks and optimizers."""

import keras
import numpy as np

from keras_bahdanau.optimizers import AveragingAdam

X = np.arange(12.0).reshape(6, 2).astype("float32") / 10
Y = X @ [[1.0], [-2.0]] + 0.5


def new(optimizer=None, dropout=0.0, policy=None):
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [
            keras.Input((2,)),
            keras.layers.Dropout(dropout, seed=5),
            keras.layers.Dense(1, dtype=policy),
        ]
    )
    optimizer = optimizer or AveragingAdam(0.1, ema_momentum=0.9)
    if policy:
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    model.compile(optimizer, "mse", run_eagerly=True)  # faster than tracing
    return model


def fit(model, x=X, y=Y, **kwargs):
    return model.fit(x, y, batch_size=1, shuffle=False, verbose=0, **kwargs)


class Record(keras.callbacks.Callback):
    """Callback that records the weights after each batch."""

    def __init__(self):
        super().__init__()
        self.weights = []

    def on_train_batch_end(self, batch, logs=None):
        self.weights.append(self.model.get_weights())


def assert_equal(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
