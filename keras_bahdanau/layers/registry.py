"""Registries: the layers of one family, by name, config or instance."""

import copy

import keras

from keras_bahdanau.settings import checks


def from_config(config):
    """The layer that a serialized config describes, left for its owner to build.

    Keras builds what it deserializes as it was built before; a part that is
    shared, or that its owner builds, would then be built twice.
    """
    config = copy.deepcopy(config)  # some Keras cells empty the config that they are given
    config.pop("build_config", None)
    return keras.saving.deserialize_keras_object(config)


def as_layer(value):
    """A layer, from itself or from its config.

    Raises:
        TypeError: If `value` is neither.
    """
    if isinstance(value, keras.layers.Layer):
        return value
    if isinstance(value, dict):
        return from_config(value)
    raise TypeError(
        f"A part of a layer must be a layer itself, or the config of one. Received: {value!r}"
    )


def is_registered_name(identifier):
    """True for the form of a name under which Keras registers a class: "package>Class"."""
    return isinstance(identifier, str) and ">" in identifier


def registered(name):
    """The class that Keras has registered under a name.

    Args:
        name: String, such as "my_scores>ReluScore".

    Raises:
        ValueError: If there is none.
    """
    found = keras.saving.get_registered_object(name)
    if found is None:
        raise ValueError(
            f"A registered name must be that of a known class. Received: unknown class {name!r}. "
            "Import its module first; on the command line, give --import MODULE."
        )
    return found


class Registry:
    """The layers of one family by name, as Keras' `get` functions have them.

    ```python
    score = keras_bahdanau.layers.SCORES.get("additive", units=256)
    score = keras_bahdanau.layers.SCORES.get(score)  # a layer stays as it is
    ```

    A class of one's own has the name under which Keras has registered it, such as
    "my_scores>ReluScore"; it gets the same arguments as the others.

    Args:
        family: String. Name of the family, for errors.
        kinds: Dictionary from a name to a class, or a function that makes a layer.
    """

    def __init__(self, family, kinds):
        self.family = family
        self._kinds = dict(kinds)

    def get(self, identifier, /, *args, **kwargs):
        """The layer that an identifier stands for.

        Args:
            identifier: A name of this registry, or a registered one; the config of a layer, as
                `keras.saving.serialize_keras_object` writes it; or a layer.
            *args: Arguments of a layer that is made by name.
            **kwargs: Likewise.

        Raises:
            ValueError: If there is no layer of this name.
            TypeError: If it is a class.
        """
        if isinstance(identifier, type):
            raise TypeError(
                f"`{self.family}` must be a name or a layer. Received: the class "
                f"{identifier.__name__}. Give an instance: {identifier.__name__}(...)."
            )
        if isinstance(identifier, keras.layers.Layer | dict):
            return as_layer(identifier)
        return self.make(identifier, *args, **kwargs)

    def make(self, name, /, *args, **kwargs):
        """A new layer by its name."""
        return self.kind(name)(*args, **kwargs)

    def kind(self, name):
        """The class of a name, or the function that makes its layers.

        Raises:
            ValueError: If the name is unknown.
        """
        if is_registered_name(name):
            return registered(name)
        return self[checks.choice(self.family, name, self._kinds)]

    def __getitem__(self, name):
        return self._kinds[name]

    def __iter__(self):
        return iter(self._kinds)

    def __len__(self):
        return len(self._kinds)

    def __contains__(self, name):
        return name in self._kinds
