"""The named signatures of a Keras model, which all formats can write."""

import abc
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_bahdanau.exporters.keras_models.model_inputs import (
    LENGTH,
    identifier,
    is_sequence,
    named_outputs,
    unused,
)
from keras_bahdanau.models.inspection import attention_layers, attention_weights, recording

MAIN = "serving_default"


class ModelCase(NamedTuple):
    """A request to a signature, and Keras' answer."""

    signature: str
    inputs: dict  # name -> array
    expected: dict  # name -> array
    lengths: dict | None = None  # output -> number of steps that count, (batch,); None: all


class ModelSignature(abc.ABC):
    """A signature of a model: a function from named tensors to named tensors.

    Attributes:
        name: String, the name of the signature.
        model: The Keras model.
        inputs: Dictionary from names to `tf.TensorSpec`.
        narrow: True to use only the dtypes float32, int32, uint8 and int8, which every LiteRT
            runtime supports.
    """

    name = MAIN

    def __init__(self, model, model_inputs, rows, narrow=False):
        self.model, self.model_inputs, self.rows, self.narrow = model, model_inputs, rows, narrow
        self.inputs = self.at_border(model_inputs.in_batches(rows))

    def at_border(self, specs):
        """Convert specs to the dtypes that clients send."""
        return {
            name: tf.TensorSpec(spec.shape, border_dtype(spec.dtype, self.narrow), name)
            for name, spec in specs.items()
        }

    def __call__(self, /, **tensors):
        """Compute the outputs, a dictionary, in the dtypes that clients read."""
        outputs = self.outputs(tensors).items()
        return {name: _cast(tf.convert_to_tensor(tensor), self.narrow) for name, tensor in outputs}

    def cast_inputs(self, tensors):
        """Cast the tensors of a request to the model's dtypes, and clip ids to their range."""
        inputs = {}
        for name, spec in self.model_inputs.specs.items():
            tensor = tensors[name]
            tensor = tensor if spec.dtype == tf.string else tf.cast(tensor, spec.dtype)
            if name in self.model_inputs.ids:  # masks read them as well as the Embedding
                last = tf.cast(self.model_inputs.ids[name] - 1, spec.dtype)
                tensor = tf.clip_by_value(tensor, tf.zeros((), spec.dtype), last)
            inputs[name] = tensor
        return inputs

    @abc.abstractmethod
    def outputs(self, tensors):
        """Compute a dictionary of outputs for a dictionary of tensors."""

    @abc.abstractmethod
    def cases(self, batches):
        """Return a list of `ModelCase` for batches of inputs, which are dictionaries of arrays."""

    def request(self, arrays):
        """Convert arrays to the dtypes of a request."""
        return {
            name: np.asarray(arrays[name], spec.dtype.as_numpy_dtype)
            for name, spec in self.inputs.items()
        }


def border_dtype(dtype, narrow):
    """Return the dtype that a tensor has as an input or output of an artefact."""
    dtype = tf.as_dtype(dtype)
    if dtype.is_floating and (narrow or dtype.size < 4):
        return tf.float32
    if narrow and dtype not in (tf.int32, tf.uint8, tf.int8, tf.string):
        return tf.int32
    return dtype


class WholeSignature(ModelSignature):
    """The signature that runs the unchanged model."""

    def outputs(self, tensors):
        outputs = self.model_inputs.call(self.model, self.cast_inputs(tensors))
        return named_outputs(self.model, outputs)

    def cases(self, batches):
        return [ModelCase(self.name, self.request(b), self.expected(b)) for b in batches]

    def expected(self, batch):
        """Return Keras' answer to a batch."""
        specs = self.model_inputs.specs
        tensors = {name: tf.constant(batch[name], spec.dtype) for name, spec in specs.items()}
        outputs = named_outputs(self.model, self.model_inputs.call(self.model, tensors))
        return {name: _array(tensor) for name, tensor in outputs.items()}


