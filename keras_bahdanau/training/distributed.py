"""`fit` of a model whose batches are computed in parts, by several workers or in turn."""

import functools

import keras
import tensorflow as tf

from keras_bahdanau.models.training_output import reduction_of


def fit_of(workers, parts=1):
    """The `fit` of Keras, or `SummedStep` if each worker splits its batch into `parts`."""
    if workers.count == 1 and parts == 1:
        return keras.Model.fit
    return functools.partial(_fit, workers, parts)


def _fit(
    workers, parts, model, dataset, *, epochs, callbacks, initial_epoch=0, verbose=0, shuffle=False
):
    """Train as `keras.Model.fit` does, with the same calls of callbacks."""
    steps = int(dataset.cardinality())
    workers.check_same("steps", steps)
    step = SummedStep(model, dataset.element_spec, workers, parts)
    callbacks = keras.callbacks.CallbackList(
        callbacks, add_history=True, model=model, verbose=verbose, epochs=epochs, steps=steps
    )
    model.stop_training = False
    callbacks.on_train_begin()
    logs = {}
    for epoch in range(initial_epoch, epochs):
        model.reset_metrics()
        callbacks.on_epoch_begin(epoch)
        for number, batch in enumerate(dataset):
            callbacks.on_train_batch_begin(number)
            logs = step(batch)
            callbacks.on_train_batch_end(number, logs)
            if model.stop_training:
                break
        # a checkpoint may have added the logs from before a resumption
        results = model.get_metrics_result().items()
        callbacks.on_epoch_end(epoch, {name: float(value) for name, value in results})
        if model.stop_training:
            break
    callbacks.on_train_end(logs)
    return model.history


class SummedStep:
    """One training step whose gradient is summed over all parts of a batch.

    g = sum_p C_p grad L_p / sum_p C_p

    L_p, the loss of part p, is the mean over its C_p real tokens (or sentences), so g is the
    gradient of the whole batch. A worker computes its parts in turn, then one sum runs over all
    workers. Clipping and the optimizer get the whole gradient. All tokens of a part weight its loss
    of guided alignment. `spec` is the `tf.TensorSpec` of a batch `(inputs, targets, weight)`.
    """

    def __init__(self, model, spec, workers, parts):
        model.build_metrics()
        self.model, self.workers, self.parts = model, workers, parts
        self._loss, *metrics = model.metrics
        self._sums = [variable for metric in metrics for variable in metric.variables]
        self._of_part = tf.function(self._gradient_of_part, jit_compile=model.jit_compile is True)
        self._step = tf.function(self._trained, input_signature=[spec], autograph=False)

    def __call__(self, batch):
        """Train on a batch; return the metrics of the epoch so far."""
        return {name: float(value) for name, value in self._step(batch).items()}

    def _trained(self, batch):
        before = [tf.identity(variable.value) for variable in self._sums]
        for variable in self._sums:
            variable.assign(tf.zeros_like(variable.value))  # it holds only this step's
        gradients, counts = self._gradients(batch)
        rows = tf.cast(tf.shape(batch[2])[0], tf.float32)
        added = [tf.convert_to_tensor(variable.value) for variable in self._sums]
        whole = self.workers.sum([*gradients, *counts, rows, *added])
        size = len(gradients)
        (total, count, rows), added = whole[size : size + 3], whole[size + 3 :]
        for variable, start, more in zip(self._sums, before, added, strict=True):
            variable.assign(start + more)
        means = [tf.math.divide_no_nan(gradient, count) for gradient in whole[:size]]
        self.model.optimizer.apply(means, self.model.trainable_variables)
        self._loss.update_state(tf.math.divide_no_nan(total, count), sample_weight=rows)
        return self.model.get_metrics_result()

    def _gradients(self, batch):
        """(sums of gradients, (sum of losses, count)) of a worker's batch."""
        if self.parts == 1:
            return self._of_part(*batch)
        zeros = [tf.zeros(variable.shape) for variable in self.model.trainable_variables]
        return tf.foldl(
            lambda sums, part: tf.nest.map_structure(tf.add, sums, self._of_part(*part)),
            tf.nest.map_structure(self._split, batch),
            initializer=(zeros, (tf.zeros(()), tf.zeros(()))),
            parallel_iterations=1,
        )

    def _split(self, rows):
        """Rows `(batch, ...)` as `(parts, rows of a part, ...)`, with empty parts at the end."""
        missing = -tf.shape(rows)[0] % self.parts
        rows = tf.pad(rows, [[0, missing], *([[0, 0]] * (len(rows.shape) - 1))])
        return tf.reshape(rows, tf.concat([[self.parts, -1], tf.shape(rows)[1:]], axis=0))

    def _gradient_of_part(self, inputs, targets, weight):
        """(C_p grad L_p, (C_p L_p, C_p)): dense tensors like the weights, and float32 scalars."""
        model = self.model
        with tf.GradientTape() as tape:
            output = model(inputs, training=True)
            loss = model.compute_loss(inputs, targets, output, weight, training=True)
            count = reduction_of(model.loss).count(weight)
            total = loss * count
        gradients = tape.gradient(
            total,
            [variable.value for variable in model.trainable_variables],
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        return [tf.convert_to_tensor(gradient) for gradient in gradients], (total, count)
