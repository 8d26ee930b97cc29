"""A model in bfloat16: faster to search, on a processor that has products of such numbers."""

import keras

from keras_bahdanau.layers.initializers import replaced_at_once

PRECISIONS = "float32", "bfloat16"  # which are names of Keras' policies, too


def in_precision(model, precision):
    """The same model with weights and products in another precision.

    Softmax, scores, sums over positions and the logits' bias are computed in float32, as in a
    training in mixed precision. But the weights are in bfloat16, too: each product would turn
    them into it once more, in each step of a search.

    Args:
        model: Built `Seq2Seq` or `Ensemble`.
        precision: String, "float32" or "bfloat16". A bfloat16 has the range of float32 and 8
            significant bits (Kalamkar et al. 2019, "A study of BFLOAT16 for deep learning
            training").

    Returns:
        Model of the same class with copies of the weights; `model` itself if it has the
        precision.

    Raises:
        ValueError: If the precision is another one.

    Example:
        >>> in_precision(model, "bfloat16").compute_dtype
        'bfloat16'
    """
    if precision not in PRECISIONS:
        raise ValueError(
            f"`precision` must be one of {', '.join(PRECISIONS)}. Received: precision={precision!r}"
        )
    if model.dtype_policy.name == precision:
        return model
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(precision)  # for layers that a constructor makes
    try:
        twin = type(model).from_config(_with_policy(model.get_config(), precision))
        with replaced_at_once():
            twin.build()
    finally:
        keras.config.set_dtype_policy(before)
    twin.set_weights(model.get_weights())
    return twin


def _with_policy(config, name):
    """A config with the policy of this name for each layer that has another one of its own."""
    if isinstance(config, list | tuple):
        return [_with_policy(part, name) for part in config]
    if not isinstance(config, dict):
        return config
    if config.get("class_name") == "DTypePolicy":
        return {**config, "config": {**config["config"], "name": name}}
    return {key: _with_policy(part, name) for key, part in config.items()}
