"""A model in bfloat16: faster search on processors with bfloat16 products."""

import contextlib

import keras

from keras_bahdanau.layers.initializers import ORTHOGONAL, replaced_at_once
from keras_bahdanau.settings.guesses import nearest
from keras_bahdanau.settings.limits import PRECISIONS


def precision_of(model):
    """The dtype of a model's products: "float32" unless one of its layers has another."""
    dtypes = {layer.compute_dtype for layer in model._flatten_layers()} - {"float32", None}
    return min(dtypes, default="float32")


@contextlib.contextmanager
def computing_in(policy):
    """Layers created in this block have this dtype policy by default."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def cast_model(model, precision):
    """The same model with weights and products in "float32" or "bfloat16".

    Softmax, scores and the encoder's mean stay in float32. All layers get the precision; so do
    layers that other threads create while the model is built. A bfloat16 has the range of float32
    and 8 significant bits (Kalamkar et al. 2019).

    `model` is a built `Seq2Seq` or `Ensemble`; the result has copies of the weights, or is `model`
    itself if it has the precision. Any other precision raises ValueError.
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
    with computing_in(precision), replaced_at_once():  # includes layers that a constructor creates
        twin = type(model).from_config(changed)
        twin.build()
    twin.set_weights(model.get_weights())
    return twin


def replace_policy(config, policy):
    """A config of `get_config`, or a part of it, with one dtype policy, given by its name."""
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


_ORTHOGONAL = {  # instead of Keras' own, which can't be drawn in bfloat16
    "module": "keras_bahdanau.layers.initializers",
    "registered_name": ORTHOGONAL,
}
