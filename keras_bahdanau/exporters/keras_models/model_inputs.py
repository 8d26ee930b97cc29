"""Names for the inputs and outputs of a Keras model, whatever their structure."""

import dataclasses
import inspect
import keyword
import re
from typing import Any

import keras
import tensorflow as tf

from keras_bahdanau.settings.guesses import nearest
from keras_bahdanau.settings.limits import DYNAMIC

_NUMBERED = re.compile(r"(keras_tensor|input_layer)?(_\d+)?(:\d+)?")
LENGTH = "length"  # name of the input that holds the real length of a single sequence


@dataclasses.dataclass(frozen=True)
class ModelInputs:
    """Named inputs of a model.

    Attributes:
        specs: Dictionary from names to `tf.TensorSpec`, with an unknown batch size.
        structure: Names in the structure of the model's inputs; None if there are `arguments`.
        arguments: Dictionary from the arguments of `call` to such structures, if `call` has
            several; else None.
        resizable: True if the lengths come from the first call, and can be changed.
        ids: Dictionary from names of inputs to the sizes of the embeddings that read them.
    """

    specs: dict
    structure: Any = None
    arguments: dict | None = None
    resizable: bool = False
    ids: dict = dataclasses.field(default_factory=dict)

    def call(self, model, tensors):
        """Call a model for inference with a dictionary of tensors, and return its outputs."""

        def packed(structure):
            return keras.tree.map_structure(lambda name: tensors[name], structure)

        if self.arguments is None:
            return model(packed(self.structure), training=False)
        first, *others = self.arguments
        keywords = {name: packed(self.arguments[name]) for name in others}
        return model(packed(self.arguments[first]), **keywords, training=False)

    def resized(self, length):
        """Return the inputs with lengths from the setting `length`.

        Raises ValueError if the setting applies to no input.
        """
        if length is None:
            return self
        lengths = length if isinstance(length, dict) else dict.fromkeys(self.specs, length)
        for name in lengths:
            if name not in self.specs:
                raise ValueError(
                    f"`length` must name inputs of the model: {', '.join(self.specs)}. Received: "
                    f"length={length!r}{nearest(name, self.specs)}"
                )
        specs = {
            name: self._resized(spec, lengths[name]) if name in lengths else spec
            for name, spec in self.specs.items()
        }
        if specs == self.specs and length != DYNAMIC and not self.resizable:
            shapes = {name: tuple(spec.shape) for name, spec in self.specs.items()}
            raise ValueError(
                "`length` must set an axis that the model leaves open. Received: "
                f"length={length!r}, inputs {shapes}. Leave it out."
            )
        return dataclasses.replace(self, specs=specs)

    def _resized(self, spec, length):
        size = None if length == DYNAMIC else length
        batch, *axes = spec.shape
        if None in axes:
            axes = [size if axis is None else axis for axis in axes]
        elif self.resizable and is_sequence(spec):
            axes[0] = size
        return tf.TensorSpec((batch, *axes), spec.dtype, spec.name)

    def in_batches(self, rows):
        """Return the specs with this number of rows, or with any number of rows if it is None."""
        return {
            name: tf.TensorSpec((rows, *spec.shape[1:]), spec.dtype, name)
            for name, spec in self.specs.items()
        }


def is_sequence(spec):
    """Return True if the first axis after the batch is time, as for ids and vectors."""
    rank = spec.shape.rank
    return rank >= 3 or rank == 2 and (spec.dtype.is_integer or spec.shape[1] is None)


def has_time(spec):
    """Return True for a sequence, but False for an image: its first axis is its height."""
    return is_sequence(spec) and spec.shape.rank < 4


