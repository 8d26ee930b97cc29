"""The layers that learn in an artefact: their weights, their loss and their optimizer steps."""

import contextlib
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_bahdanau.exporters.keras_models.model_inputs import identifier, unused
from keras_bahdanau.exporters.keras_models.portable_layers import layers_of
from keras_bahdanau.exporters.keras_models.training_loss import PortableCrossentropy, loss_of
from keras_bahdanau.settings.guesses import nearest

ITERATIONS = "iterations"


class SGDStep(NamedTuple):
    """An update step of `keras.optimizers.SGD`."""

    learning_rate: float
    momentum: float
    nesterov: bool

    @property
    def slots(self):
        return ("momentum",) if self.momentum else ()

    def update(self, weight, gradient, slots, iterations):
        """Return the new weight and the new slots."""
        if not slots:
            return weight - self.learning_rate * gradient, ()
        momentum = self.momentum * slots[0] - self.learning_rate * gradient
        if self.nesterov:
            return weight + self.momentum * momentum - self.learning_rate * gradient, (momentum,)
        return weight + momentum, (momentum,)


class AdamStep(NamedTuple):
    """An update step of `keras.optimizers.Adam`."""

    learning_rate: float
    beta_1: float
    beta_2: float
    epsilon: float

    slots = "momentum", "velocity"

    def update(self, weight, gradient, slots, iterations):
        """Return the new weight and the new slots."""
        step = tf.cast(iterations + 1, tf.float32)  # (1,)
        first, second = tf.pow(self.beta_1, step), tf.pow(self.beta_2, step)
        rate = self.learning_rate * tf.sqrt(1.0 - second) / (1.0 - first)
        momentum, velocity = slots
        momentum += (gradient - momentum) * (1.0 - self.beta_1)
        velocity += (tf.square(gradient) - velocity) * (1.0 - self.beta_2)
        return weight - momentum * rate / (tf.sqrt(velocity) + self.epsilon), (momentum, velocity)


_STEPS = {keras.optimizers.SGD: SGDStep, keras.optimizers.Adam: AdamStep}
_UNSUPPORTED = (  # settings of a Keras optimizer that must be off
    *("weight_decay", "clipnorm", "global_clipnorm", "clipvalue", "use_ema", "amsgrad"),
    *("loss_scale_factor", "gradient_accumulation_steps"),
)


class TrainableHead:
    """The layers of a model that learn, while all other layers are frozen.

    Args:
        model: Keras model with one output.
        trainable: Tuple of layer names; None for the last `Dense` layer.
        loss: As in `model.compile`; None for the loss that the model was compiled with, or else
            the crossentropy of its classes.
        optimizer: "sgd", "adam", or a `keras.optimizers.SGD` or `Adam`; None for the optimizer
            that the model was compiled with, or else SGD.
        learning_rate: Positive float; None for the learning rate of the optimizer.

    Attributes:
        weights: Dictionary from names, such as "mood_kernel", to Keras variables.
        loss: `keras.losses.Loss`.
        sparse: True if the labels are class indices.
        ignored: Integer, the label that the loss ignores, or None.
    """

    def __init__(self, model, trainable=None, loss=None, optimizer=None, learning_rate=None):
        self.weights = {}
        for layer in _layers(model, trainable):
            for variable in layer.trainable_variables:
                name = unused(identifier(variable.path.replace("/", "_")), self.weights)
                if not any(variable is known for known in self.weights.values()):
                    self.weights[name] = variable
        self.loss = self._keras_loss = loss_of(model, loss)
        kind = getattr(self.loss, "function_name", type(self.loss).__name__)
        self.sparse = "sparse" in kind.lower()
        self.ignored = getattr(self.loss, "ignore_class", None)
        if PortableCrossentropy.replaces(self.loss):
            self.loss = PortableCrossentropy(self.loss)
        self._optimizer = _optimizer(model, optimizer, learning_rate)
        config = self._optimizer.get_config()
        step = _STEPS[type(self._optimizer)]
        self._step = step(**{name: config[name] for name in step._fields})
        self.described = {
            "loss": kind,
            "optimizer": type(self._optimizer).__name__,
            "learning_rate": config["learning_rate"],
        }

    def first_state(self):
        """Return named arrays, the state before the first step: weights, then optimizer state."""
        state = {name: variable.numpy() for name, variable in self.weights.items()}
        for name, variable in self.weights.items():
            for slot in self._step.slots:
                state[f"{name}_{slot}"] = np.zeros(variable.shape, np.float32)
        if isinstance(self._step, AdamStep):
            state[ITERATIONS] = np.zeros(1, np.int32)
        return state

    @contextlib.contextmanager
    def replaced(self, tensors):
        """Use the weights in `tensors` inside the block; yield the `StatelessScope`."""
        mapping = [(variable, tensors[name]) for name, variable in self.weights.items()]
        with keras.StatelessScope(mapping, collect_losses=True) as scope:
            yield scope

    def total_loss(self, labels, output, weights, added, loss=None):
        """Sum the loss of the output, of regularizers, and the losses `added` by layers."""
        losses = [(loss or self.loss)(labels, output), *map(tf.reduce_sum, added)]
        for name, variable in self.weights.items():
            if variable.regularizer is not None:
                losses.append(variable.regularizer(weights[name]))
        if losses[0].shape.rank != 0:
            raise ValueError(
                "A loss must be one number for a batch. Received: a loss with the shape "
                f"{tuple(losses[0].shape)}. Give it a reduction, such as 'sum_over_batch_size'."
            )
        return tf.add_n(losses)

    def update(self, state, loss, gradients):
        """Return (loss, next state), or (NaN, unchanged state) if a value is not finite."""
        updated, iterations = dict(state), state.get(ITERATIONS)
        for name, gradient in gradients.items():
            if gradient is None:
                raise ValueError(
                    "A layer that learns must affect the output. Received: the weight "
                    f"{name!r}, on which the loss does not depend. Leave its layer out."
                )
            slots = [f"{name}_{slot}" for slot in self._step.slots]
            gradient = tf.convert_to_tensor(gradient)  # the gradient of an Embedding is sparse
            updated[name], values = self._step.update(
                state[name], gradient, [state[slot] for slot in slots], iterations
            )
            updated |= dict(zip(slots, values, strict=True))
        finite = tf.abs(loss) < np.inf
        for tensor in updated.values():
            if tensor.dtype.is_floating:  # sum, because LiteRT's maximum ignores NaN
                finite &= tf.reduce_sum(tf.abs(tensor)) < np.inf
        if iterations is not None:
            updated[ITERATIONS] = iterations + 1
        kept = {name: tf.where(finite, updated[name], state[name]) for name in state}
        return tf.where(finite, loss, np.nan), kept

    def keras_steps(self, call, requests):
        """Yield (loss, weights) after each training step by Keras, then restore the model.

        `call` returns the output for a request, which is a dictionary of tensors. `requests` are
        pairs (request, labels).
        """
        variables, before = [*self.weights.values()], [v.numpy() for v in self.weights.values()]
        optimizer = type(self._optimizer).from_config(self._optimizer.get_config())
        optimizer.build(variables)

        def step(request, labels):
            values = {name: variable.value for name, variable in self.weights.items()}
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                for value in values.values():
                    tape.watch(value)
                with keras.StatelessScope(collect_losses=True) as scope:
                    output = call(request)
                loss = self.total_loss(labels, output, values, scope.losses, self._keras_loss)
            gradients = tape.gradient(loss, [*values.values()])
            optimizer.apply(gradients, variables)
            return loss

        compiled = tf.function(step, autograph=False)
        try:
            for request, labels in requests:
                loss = compiled(request, labels)
                yield loss.numpy(), {name: v.numpy() for name, v in self.weights.items()}
        finally:
            for variable, array in zip(variables, before, strict=True):
                variable.assign(array)


