"""Parts of a layer that are layers themselves: serialization and lookup."""

import copy

import keras


def unbuilt(config):
    """The layer that a serialized config describes, left for its owner to build.

    Keras builds what it deserializes as it was built before; a part that is
    shared, or that its owner builds, would then be built twice.
    """
    config = copy.deepcopy(config)  # some Keras cells empty the config that they are given
    config.pop("build_config", None)
    return keras.saving.deserialize_keras_object(config)


def part(value, new=None, **kwargs):
    """A part of a layer, as its constructor received it.

    Args:
        value: A layer, which stays as it is; the config of one; or what `new` makes one of.
        new: Function `(value, **kwargs) -> layer`, where there are others than layers.
        **kwargs: See `new`.

    Raises:
        TypeError: If `value` is none of these.
    """
    if isinstance(value, keras.layers.Layer):
        return value
    if isinstance(value, dict):
        return unbuilt(value)
    if new is None:
        raise TypeError(
            f"A part of a layer must be a layer itself, or the config of one. Received: {value!r}"
        )
    return new(value, **kwargs)