def inputs_of(model, example=None):
    """Return the `ModelInputs` of a built model.

    If the model has no symbolic inputs, they are inferred from its first call, or from an example,
    which is a structure of arrays. Raises ValueError if the model is not built.
    """
    if example is not None and not _is_symbolic(model):
        names = inspect.signature(model.call).parameters
        by_argument = isinstance(example, dict) and set(example) <= set(names)
        return _of_arguments(example) if by_argument else _named(example, resizable=True)
    if isinstance(model, keras.Sequential) and _is_symbolic(model):
        return _named(model.inputs[0])
    if _is_symbolic(model):
        return _named(model.input)
    config = model.get_build_config() if model.built else None
    if not config:
        raise ValueError(
            f"A model must be built. Received: {type(model).__name__} {model.name!r}, which is not "
            "built. Call it once on an input, or pass examples=."
        )
    if "shapes_dict" not in config:
        return _named(_tensors_of_shapes(config["input_shape"]), resizable=True)
    shapes = {key.removesuffix("_shape"): shape for key, shape in config["shapes_dict"].items()}
    return _of_arguments(_tensors_of_shapes(shapes))


def _of_arguments(tensors):
    """Return `ModelInputs` for a dictionary from arguments of `call` to structures of tensors."""
    inputs = _named(tensors, resizable=True)
    return dataclasses.replace(inputs, structure=None, arguments=inputs.structure)


def _is_symbolic(model):
    """Return True for a model with symbolic tensors: Functional, or Sequential with an input."""
    if isinstance(model, keras.Sequential):
        return bool(getattr(model, "inputs", None)) if model.built else False
    return hasattr(model, "output_names")  # only a Functional model has this attribute


def _tensors_of_shapes(shapes):
    """Return a structure of float `KerasTensor`s of any batch size for shapes of a first call."""
    if isinstance(shapes, dict):
        return {name: _tensors_of_shapes(shape) for name, shape in shapes.items()}
    if all(size is None or isinstance(size, int) for size in shapes):
        return keras.KerasTensor((None, *shapes[1:]), "float32", name="inputs")
    return [_tensors_of_shapes(shape) for shape in shapes]


def _named(tensors, resizable=False):
    """Return `ModelInputs` for a structure of tensors: named by keys or tensors, else numbered."""
    leaves = keras.tree.flatten(tensors)
    names = names_of(tensors, [_label_of(leaf) for leaf in leaves])
    specs = {}
    for name, leaf in zip(names, leaves, strict=True):
        leaf = leaf if hasattr(leaf, "dtype") else keras.ops.convert_to_tensor(leaf)
        dtype = tf.as_dtype(keras.backend.standardize_dtype(leaf.dtype))
        specs[name] = tf.TensorSpec((None, *leaf.shape[1:]), dtype, name)
    return ModelInputs(specs, keras.tree.pack_sequence_as(tensors, names), resizable=resizable)


def _label_of(tensor):
    """Return the name that a user gave to an input, or "inputs" if Keras has numbered it."""
    name = getattr(tensor, "name", "") or ""
    return "inputs" if _NUMBERED.fullmatch(name) else name


def names_of(structure, labels):
    """Return a unique identifier for each leaf, from its key or else from its label."""
    names = []
    for (path, _), label in zip(keras.tree.flatten_with_path(structure), labels, strict=True):
        keys = [str(key) for key in path if isinstance(key, str)]
        name = identifier("_".join(keys) or label)
        names.append(unused(name, names))
    return names


def unused(name, names):
    """Return the first of `name`, `name_1`, `name_2`, ... that is not among `names`."""
    number, candidate = 0, name
    while candidate in names:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def identifier(text):
    """Convert text to a tensor name that all formats allow: letters, digits and underscores."""
    name = re.sub(r"\W", "_", text.partition(":")[0], flags=re.ASCII)
    if keyword.iskeyword(name) or name == "self":  # not allowed as the name of an argument
        return f"{name}_"
    return name if name and not name[0].isdigit() else f"_{name}"


def named_outputs(model, outputs):
    """Return a dictionary from names to the output tensors of a model, in their order."""
    leaves = keras.tree.flatten(outputs)
    labels = list(getattr(model, "output_names", ()))
    if isinstance(model, keras.Sequential):
        labels = [model.layers[-1].name]
    if len(labels) != len(leaves):
        labels = [f"output_{number}" for number in range(len(leaves))]
    return dict(zip(names_of(outputs, labels), leaves, strict=True))
