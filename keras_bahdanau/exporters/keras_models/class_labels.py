"""Add class labels and probabilities after a model, or a `Source` before it, in the graph."""

from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_bahdanau.exporters.keras_models.model_inputs import has_time, named_outputs
from keras_bahdanau.exporters.keras_models.model_signature import (
    ModelCase,
    ModelSignature,
    WholeSignature,
)

_PROBABILITIES = "softmax", "sigmoid"  # activations that give probabilities


class Labels(NamedTuple):
    """The names of a model's classes.

    Attributes:
        names: Tuple of strings, in the order of the output's last axis. A binary model has two:
            the names of class 0 and of class 1.
        from_logits: True if the output is logits instead of probabilities.
        binary: True if the output is a single number for two classes.
    """

    names: tuple
    from_logits: bool
    binary: bool

    @classmethod
    def of_model(cls, model, names, from_logits=None):
        """Create the `Labels` for the only output of a model.

        Raises ValueError if the names don't match the output.
        """
        names = tuple(names)
        if not names or not all(isinstance(name, str) for name in names):
            raise ValueError(
                f"`labels` must be a list of strings. Received: labels={list(names)!r:.80}."
            )
        outputs = keras.tree.flatten(model.outputs) if getattr(model, "outputs", None) else []
        width = outputs[0].shape[-1] if len(outputs) == 1 else None
        if len(outputs) > 1:
            raise ValueError(
                "`labels` need a model with one output. Received: "
                f"{len(outputs)} outputs. Pass a keras.Model with only the output to label."
            )
        binary = width == 1
        if width is not None and len(names) != (2 if binary else width):
            raise ValueError(
                "`labels` must contain a name for each class. Received: "
                f"{len(names)} labels for an output of width {width}. Correct them."
            )
        if from_logits is None:
            from_logits = gives_logits(model)
        return cls(names, from_logits, binary)

    def outputs(self, output):
        """Compute `label`, `probability` and `probabilities` from an output.

        The output has the shape `(batch, ..., classes)`, or `(batch, ..., 1)` for a binary model.
        """
        output = tf.cast(output, tf.float32)
        if self.from_logits:
            output = tf.sigmoid(output) if self.binary else tf.nn.softmax(output)
        if self.binary:
            output = tf.concat([1.0 - output, output], axis=-1)
        best = tf.argmax(output, axis=-1, output_type=tf.int32)
        return {
            "label": tf.gather(tf.constant(self.names), best),
            "probability": tf.reduce_max(output, axis=-1),
            "probabilities": output,
        }


def gives_logits(model, setting="from_logits"):
    """Return True if the last layer has no activation, False if it gives probabilities.

    Raises ValueError for any other activation.
    """
    last = model.layers[-1] if getattr(model, "layers", None) else None
    while last is not None and hasattr(last, "layer"):  # a wrapper such as TimeDistributed
        last = last.layer
    activation = getattr(getattr(last, "activation", None), "__name__", None)
    if activation in _PROBABILITIES or isinstance(last, keras.layers.Softmax):
        return False
    if activation == "linear":
        return True
    remedy = "from_logits=False for probabilities, True for logits"
    if setting != "from_logits":
        remedy = f"{setting}="
    raise ValueError(
        f"`{setting}` must be set for this last layer. Received: {setting}=None, and the layer "
        f"{type(last).__name__} with the activation {activation}. Pass {remedy}."
    )


class LabelledSignature(ModelSignature):
    """A signature that replaces the only output of another one by labels: see `Labels.outputs`."""

    def __init__(self, signature, labels):
        self.signature, self.labels = signature, labels
        self.model, self.model_inputs = signature.model, signature.model_inputs
        self.rows, self.narrow, self.inputs = signature.rows, signature.narrow, signature.inputs
        self.lengths = getattr(signature, "lengths", {})

    def outputs(self, tensors):
        (output,) = self.signature.outputs(tensors).values()
        return self.labels.outputs(output)

    def cases(self, batches):
        return [
            case._replace(expected=self._expected(case)) for case in self.signature.cases(batches)
        ]

    def _expected(self, case):
        (output,) = case.expected.values()
        return {name: tensor.numpy() for name, tensor in self.labels.outputs(output).items()}


class SourceSignature(WholeSignature):
    """A signature from raw inputs of a `Source`, such as strings, to outputs or labels."""

    def __init__(self, source, labels, model, model_inputs, rows, narrow=False):
        super().__init__(model, model_inputs, rows, narrow)
        self.source, self.labels = source, labels
        self.inputs = {
            name: tf.TensorSpec(spec.shape, spec.dtype, name)
            for name, spec in source.inputs.items()
        }
        self._matched = _matched(source, model_inputs)
        specs = model_inputs.specs.values()
        lengths = [spec.shape[1] for spec in specs if has_time(spec) and spec.shape[1]]
        self._longest = min(lengths, default=source.longest)

    def outputs(self, tensors):
        _, features, truncated = self.source.cut_request(self._longest, **tensors)
        named, inputs = self.source.named(features), {}
        for name, spec in self.model_inputs.specs.items():
            tensor = named[self._matched[name]]
            if has_time(spec) and spec.shape[1]:
                missing = spec.shape[1] - tf.shape(tensor)[1]
                widths = [[0, 0], [0, missing]] + [[0, 0]] * (tensor.shape.rank - 2)
                tensor = tf.ensure_shape(tf.pad(tensor, widths), (None, *spec.shape[1:]))
            inputs[name] = tf.cast(tensor, spec.dtype)
            if has_time(spec) and spec.shape.rank == 3:
                lengths = self.source.lengths(features)
                inputs[name]._keras_mask = tf.sequence_mask(lengths, tf.shape(tensor)[1])
        outputs = named_outputs(self.model, self.model_inputs.call(self.model, inputs))
        if self.labels is not None:
            (output,) = outputs.values()
            outputs = self.labels.outputs(output)
        return {**outputs, "truncated": truncated}

    def batches(self, examples=None):
        """Return requests: two edge cases alone, then all edge cases and examples in one batch."""
        raw = [*self.source.edge_cases, *self.source.examples, *(examples or ())]
        return [self.source.requests([source]) for source in raw[:2]] + [self.source.requests(raw)]

    def cases(self, batches):
        cases = []
        for batch in batches:
            outputs = self(**{name: tf.constant(array) for name, array in batch.items()})
            expected = {name: np.asarray(tensor) for name, tensor in outputs.items()}
            cases.append(ModelCase(self.name, batch, expected))
        return cases


def _matched(source, model_inputs):
    """Return a dictionary from the name of each model input to the name of its feature.

    An input has the name of its feature; the name of a single input does not matter.
    """
    features = source.named(source.feature_spec)
    names = [*model_inputs.specs]
    if len(names) == 1 and names[0] not in features:
        return {names[0]: next(iter(features))}
    if missing := [name for name in names if name not in features]:
        raise ValueError(
            "Each input of the model must have the name of a feature of the source: "
            f"{', '.join(features)}. Received: {', '.join(missing)}. Rename keras.Input(name=...)."
        )
    return {name: name for name in names}
