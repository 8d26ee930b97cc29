"""The initial weights of the papers, drawn anew once a model is built.

The path of a weight identifies it; no layer depends on this.
"""

import keras

from keras_bahdanau.layers.initializers import BlockOrthogonal

_RECURRENT = ("recurrent_kernel", "recurrent_projection/kernel", "candidate_projection/kernel")
_ALIGNMENT = ("score/query_projection/kernel", "score/key_projection/kernel")


def draw_as_bahdanau(model, seed=None):
    """Draw all weights as Bahdanau et al. 2015, appendix B.1.

    Recurrent matrices are random orthogonal, gate by gate; W_a and U_a of the alignment
    come from N(0, 0.001^2); its v_a and all biases are zero; every other matrix
    comes from N(0, 0.01^2). Gains, such as those of layer normalization, stay.

    Args:
        model: A `Seq2Seq`; it is built if it is not.
        seed: Integer, for the same weights each time; None for Keras' global seed.

    Returns:
        The model.
    """
    return _drawn(model, _bahdanau, seed)


def draw_as_luong(model, seed=None):
    """Draw all weights uniformly from [-0.1, 0.1], as Luong et al. 2015, section 4.1.

    Arguments and result: see `draw_as_bahdanau`.
    """
    return _drawn(model, _luong, seed)


def _drawn(model, initializer_of, seed):
    if not model.built:
        model.build()
    for index, variable in enumerate(model.trainable_variables):
        initializer = initializer_of(variable, None if seed is None else seed + index)
        if initializer is not None:
            variable.assign(initializer(variable.shape, dtype=variable.dtype))
    return model


def _bahdanau(variable, seed):
    path = variable.path
    if path.endswith(("bias", "score/v")):
        return keras.initializers.Zeros()
    if path.endswith(_RECURRENT):
        return BlockOrthogonal(seed)
    if len(variable.shape) < 2:
        return None
    deviation = 0.001 if path.endswith(_ALIGNMENT) else 0.01
    return keras.initializers.RandomNormal(stddev=deviation, seed=seed)


def _luong(variable, seed):
    if variable.path.endswith("gamma"):
        return None
    return keras.initializers.RandomUniform(-0.1, 0.1, seed=seed)
