"""Initializers for recurrent weights that work under every dtype policy."""

import contextlib
import contextvars

import keras
from keras import ops

_REPLACED = contextvars.ContextVar("replaced", default=False)
ORTHOGONAL = "keras_bahdanau>Orthogonal"  # a string, so that each layer draws its own values


@contextlib.contextmanager
def replaced_at_once():
    """Initialize orthogonal matrices to zeros inside the block, since a file will replace them."""
    token = _REPLACED.set(True)
    try:
        yield
    finally:
        _REPLACED.reset(token)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Orthogonal(keras.initializers.Orthogonal):
    """Keras' orthogonal initializer, computed in float32: bfloat16 has no QR factorization."""

    def __call__(self, shape, dtype=None):
        dtype = dtype or keras.config.floatx()
        if _REPLACED.get():
            return ops.zeros(shape, dtype)
        return ops.cast(super().__call__(shape, "float32"), dtype)


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class BlockOrthogonal(keras.initializers.Initializer):
    """Square orthogonal matrices side by side, one per gate (Bahdanau et al. 2015, appendix B.1).

    With `seed=None`, each matrix is drawn differently.
    """

    def __init__(self, seed=None):
        self.seed = seed

    def __call__(self, shape, dtype=None):
        rows, columns = shape
        if columns % rows:
            raise ValueError(
                "`shape` must be a row of square blocks: (n, k * n). "
                f"Received: shape={tuple(shape)}"
            )
        dtype = dtype or keras.config.floatx()
        if _REPLACED.get():
            return ops.zeros(shape, dtype)
        draw = keras.initializers.Orthogonal(seed=keras.random.SeedGenerator(self.seed))
        blocks = [draw((rows, rows), dtype="float32") for _ in range(columns // rows)]
        return ops.cast(ops.concatenate(blocks, axis=-1), dtype)

    def get_config(self):
        return {"seed": self.seed}
