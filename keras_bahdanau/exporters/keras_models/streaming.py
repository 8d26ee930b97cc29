"""The signature `step`: one time step of a recurrent model, with states as inputs and outputs."""

import inspect

import keras
import numpy as np
import tensorflow as tf

from keras_bahdanau.exporters.keras_models.model_inputs import (
    identifier,
    is_sequence,
    named_outputs,
    unused,
)
from keras_bahdanau.exporters.keras_models.model_parity import TOLERANCE, distances
from keras_bahdanau.exporters.keras_models.model_signature import ModelCase, ModelSignature
from keras_bahdanau.exporters.keras_models.portable_layers import (
    layers_of,
    portable_layers,
    replaced_calls,
    stateless,
)

STEPS = 12  # number of steps to compare with the whole sequence
_OUTPUT_IS_STATE = keras.layers.LSTMCell, keras.layers.GRUCell, keras.layers.SimpleRNNCell
_WINDOW, _WHOLE, _AXIS = "neighbours of a step", "whole sequence", "time axis"
_MIXING = {  # layers that combine several time steps
    **dict.fromkeys(("Conv1D", "SeparableConv1D", "DepthwiseConv1D", "Conv1DTranspose"), _WINDOW),
    **dict.fromkeys(("MaxPooling1D", "AveragePooling1D", "ZeroPadding1D", "Cropping1D"), _WINDOW),
    **dict.fromkeys(("GlobalAveragePooling1D", "GlobalMaxPooling1D", "Bidirectional"), _WHOLE),
    **dict.fromkeys(("Flatten", "Reshape", "Permute", "RepeatVector", "UpSampling1D"), _AXIS),
}


class StepSignature(ModelSignature):
    """A signature for one time step.

    It takes states and sequences with the time axis removed, and returns outputs and new states.
    Every state is zero before the first step. The name of a state consists of the name of its layer
    and a number, as in `lstm_state_0`. Raises ValueError if an answer needs later steps.
    """

    name = "step"

    def __init__(self, model, model_inputs, rows, narrow=False):
        super().__init__(model, model_inputs, rows, narrow)
        _require_streaming(model)
        self.sequences = [name for name, spec in model_inputs.specs.items() if is_sequence(spec)]
        for name in self.sequences:
            spec = self.inputs[name]
            self.inputs[name] = tf.TensorSpec((rows, *spec.shape[2:]), spec.dtype, name)
        self._over_time = ()
        firsts = {}
        with portable_layers(model), stateless(model):
            zeros = {name: _zeros(spec, 1) for name, spec in model_inputs.specs.items()}
            twice = {
                name: tf.repeat(zeros[name][:, :1], 2, axis=1) if name in self.sequences else zero
                for name, zero in zeros.items()
            }
            whole = named_outputs(model, model_inputs.call(model, twice))
            step = {name: _zeros(spec, 1) for name, spec in self.inputs.items()}
            outputs = self._run(step, firsts.setdefault)
        self._over_time = {
            name
            for name, output in whole.items()
            if (output.shape[1:2], outputs[name].shape[1:2]) == ((2,), (1,))
        }
        self.states = self.at_border(
            {
                name: tf.TensorSpec((rows, *value.shape[1:]), value.dtype, name)
                for name, value in firsts.items()
            }
        )
        self._check_states(firsts, whole)
        self.inputs |= self.states

    def _check_states(self, firsts, outputs):
        """Raise ValueError if there is no state, if one is not zero, or if its name is taken."""
        if not firsts:
            raise ValueError(
                "The signature 'step' needs a model with a recurrent layer. Received: the "
                f"model {self.model.name!r}, which has none. Leave it out."
            )
        for name, value in firsts.items():
            if np.any(value.numpy()):
                raise ValueError(
                    "A state must be zero before the first step of the signature 'step'. Received: "
                    f"{name}, which is not zero. Make the cell's get_initial_state return zeros."
                )
            if name in self.inputs or name in outputs:
                raise ValueError(
                    "States must not have the names of inputs or outputs. Received: "
                    f"{name}. Rename the layer."
                )

    def outputs(self, tensors):
        return self._run(tensors, lambda name, value: tf.cast(tensors[name], value.dtype))

    def _run(self, tensors, state):
        """Run one step, and return outputs and new states.

        `state` is a function that returns a state for (name, initial value).
        """
        inputs = self.cast_inputs(tensors)
        for name in self.sequences:
            inputs[name] = tf.expand_dims(inputs[name], axis=1)  # -> (batch, 1, ...)
        new_states = {}

        def stepwise(layer, call):
            def call_one_step(sequences, initial_state=None, mask=None, training=False):
                return _one_step(layer, sequences, initial_state, mask, state, new_states)

            return call_one_step

        layers = [layer for layer in layers_of(self.model) if isinstance(layer, keras.layers.RNN)]
        with stateless(self.model), replaced_calls(layers, stepwise):
            outputs = named_outputs(self.model, self.model_inputs.call(self.model, inputs))
        for name in self._over_time:
            outputs[name] = outputs[name][:, 0]
        return {**outputs, **new_states}

    def cases(self, batches):
        """Return a request for each step of the first batch.

        The steps are checked against the model's answer for the whole sequence.
        """
        batch = {
            name: batches[0][name][:, :STEPS] if name in self.sequences else batches[0][name]
            for name in self.model_inputs.specs
        }
        rows = len(next(iter(batch.values())))
        states = {name: _zeros(spec, rows).numpy() for name, spec in self.states.items()}
        cases = []
        for step in range(min(batch[name].shape[1] for name in self.sequences)):
            arrays = {
                name: batch[name][:, step] if name in self.sequences else batch[name]
                for name in self.model_inputs.specs
            }
            request = self.request({**arrays, **states})
            with portable_layers(self.model):
                answer = self(**{name: tf.constant(array) for name, array in request.items()})
            answer = {name: tensor.numpy() for name, tensor in answer.items()}
            cases.append(ModelCase(self.name, request, answer))
            states = {name: answer[name] for name in self.states}
        self._require_equal(batch, cases)
        return cases

    def _require_equal(self, batch, cases):
        """Raise ValueError unless the steps give the same answer as the whole sequence."""
        specs = self.model_inputs.specs
        tensors = {name: tf.constant(batch[name], spec.dtype) for name, spec in specs.items()}
        with stateless(self.model):
            outputs = named_outputs(self.model, self.model_inputs.call(self.model, tensors))
        steps = {}
        for name in outputs:
            each = [case.expected[name] for case in cases]
            steps[name] = np.stack(each, axis=1) if name in self._over_time else each[-1]
        whole = ModelCase(self.name, {}, {name: out.numpy() for name, out in outputs.items()})
        for name, distance in distances(whole, steps).items():
            if not distance.difference <= TOLERANCE * distance.scale:
                raise ValueError(
                    "Steps must give the same answer as the whole sequence. Received: output "
                    f"{name!r} of the model {self.model.name!r}, off by {distance.difference:.1e}: "
                    "a layer combines several time steps. Leave out the signature 'step'."
                )


