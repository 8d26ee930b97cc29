"""The signatures `infer`, `train` and `initial_state`, for a model whose last layers learn."""

import functools

import numpy as np
import tensorflow as tf

from keras_bahdanau.exporters.keras_models.model_inputs import named_outputs, unused
from keras_bahdanau.exporters.keras_models.model_parity import TOLERANCE
from keras_bahdanau.exporters.keras_models.model_signature import (
    ModelCase,
    ModelSignature,
    WholeSignature,
)
from keras_bahdanau.exporters.keras_models.portable_layers import portable_layers

LABELS, LOSS = "labels", "loss"
_STEPS = 3  # training steps per comparison


def learning_signatures(head, *arguments):
    """Return a dictionary of signatures for a `TrainableHead`; arguments as in `ModelSignature`.

    All of them are pure functions: weights and optimizer state are inputs and outputs. So they run
    in every runtime, requests don't affect each other, and a host can undo steps.
    """
    infer = InferSignature(head, *arguments)
    train = TrainSignature(head, *arguments)
    return {kind.name: kind for kind in (infer, train, InitialStateSignature(head, *arguments))}


class InferSignature(WholeSignature):
    """The model, with the weights of its head as additional inputs."""

    name = "infer"

    def __init__(self, head, *arguments):
        super().__init__(*arguments)
        self.head, self.state = head, head.first_state()
        taken = {*self.model_inputs.specs, *self.output_specs, LOSS}
        if taken & set(self.state):
            raise ValueError(
                "Weights must not have the names of inputs or outputs. Received: "
                f"{', '.join(sorted(taken & set(self.state)))}. Rename the layer."
            )
        self.inputs |= self._specs(head.weights)

    def _specs(self, names):
        return {
            name: tf.TensorSpec(self.state[name].shape, self.state[name].dtype, name)
            for name in names
        }

    @functools.cached_property
    def output_specs(self):
        """Dictionary from the name of each model output to its spec."""

        def outputs(**tensors):
            return WholeSignature.outputs(self, tensors)

        with portable_layers(self.model):
            graph = tf.function(outputs, autograph=False)
            specs = self.at_border(self.model_inputs.in_batches(self.rows))
            return graph.get_concrete_function(**specs).structured_outputs

    def outputs(self, tensors):
        with self.head.replaced(tensors):
            return super().outputs(tensors)

    def request(self, arrays):
        return super().request({**self.head.first_state(), **arrays})


class TrainSignature(InferSignature):
    """One optimizer step on a batch: maps inputs, labels and state to the loss and the new state.

    The model runs as in inference: without dropout, and with frozen statistics. If the loss or a
    weight is not finite, the step returns a NaN loss and leaves the state unchanged.
    """

    name = "train"

    def __init__(self, head, *arguments):
        super().__init__(head, *arguments)
        if len(self.output_specs) != 1:
            raise ValueError(
                "The signature 'train' needs a model with one output. Received: "
                f"{len(self.output_specs)} outputs. Pass a keras.Model with the one that learns."
            )
        (output,) = self.output_specs.values()
        shape = output.shape[:-1] if head.sparse else output.shape
        self.labels = unused(LABELS, [*self.model_inputs.specs, *self.state])
        dtype = tf.int32 if head.sparse else tf.float32
        self.inputs = {
            **{name: self.inputs[name] for name in self.model_inputs.specs},
            self.labels: tf.TensorSpec(shape, dtype, self.labels),
            **self._specs(self.state),
        }
        self.training = {
            **head.described,
            "labels": self.labels,
            "classes": output.shape[-1] if head.sparse else None,
            "ignored": head.ignored,
            "weights": [*head.weights],
            "state": [*self.state],
        }

    def outputs(self, tensors):
        weights = {name: tensors[name] for name in self.head.weights}
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(weights)
            with self.head.replaced(weights) as scope:
                (output,) = WholeSignature.outputs(self, tensors).values()
            labels = tensors[self.labels]
            loss = self.head.total_loss(labels, output, weights, scope.losses)
        gradients = tape.gradient(loss, weights)
        state = {name: tensors[name] for name in self.state}
        loss, state = self.head.update(state, loss, gradients)
        return {LOSS: tf.reshape(loss, (1,)), **state}

    @functools.cached_property
    def _graph(self):
        with portable_layers(self.model):
            return tf.function(self, autograph=False).get_concrete_function(**self.inputs)

    def cases(self, batches):
        """Run a few steps on each batch, and check them against training steps of Keras."""
        cases, random = [], np.random.default_rng(0)
        for batch in batches:
            (output,) = self.expected(batch).values()
            steps, state = [], self.head.first_state()
            for _ in range(_STEPS):
                labels = self._drawn_labels(random, output.shape)
                request = self.request({**batch, self.labels: labels, **state})
                tensors = {name: tf.constant(array) for name, array in request.items()}
                answer = {name: tensor.numpy() for name, tensor in self._graph(**tensors).items()}
                steps.append(ModelCase(self.name, request, answer))
                state = {name: answer[name] for name in self.state}
            self._require_equal(steps)
            cases += steps
        return cases

    def _drawn_labels(self, random, shape):
        """Draw random labels for an output of this shape."""
        if self.head.sparse:
            return random.integers(shape[-1], size=shape[:-1])
        if shape[-1] == 1:
            return random.integers(2, size=shape)
        return np.eye(shape[-1])[random.integers(shape[-1], size=shape[:-1])]

    def _require_equal(self, steps):
        """Raise ValueError unless the steps match Keras' own training steps."""
        names = self.model_inputs.specs

        def output(request):
            outputs = self.model_inputs.call(self.model, self.cast_inputs(request))
            return next(iter(named_outputs(self.model, outputs).values()))

        requests = [
            ({name: tf.constant(step.inputs[name]) for name in names}, step.inputs[self.labels])
            for step in steps
        ]
        trained = self.head.keras_steps(output, requests)
        for step, (loss, weights) in zip(steps, trained, strict=True):
            if not np.isfinite(loss):
                continue  # such a step changes nothing
            for name, array in {LOSS: loss, **weights}.items():
                scale = max(1.0, float(np.abs(array).max()))
                difference = float(np.abs(step.expected[name] - array).max())
                if not difference <= TOLERANCE * scale:
                    raise ValueError(
                        "A step must equal Keras' own training step. Received: "
                        f"{name!r}, off by {difference:.1e}. Choose a simpler loss or fewer layers."
                    )


class InitialStateSignature(ModelSignature):
    """The state before the first step of `train`: the exported weights, and zeros. No inputs."""

    name = "initial_state"

    def __init__(self, head, *arguments):
        super().__init__(*arguments)
        self.head, self.inputs = head, {}

    def outputs(self, tensors):
        with tf.init_scope():  # outside the graph, where arrays have values
            state = self.head.first_state()
        weights = {name: tf.identity(v.value) for name, v in self.head.weights.items()}
        return {name: weights.get(name, tf.constant(array)) for name, array in state.items()}

    def cases(self, batches):
        return [ModelCase(self.name, {}, self.head.first_state())]
