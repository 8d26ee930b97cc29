"""How a layer made of other layers is written down and read back."""

import keras


def unbuilt(config):
    """The layer that a serialized config describes, left for its owner to build.

    Keras builds what it deserializes as it was built before; a part that is
    shared, or that its owner builds, would then be built twice.
    """
    config = {key: value for key, value in config.items() if key != "build_config"}
    return keras.saving.deserialize_keras_object(config)
