"""Initial values of recurrent weights, under every dtype policy."""

import keras
from keras import ops

ORTHOGONAL = "keras_bahdanau>Orthogonal"  # as a string each layer draws values of its own


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Orthogonal(keras.initializers.Orthogonal):
    """Keras' orthogonal matrix, drawn in float32 whatever the variable's dtype.

    The factorization that it comes from does not exist in bfloat16, so a
    recurrent layer of Keras can't be built under the pure "bfloat16" policy. In
    float32 the values are Keras' own.

    Arguments: see `keras.initializers.Orthogonal`.
    """

    def __call__(self, shape, dtype=None):
        return ops.cast(super().__call__(shape, "float32"), dtype or keras.config.floatx())


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class BlockOrthogonal(keras.initializers.Initializer):
    """Square orthogonal matrices side by side, one a gate.

    So U, U_z and U_r each start orthogonal (Bahdanau et al. 2015, appendix B.1);
    `keras.initializers.Orthogonal` makes of all blocks together one such matrix.

    Args:
        seed: Integer or None. With None each matrix made differs from the last.
    """

    def __init__(self, seed=None):
        self.seed = seed

    def __call__(self, shape, dtype=None):
        rows, columns = shape
        if columns % rows:
            raise ValueError(
                "`shape` must be that of square blocks side by side. "
                f"Received: shape={tuple(shape)}"
            )
        draw = keras.initializers.Orthogonal(seed=keras.random.SeedGenerator(self.seed))
        blocks = [draw((rows, rows), dtype="float32") for _ in range(columns // rows)]
        return ops.cast(ops.concatenate(blocks, axis=-1), dtype or keras.config.floatx())

    def get_config(self):
        return {"seed": self.seed}
