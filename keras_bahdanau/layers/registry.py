"""Registries, which return the layers of a family by name, config or instance."""

import copy
import functools
import importlib
import inspect
from collections.abc import Mapping

import keras

from keras_bahdanau.layers import names
from keras_bahdanau.settings import checks

PACKAGE = "keras_bahdanau"


def class_of(name):
    """Return the class of `layers` with this name, after importing its module."""
    module = importlib.import_module(f"{PACKAGE}.layers.{names.MODULE_OF[name]}")
    return getattr(module, name)


def from_config(config):
    """Return the layer for a serialized config, not yet built.

    Ignores the build config, with which Keras would build a shared layer twice.
    """
    config = copy.deepcopy(config)  # some Keras cells remove items from the config
    config.pop("build_config", None)
    return keras.saving.deserialize_keras_object(config)


def resolve_layer(value):
    """Return a layer unchanged, or make one from a config; raise TypeError for anything else."""
    if isinstance(value, keras.layers.Layer):
        return value
    if isinstance(value, dict):
        return from_config(value)
    raise TypeError(
        f"A part of a layer must be a layer, or the config of a layer. Received: {value!r}"
    )


class CompositeLayer(keras.layers.Layer):
    """Base class of layers with sublayers, which stores their quantization in the build config.

    `model.quantize` changes the sublayers, but the config of the layer does not describe this.
    """

    def get_build_config(self):
        config = super().get_build_config()
        quantized = {
            str(index): [layer.quantization_mode, _quantization_config(layer)]
            for index, layer in enumerate(self._flatten_layers(include_self=False))
            if layer.quantization_mode is not None
        }
        return {**config, "quantized": quantized} if quantized else config

    def build_from_config(self, config):
        config = dict(config)
        quantized = config.pop("quantized", {})
        super().build_from_config(config)
        sublayers = self._flatten_layers(include_self=False)
        for index, (mode, quantization) in quantized.items():
            if sublayers[int(index)].quantization_mode is None:
                quantization = keras.saving.deserialize_keras_object(quantization)
                sublayers[int(index)].quantize(mode, config=quantization)


def _quantization_config(layer):
    return keras.saving.serialize_keras_object(getattr(layer, "quantization_config", None))


def untrack_sublayer(layer, sublayer):
    """Untrack a sublayer that is never built, because Keras on JAX would retrace at each `fit`."""
    layer._tracker.untrack(sublayer)


def is_registered_name(identifier):
    """Return True for a name in Keras' form for registered classes, "package>Class"."""
    return isinstance(identifier, str) and ">" in identifier


def registered(name):
    """Return the class registered with Keras under a name such as "my_scores>ReluScore".

    Raises ValueError if no class has this name.
    """
    package, _, class_name = name.partition(">")
    if package == PACKAGE and class_name in names.MODULE_OF:
        return class_of(class_name)
    registered_class = keras.saving.get_registered_object(name)
    if registered_class is None:
        raise ValueError(
            f"A registered name must belong to a known class. Received: unknown class {name!r}. "
            "Import its module first; on the command line, add --import MODULE."
        )
    return registered_class


class Registry(Mapping):
    """Registry of the layers of one family, which works like the `get` functions of Keras.

    ```python
    score = keras_bahdanau.layers.SCORES.get("additive", units=256)
    score = keras_bahdanau.layers.SCORES.get(score)  # a layer stays unchanged
    ```

    To use a custom class, pass its name in Keras' registry, such as "my_scores>ReluScore"; it is
    called with the same arguments. `family` is the name used in errors, and `table` is a table in
    `layers.names`. `method` is the name of the method that makes the layer, or None for the
    constructor.
    """

    def __init__(self, family, table, method=None):
        self.family = family
        self._table = table
        self._method = method

    def get(self, identifier, /, *args, **kwargs):
        """Return the layer for an identifier; other arguments are used if it is a name.

        `identifier` is a name in this registry, a name registered with Keras, a config from
        `keras.saving.serialize_keras_object`, or a layer. Raises ValueError for an unknown name,
        and TypeError for a class.
        """
        if isinstance(identifier, type):
            raise TypeError(
                f"`{self.family}` must be a name or a layer. Received: the class "
                f"{identifier.__name__}. Pass an instance: {identifier.__name__}(...)."
            )
        if isinstance(identifier, keras.layers.Layer | dict):
            return resolve_layer(identifier)
        return self.make(identifier, *args, **kwargs)

    def make(self, name, /, *args, **kwargs):
        """Return a new layer by its name."""
        return self.kind(name)(*args, **kwargs)

    def kind(self, name):
        """Return the class, or the function that makes the layers, for a name.

        Raises ValueError if the name is unknown.
        """
        if is_registered_name(name):
            return registered(name)
        return self[checks.choice(self.family, name, self._table)]

    def class_names(self):
        """Return the class names of the family, without duplicates."""
        return list(dict.fromkeys(_entry(entry)[0] for entry in self._table.values()))

    def __getitem__(self, name):
        class_name, settings = _entry(self._table[name])
        kind = class_of(class_name)
        kind = getattr(kind, self._method) if self._method else kind
        return functools.partial(kind, **settings) if settings else kind

    def __iter__(self):
        return iter(self._table)

    def __len__(self):
        return len(self._table)

    def __contains__(self, name):
        return name in self._table


def _entry(entry):
    """Return (class name, arguments) for an entry of a table."""
    return (entry, {}) if isinstance(entry, str) else entry


class ScoreRegistry(Registry):
    """Registry of scores; `units` is the width of scores that project query and values."""

    def make(self, name, /, units=None, **kwargs):
        """Return a new score by its name; scores without a width ignore `units`."""
        kind = self.kind(name)
        if _has_argument(getattr(kind, "func", kind), "units"):
            kwargs["units"] = units
        return kind(**kwargs)


def _has_argument(kind, name):
    """Return True if the constructor of a class, or of a base class, has this argument."""
    return any(name in inspect.signature(base.__init__).parameters for base in kind.__mro__)


BRIDGES = Registry("bridge", names.BRIDGES)
COVERAGES = Registry("coverage", names.COVERAGES)
DECODER_CELLS = Registry("when", names.DECODER_CELLS)
NORMALIZERS = Registry("normalizer", names.NORMALIZERS)
READERS = Registry("kind", names.READERS, method="stack")
READOUTS = Registry("readout", names.READOUTS)
SCORES = ScoreRegistry("score", names.SCORES)
WINDOWS = Registry("window", names.WINDOWS)
