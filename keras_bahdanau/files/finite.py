"""Weights that are numbers: no file may hold what a training that diverged leaves behind."""

import math


def as_json(content):
    """The same content with None for NaN and infinity, which JSON does not have.

    Args:
        content: Dictionary, list, or a value in one.
    """
    if isinstance(content, dict):
        return {name: as_json(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [as_json(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def first_not_finite(arrays):
    """Name of the first array with NaN or infinity in it, or None.

    Args:
        arrays: Iterable of (name, array of numbers).
    """
    import numpy as np  # which takes its time, as Keras does

    return next((name for name, array in arrays if not np.isfinite(array).all()), None)


def arrays_of(variables):
    """Yield (path, array) of Keras variables."""
    import keras

    for variable in variables:
        yield variable.path, keras.ops.convert_to_numpy(variable)


def require_finite_weights(model, received="a model"):
    """Raise ValueError if a model has a weight that is NaN or infinite.

    Args:
        model: A built Keras model.
        received: String, the model's name in the error, such as "path='a.keras'".

    Example:
        >>> require_finite_weights(translator.model, f"path={path!r}")
    """
    name = first_not_finite(arrays_of(model.weights))
    if name is not None:
        raise ValueError(
            f"All weights of a model must be finite. Received: {received}, with NaN or infinity "
            f"in {name!r}, as a training that diverged leaves it. Take a translator from before, "
            "or train anew with a lower learning rate."
        )
