"""`fit` for batches that are computed in parts, by several workers or one after another."""

import functools

import keras
import tensorflow as tf

from keras_bahdanau.models.training_output import reduction_of


def fit_of(workers, parts=1):
    """Return Keras' `fit`, or one that uses `SummedStep` for several workers or `parts`."""
    if workers.count == 1 and parts == 1:
        return keras.Model.fit
    return functools.partial(_fit, workers, parts)


def _fit(
    workers, parts, model, dataset, *, epochs, callbacks, initial_epoch=0, verbose=0, shuffle=False
):
    """Train as `keras.Model.fit` does, with the same calls to callbacks."""
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
        # in a resumed run, a checkpoint may have added the earlier logs of the epoch
        results = model.get_metrics_result().items()
        callbacks.on_epoch_end(epoch, {name: float(value) for name, value in results})
        if model.stop_training:
            break
    callbacks.on_train_end(logs)
    return model.history


class SummedStep:
    """Training step whose gradient is summed over all parts of a batch.

    g = sum_p C_p grad L_p / sum_p C_p

    L_p, the loss of part p, is the mean over its C_p real tokens (or sentences), so g is the
    gradient of the whole batch. Each worker computes its parts one after another, and the results
    are then summed over all workers. The whole gradient is clipped and passed to the optimizer. The
    guided-alignment loss of a part is weighted by the number of all tokens in the part. `spec` is
    the `tf.TensorSpec` of a batch `(inputs, targets, weight)`.
    """

    def __init__(self, model, spec, workers, parts):
        model.build_metrics()
        self.model, self.workers, self.parts = model, workers, parts
        self._loss, *metrics = model.metrics
        self._sums = [variable for metric in metrics for variable in metric.variables]
        self._of_part = tf.function(self._gradient_of_part, jit_compile=model.jit_compile is True)
        self._step = tf.function(self._trained, input_signature=[spec], autograph=False)

    def __call__(self, batch):
        """Train on a batch, and return the metrics of the epoch so far."""
        return {name: float(value) for name, value in self._step(batch).items()}

    def _trained(self, batch):
        before = [tf.identity(variable.value) for variable in self._sums]
        for variable in self._sums:
            variable.assign(tf.zeros_like(variable.value))  # to hold the sum of this step only
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
        """Compute (sums of gradients, (sum of losses, count)) for a worker's batch."""
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
        """Reshape `(batch, ...)` to `(parts, rows per part, ...)`, with padding rows at the end."""
        missing = -tf.shape(rows)[0] % self.parts
        rows = tf.pad(rows, [[0, missing], *([[0, 0]] * (len(rows.shape) - 1))])
        return tf.reshape(rows, tf.concat([[self.parts, -1], tf.shape(rows)[1:]], axis=0))

    def _gradient_of_part(self, inputs, targets, weight):
        """Compute (C_p grad L_p, (C_p L_p, C_p)).

        The gradients are dense tensors with the shapes of the weights; the rest are float32
        scalars.
        """
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
