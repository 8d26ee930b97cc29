"""Registries: the layers of one family, by name, config or instance."""

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
    """The class of `layers` with this name; its module is imported."""
    module = importlib.import_module(f"{PACKAGE}.layers.{names.MODULE_OF[name]}")
    return getattr(module, name)


def from_config(config):
    """The layer of a serialized config, not yet built: Keras would build a shared layer twice."""
    config = copy.deepcopy(config)  # some Keras cells empty the config that they are given
    config.pop("build_config", None)
    return keras.saving.deserialize_keras_object(config)


def resolve_layer(value):
    """Return a layer unchanged, and make one from a config; TypeError for anything else."""
    if isinstance(value, keras.layers.Layer):
        return value
    if isinstance(value, dict):
        return from_config(value)
    raise TypeError(
        f"A part of a layer must be a layer itself, or the config of one. Received: {value!r}"
    )


class CompositeLayer(keras.layers.Layer):
    """Base of layers with sublayers; the build config has the quantization of each.

    `model.quantize` changes the sublayers, but the config of the layer does not describe them.
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
    """Untrack a sublayer that is never built: Keras on JAX would retrace at each `fit`."""
    layer._tracker.untrack(sublayer)


def is_registered_name(identifier):
    """True for a name in Keras' form for registered classes: "package>Class"."""
    return isinstance(identifier, str) and ">" in identifier


def registered(name):
    """Class registered with Keras under a name such as "my_scores>ReluScore", or ValueError."""
    package, _, class_name = name.partition(">")
    if package == PACKAGE and class_name in names.MODULE_OF:
        return class_of(class_name)
    registered_class = keras.saving.get_registered_object(name)
    if registered_class is None:
        raise ValueError(
            f"A registered name must be that of a known class. Received: unknown class {name!r}. "
            "Import its module first; on the command line, give --import MODULE."
        )
    return registered_class


class Registry(Mapping):
    """The layers of one family by name, like the `get` functions of Keras.

    ```python
    score = keras_bahdanau.layers.SCORES.get("additive", units=256)
    score = keras_bahdanau.layers.SCORES.get(score)  # a layer stays unchanged
    ```

    A custom class goes by its name in Keras' registry, such as "my_scores>ReluScore", and
    gets the same arguments. `family` is a name for errors, `table` one
    of `layers.names`; `method` makes the layer, None for the constructor.
    """

    def __init__(self, family, table, method=None):
        self.family = family
        self._table = table
        self._method = method

    def get(self, identifier, /, *args, **kwargs):
        """Return the layer of an identifier; other arguments are those of a layer made by name.

        `identifier` is a name of this registry, or a registered one; the config of a layer, as
        `keras.saving.serialize_keras_object` writes it; or a layer. An unknown name raises
        ValueError, a class TypeError.
        """
        if isinstance(identifier, type):
            raise TypeError(
                f"`{self.family}` must be a name or a layer. Received: the class "
                f"{identifier.__name__}. Give an instance: {identifier.__name__}(...)."
            )
        if isinstance(identifier, keras.layers.Layer | dict):
            return resolve_layer(identifier)
        return self.make(identifier, *args, **kwargs)

    def make(self, name, /, *args, **kwargs):
        """A new layer by its name."""
        return self.kind(name)(*args, **kwargs)

    def kind(self, name):
        """Class of a name, or the function that makes its layers; ValueError if it is unknown."""
        if is_registered_name(name):
            return registered(name)
        return self[checks.choice(self.family, name, self._table)]

    def class_names(self):
        """The class names of the family, each once."""
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
    """(class name, arguments) of an entry of a table."""
    return (entry, {}) if isinstance(entry, str) else entry


class ScoreRegistry(Registry):
    """The scores by name; `units` is the width of scores that project query and values."""

    def make(self, name, /, units=None, **kwargs):
        """A new score by its name; scores without a width ignore `units`."""
        kind = self.kind(name)
        if _has_argument(getattr(kind, "func", kind), "units"):
            kwargs["units"] = units
        return kind(**kwargs)


def _has_argument(kind, name):
    """True if the constructor of a class, or of a base class, has an argument of this name."""
    return any(name in inspect.signature(base.__init__).parameters for base in kind.__mro__)


BRIDGES = Registry("bridge", names.BRIDGES)
COVERAGES = Registry("coverage", names.COVERAGES)
DECODER_CELLS = Registry("when", names.DECODER_CELLS)
NORMALIZERS = Registry("normalizer", names.NORMALIZERS)
READERS = Registry("kind", names.READERS, method="stack")
READOUTS = Registry("readout", names.READOUTS)
SCORES = ScoreRegistry("score", names.SCORES)
WINDOWS = Registry("window", names.WINDOWS)