def _layers(model, names):
    """Return the layers with these names.

    Raises ValueError for unknown names and for layers without trainable weights.
    """
    layers = [layer for layer in layers_of(model) if layer is not model]
    if names is None:
        layers = [layer for layer in layers if isinstance(layer, keras.layers.Dense)][-1:]
        if not layers:
            raise ValueError(
                "The signature 'train' needs layers that learn. Received: trainable=None, and a "
                "model without a Dense layer. Set trainable= to names of layers."
            )
    else:
        by_name = {layer.name: layer for layer in layers}
        for name in names:
            if name not in by_name:
                raise ValueError(
                    "`trainable` must name layers of the model. Received: trainable="
                    f"{list(names)!r:.120}{nearest(name, by_name)}"
                )
        layers = [by_name[name] for name in names]
    for layer in layers:
        if not layer.trainable_variables:
            raise ValueError(
                "A layer that learns must have trainable weights. Received: "
                f"{layer.name!r} ({type(layer).__name__}), which has none. Leave it out, or set "
                "layer.trainable=True."
            )
    return layers


def _optimizer(model, optimizer, learning_rate):
    """Return a new Keras optimizer. Raises ValueError if it is not supported."""
    if optimizer is None:
        optimizer = getattr(model, "optimizer", None) or "sgd"
    by_name = {kind.__name__.lower(): kind for kind in _STEPS}
    if isinstance(optimizer, str) and optimizer.lower() in by_name:
        optimizer = by_name[optimizer.lower()]()
    if type(optimizer) not in _STEPS:
        received = optimizer if isinstance(optimizer, str) else type(optimizer).__name__
        raise ValueError(
            "`optimizer` must be SGD or Adam. Received: optimizer="
            f"{received!r:.80}. Use optimizer='adam'."
        )
    config = optimizer.get_config()
    for name in _UNSUPPORTED:
        if config.get(name):
            raise ValueError(
                f"An optimizer in a file must be plain. Received: {name}={config[name]!r}. Set "
                f"optimizer={type(optimizer).__name__.lower()!r} and learning_rate=."
            )
    if learning_rate is not None:
        config["learning_rate"] = learning_rate
    if not isinstance(config["learning_rate"], int | float):
        raise ValueError(
            "The learning rate in a file must be a number. Received: a schedule. Set "
            "learning_rate=."
        )
    return type(optimizer).from_config(config)