class WeightsSignature(WholeSignature):
    """A signature that also outputs the weights of each attention layer in the model."""

    name = "weights"

    def __init__(self, model, *arguments, **keywords):
        self._layers = attention_layers(model)
        if not self._layers:
            raise ValueError(
                "The signature 'weights' needs a model with an attention layer. Received: "
                f"the model {model.name!r}, which has none. Leave it out."
            )
        super().__init__(model, *arguments, **keywords)

    def outputs(self, tensors):
        with recording(self._layers) as records:
            outputs = super().outputs(tensors)
        if not all(map(_is_of_this_package, self._layers.values())):
            # `keras.layers.MultiHeadAttention` has other outputs at padding if it returns weights
            outputs = super().outputs(tensors)
        return {**outputs, **_named_weights(records, outputs)}

    def expected(self, batch):
        outputs = super().expected(batch)
        arrays = {name: batch[name] for name in self.model_inputs.specs}
        if self.model_inputs.arguments is not None:
            return outputs  # `attention_weights` accepts only one structure
        structure = keras.tree.map_structure(arrays.get, self.model_inputs.structure)
        weights = attention_weights(self.model, structure, batch_size=4096)
        return {**outputs, **_named_weights(weights, outputs)}


def _is_of_this_package(layer):
    return type(layer).__module__.split(".")[0] == "keras_bahdanau"


def _named_weights(records, outputs):
    named = {}
    for layer, calls in records.items():
        for weights in calls if isinstance(calls, list) else [calls]:
            named[unused(identifier(f"{layer}_weights"), [*outputs, *named])] = weights
    return named


class BoundedSignature(WholeSignature):
    """A signature for right-padded sequences, with their real lengths as additional inputs."""

    def __init__(self, model, model_inputs, rows, narrow=False):
        super().__init__(model, model_inputs, rows, narrow)
        sequences = [name for name, spec in model_inputs.specs.items() if is_sequence(spec)]
        if not sequences:
            raise ValueError(
                "`real_length` needs a model that reads a sequence. Received: inputs "
                f"{ {name: tuple(spec.shape) for name, spec in self.inputs.items()} }. Leave it "
                "out."
            )
        self.lengths = {
            name: unused(LENGTH if len(sequences) == 1 else f"{name}_{LENGTH}", [*self.inputs])
            for name in sequences
        }
        for name in self.lengths.values():
            self.inputs[name] = tf.TensorSpec((rows,), tf.int32, name)

    def outputs(self, tensors):
        tensors = dict(tensors)
        for name, length in self.lengths.items():
            tensors[name] = _masked(tensors[name], tensors[length])
        return super().outputs(tensors)

    def cast_inputs(self, tensors):
        inputs = super().cast_inputs(tensors)
        for name in self.lengths:
            inputs[name]._keras_mask = tensors[name]._keras_mask
        return inputs

    def cases(self, batches):
        return [self._case(batch) for batch in batches]

    def _case(self, batch):
        """Return a padded request with Keras' answer to each row alone, without padding."""
        (count, *_) = {len(array) for array in batch.values()}
        lengths = {name: np.asarray(batch[key], np.int32) for name, key in self.lengths.items()}
        answers = []
        for row in range(count):
            single = {
                name: batch[name][row : row + 1, : lengths[name][row]]
                if name in lengths
                else batch[name][row : row + 1]
                for name in self.model_inputs.specs
            }
            answers.append(self.expected(single))
        columns = {name: [answer[name] for answer in answers] for name in answers[0]}
        over_time = {
            name: [array.shape[1] for array in arrays]
            for name, arrays in columns.items()
            if len({array.shape for array in arrays}) > 1
        }
        expected = {name: _stacked(arrays) for name, arrays in columns.items()}
        return ModelCase(self.name, self.request(batch), expected, over_time)


def _masked(tensor, length):
    """Set a sequence to zero after its real length, and add the mask that Keras layers read."""
    mask = tf.sequence_mask(length, tf.shape(tensor)[1])  # (batch, time)
    shape = tf.concat([tf.shape(mask), tf.ones(tensor.shape.rank - 2, tf.int32)], axis=0)
    zeroed = tf.where(tf.reshape(mask, shape), tensor, tf.zeros((), tensor.dtype))
    zeroed._keras_mask = mask
    return zeroed


def _stacked(arrays):
    """Join the rows of an answer, and pad the shorter ones with zeros."""
    if len({array.shape for array in arrays}) == 1:
        return np.concatenate(arrays)
    longest = max(array.shape[1] for array in arrays)
    widths = [[(0, 0), (0, longest - a.shape[1])] + [(0, 0)] * (a.ndim - 2) for a in arrays]
    return np.concatenate([np.pad(a, width) for a, width in zip(arrays, widths, strict=True)])


def _array(tensor):
    """Convert a tensor to a NumPy array, and half precision to float32."""
    return _cast(tf.convert_to_tensor(tensor), False).numpy()


def _cast(tensor, narrow):
    return (
        tensor if tensor.dtype == tf.string else tf.cast(tensor, border_dtype(tensor.dtype, narrow))
    )
