"""Conversion of models to bfloat16, for faster search on processors with bfloat16 products."""

import contextlib

import keras

from keras_bahdanau.layers.initializers import ORTHOGONAL, replaced_at_once
from keras_bahdanau.settings.guesses import nearest
from keras_bahdanau.settings.limits import PRECISIONS


def precision_of(model):
    """Return the dtype of a model's matrix products: "float32" unless a layer has another dtype."""
    dtypes = {layer.compute_dtype for layer in model._flatten_layers()} - {"float32", None}
    return min(dtypes, default="float32")


@contextlib.contextmanager
def computing_in(policy):
    """Give layers created in this block this dtype policy by default."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def cast_model(model, precision):
    """Return a model with its weights and matrix products in "float32" or "bfloat16".

    Softmax, scores and the encoder's mean stay in float32. All layers get the precision, including
    layers that other threads create while the model is built. A bfloat16 has the range of a float32
    and 8 significant bits (Kalamkar et al. 2019).

    `model` is a built `Seq2Seq` or `Ensemble`. The result has copies of the weights, or is `model`
    itself if it already has this precision. Raises ValueError for any other precision.
    """
    if precision not in PRECISIONS:
        raise ValueError(
            f"`precision` must be one of {', '.join(PRECISIONS)}. Received: precision={precision!r}"
            f"{nearest(precision, PRECISIONS)}"
        )
    config = model.get_config()
    changed = replace_policy(config, precision)
    if changed == config:
        return model
    # also applies to layers that a constructor creates
    with computing_in(precision), replaced_at_once():
        twin = type(model).from_config(changed)
        twin.build()
    twin.set_weights(model.get_weights())
    return twin


def replace_policy(config, policy):
    """Replace all dtype policies in a config, or in a part of one, by the policy with this name."""
    if isinstance(config, list | tuple):
        return type(config)(replace_policy(part, policy) for part in config)
    if not isinstance(config, dict):
        return config
    config = {name: replace_policy(part, policy) for name, part in config.items()}
    kind = config.get("class_name")
    if kind in ("DTypePolicy", "DTypePolicyMap"):
        return {**config, "class_name": "DTypePolicy", "config": {"name": policy}}
    if kind == "Orthogonal" and config.get("module") == "keras.initializers":
        return {**config, **_ORTHOGONAL}
    return config


_ORTHOGONAL = {  # replaces Keras' initializer, which does not work in bfloat16
    "module": "keras_bahdanau.layers.initializers",
    "registered_name": ORTHOGONAL,
}