def _one_step(layer, sequences, initial_state, mask, state, new_states):
    """Compute the outputs of a recurrent layer for a sequence of one step, with named states."""
    if initial_state is not None:
        raise ValueError(
            "In the signature 'step', states must start at zero. Received: the layer "
            f"{layer.name!r}, called with initial_state. Leave out 'step'."
        )
    names = []

    def named_state(value):
        name = unused(f"{identifier(layer.name)}_state_{len(names)}", [*new_states, *names])
        names.append(name)
        return state(name, tf.convert_to_tensor(value))

    rows = tf.shape(sequences)[0] if sequences.shape[0] is None else sequences.shape[0]
    states = keras.tree.map_structure(named_state, layer.get_initial_state(rows))
    output, updated = layer.cell(sequences[:, 0], states)
    previous, updated = keras.tree.flatten(states), keras.tree.flatten(updated)
    count = len(previous)
    if mask is not None:  # a masked step leaves output and states unchanged
        output_before = previous[0]
        if not isinstance(layer.cell, _OUTPUT_IS_STATE):
            output_before = named_state(tf.zeros_like(output))
            previous, updated = [*previous, output_before], [*updated, output]
        if layer.zero_output_for_mask:
            output_before = tf.zeros_like(output)
        output = _where(mask[:, 0], output, output_before)
        updated = [_where(mask[:, 0], *pair) for pair in zip(updated, previous, strict=True)]
    new_states |= dict(zip(names, updated, strict=True))
    output = tf.expand_dims(output, axis=1) if layer.return_sequences else output
    if not layer.return_state:
        return output
    return [output, *keras.tree.pack_sequence_as(states, updated[:count])]


def _where(real, new, old):
    shape = tf.concat([tf.shape(real), tf.ones(new.shape.rank - 1, tf.int32)], axis=0)
    return tf.where(tf.reshape(real, shape), new, old)


def _zeros(spec, rows):
    """Return zeros for a spec, with size 1 for axes of unknown size."""
    shape = [rows, *(1 if size is None else size for size in spec.shape[1:])]
    return tf.fill(shape, "") if spec.dtype == tf.string else tf.zeros(shape, spec.dtype)


def _require_streaming(model):
    """Raise ValueError if a layer needs more than one step and its states."""
    for layer in layers_of(model):
        kind = type(layer).__name__
        joined = _MIXING.get(kind)
        if getattr(layer, "go_backwards", False) is True:
            joined = "sequence from its end"
        elif "return_attention_scores" in inspect.signature(layer.call).parameters:
            joined = _WHOLE
        if joined:
            raise ValueError(
                "The signature 'step' needs a model that reads its sequence step by step. "
                f"Received: {layer.name!r} ({kind}), which needs the {joined}. Leave out 'step'."
            )
