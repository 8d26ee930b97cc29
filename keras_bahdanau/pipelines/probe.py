"""Probes, which measure a model's output without some positions or with other attention weights."""

import abc

import keras
import numpy as np
from keras import ops


class Probe(abc.ABC):
    """Rows of attention weights, and methods that measure the model's output after a change.

    A row belongs to one output: a target token, or the class of an input. The methods that change
    something accept an int array of rows `(requests,)` and one change per request. They return two
    float arrays `(requests,)`: log p of the output of the unchanged model, in nats, and the total
    variation distance from its distribution, from 0 to 1.

    `weights` and bool `mask` are `(rows, positions)`. `inputs`, the index of each row's input, and
    `log_probs`, the log-probabilities under the unchanged model, are `(rows,)`. `reads_vectors` is
    True if the vectors of the input can be replaced, and `weighs_rows` is True if the weights of a
    single row can be replaced.
    """

    reduction, reads_vectors, weighs_rows, unit = 1, True, True, "positions"

    def _set_outputs(self, log_probs, outputs):
        """Set log-probabilities `(rows, steps, classes)` and outputs of the unchanged model."""
        self._outputs, self._probabilities = outputs, np.exp(log_probs)
        self.log_probs = _output_log_probs(log_probs, outputs)

    def hide(self, rows, visible):
        """Hide values from the attention where bool `visible` `(requests, positions)` is False."""
        return self._changed(rows, visible, self._run)

    def replace(self, rows, visible):
        """Replace input vectors with the mean vector where `visible` is False."""

        def run(rows, visible):
            def change(vectors):
                real = _spread(ops.repeat(visible, self.reduction, axis=1), vectors)
                return ops.where(real, vectors, ops.cast(self._mean_vector, vectors.dtype))

            return self._run(rows, visible, change=change)

        return self._changed(rows, visible, run)

    def permute(self, rows, order):
        """Give position j the weight of position `order[:, j]` in each head."""

        def run(rows, order):
            def reweigh(weights):
                return ops.take_along_axis(weights, _expanded(order, weights), axis=-1)

            return self._run(rows, reweigh=reweigh)

        return self._changed(rows, order, run)

    def reweigh(self, rows, weights):
        """Replace the weights of each head with float `weights` `(requests, positions)`."""

        def run(rows, weights):
            return self._run(rows, reweigh=lambda previous: _expanded(weights, previous))

        return self._changed(rows, np.asarray(weights, np.float32), run)

    def leave_one_out(self, remove):
        """Return the drop in log p if one position is removed: float `(rows, positions)`.

        It is 0 at padding. `remove` is the probe's `hide` or `replace`.
        """
        rows, positions = np.nonzero(self.mask)
        visible = self.mask[rows]
        visible[np.arange(len(rows)), positions] = False
        effects = np.zeros(self.mask.shape)
        effects[rows, positions] = self.log_probs[rows] - remove(rows, visible)[0]
        return effects

    def gradients(self):
        """Return gradient x input, sum_u x_ju d log p / d x_ju for input vectors x.

        The result is float32 `(rows, positions)`.
        """
        gradients = np.zeros(self.mask.shape, np.float32)
        for part in self._parts(np.arange(len(self.mask))):

            def log_prob(factors, part=part):
                def change(vectors):
                    return vectors * ops.cast(_spread(factors, vectors), vectors.dtype)

                log_probs = self._run(part, change=change)
                return ops.take_along_axis(log_probs, self._outputs[part][..., np.newaxis], axis=-1)

            ones = np.ones((len(part), self.mask.shape[1] * self.reduction), np.float32)
            by_vector = _gradient(log_prob, ones).reshape(len(part), -1, self.reduction)
            gradients[part] = by_vector.sum(axis=-1)
        return gradients

    def _batches(self, count):
        """Return slices of `count` inputs, one per batch."""
        size = self.batch_size
        return [slice(start, start + size) for start in range(0, count, size)]

    def _parts(self, rows):
        """Split requests into parts of similar cost, each of at most `batch_size` requests."""
        order = np.argsort(self.steps[rows], kind="stable")
        return np.split(order, range(self.batch_size, len(order), self.batch_size))

    def _changed(self, rows, changes, run):
        log_probs, distances = np.zeros(len(rows)), np.zeros(len(rows))
        for part in self._parts(rows):
            changed = run(rows[part], ops.convert_to_tensor(changes[part]))
            changed = ops.convert_to_numpy(changed)  # (requests, steps, classes)
            log_probs[part] = _output_log_probs(changed, self._outputs[rows[part]])
            change = np.abs(np.exp(changed) - self._probabilities[rows[part]])
            distances[part] = change.sum(axis=-1).mean(axis=-1) / 2
        return log_probs, distances

    @abc.abstractmethod
    def _run(self, rows, visible=None, reweigh=None, change=None):
        """Return float32 log-probabilities `(requests, steps, classes)` of a changed model.

        `visible` and `reweigh` are as in `intervening`. `change` is a function of the input vectors
        `(requests, time, units)`. With `change`, `visible` marks the vectors that stay unchanged.
        """


def require_rows(inputs):
    """Raise ValueError if there is no input to measure."""
    if not len(inputs):
        raise ValueError(
            "At least one input must have two real positions and an output. Received: no such "
            "input. Pass other inputs."
        )


def _gradient(function, x):
    """Return the gradient of the sum of `function(x)` with respect to a float32 array `x`."""
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        return np.asarray(jax.grad(lambda x: ops.sum(function(x)))(ops.convert_to_tensor(x)))
    x = ops.convert_to_tensor(x)
    if backend == "torch":
        x.requires_grad_()
        ops.sum(function(x)).backward()
        return ops.convert_to_numpy(x.grad)
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(x)
        total = ops.sum(function(x))
    return tape.gradient(total, x, unconnected_gradients="zero").numpy()


def _output_log_probs(log_probs, outputs):
    """Return log p `(rows,)` of outputs `(rows, steps)`, from `(rows, steps, classes)`."""
    log_probs = np.take_along_axis(log_probs, outputs[..., np.newaxis], axis=-1)
    return log_probs[..., 0].sum(axis=-1, dtype=np.float64)


def _spread(positions, vectors):
    """Reshape `(batch, positions)` to `(batch, time, 1, ...)`, to match `vectors`."""
    positions = ops.convert_to_tensor(positions)[:, : vectors.shape[1]]
    return ops.reshape(positions, (*positions.shape, *[1] * (len(vectors.shape) - 2)))


def _expanded(array, weights):
    """Broadcast `(batch, positions)` to weights of shape `(batch, [target_time,] positions)`."""
    array = ops.expand_dims(array, axis=1) if len(weights.shape) == 3 else array
    return ops.broadcast_to(array, ops.shape(weights))
