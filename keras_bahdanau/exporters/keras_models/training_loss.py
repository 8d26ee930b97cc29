"""The loss in an artefact that learns: a Keras loss in operations that every runtime supports."""

import keras
import numpy as np
import tensorflow as tf

from keras_bahdanau.exporters.keras_models.class_labels import gives_logits

_EPSILON = 1e-7  # as in Keras' masked mean


class PortableCrossentropy:
    """A `SparseCategoricalCrossentropy` whose gradient runs in LiteRT, for sequences of any length.

    The loss is NaN if a label is not a class.
    """

    def __init__(self, loss):
        self._from_logits, self._ignored = loss.from_logits, loss.ignore_class
        self._is_mean = loss.reduction != "sum"

    @staticmethod
    def replaces(loss):
        """Return True if this class computes the same value as a Keras loss."""
        reductions = "sum_over_batch_size", "mean", "sum"
        is_sparse = type(loss) is keras.losses.SparseCategoricalCrossentropy
        return is_sparse and loss.reduction in reductions

    def __call__(self, labels, output):
        labels, classes = tf.cast(labels, tf.int32), output.shape[-1]
        counts = getattr(output, "_keras_mask", None)
        counts = tf.ones_like(labels, tf.bool) if counts is None else counts
        is_class = (labels >= 0) & (labels < classes)
        if self._ignored is not None:
            counts &= labels != self._ignored
            is_class |= labels == self._ignored
        targets = tf.where(is_class[..., tf.newaxis], tf.one_hot(labels, classes), np.nan)
        losses = keras.losses.categorical_crossentropy(
            targets, output, from_logits=self._from_logits
        )
        # a matrix product, because the gradient of a masked sum needs broadcasting
        counts = tf.reshape(tf.cast(counts, tf.float32), (-1, 1))
        total = tf.reshape(tf.matmul(tf.reshape(losses, (1, -1)), counts), ())
        return total / (tf.reduce_sum(counts) + _EPSILON) if self._is_mean else total


class FunctionLoss(keras.losses.Loss):
    """The mean of a function of labels and outputs, as in `model.compile(loss=function)`."""

    def __init__(self, function):
        super().__init__(name=getattr(function, "__name__", None))
        self._function = function
        self.function_name = getattr(function, "__name__", type(function).__name__)

    def call(self, y_true, y_pred):
        return self._function(y_true, y_pred)


def loss_of(model, loss=None):
    """Return the `Loss` for a model with one output.

    Raises ValueError for several losses or for loss weights.
    """
    if loss is None and getattr(model, "compiled", False):
        loss = model.loss
        if model.get_compile_config() and model.get_compile_config().get("loss_weights"):
            raise ValueError(
                "A file learns with one loss, without loss weights. Received: a model compiled "
                "with loss_weights. Set loss=."
            )
    if loss is None:
        outputs = keras.tree.flatten(model.outputs) if getattr(model, "outputs", None) else []
        binary = len(outputs) == 1 and outputs[0].shape[-1] == 1
        kind = "BinaryCrossentropy" if binary else "SparseCategoricalCrossentropy"
        return getattr(keras.losses, kind)(from_logits=gives_logits(model, "loss"))
    losses = keras.tree.flatten(loss)
    if len(losses) != 1:
        raise ValueError(
            f"A file learns with one loss. Received: {len(losses)} losses. Set loss=, and use a "
            "model with one output."
        )
    loss = keras.losses.get(losses[0])
    if loss is keras.losses.sparse_categorical_crossentropy:
        return keras.losses.SparseCategoricalCrossentropy()
    return loss if isinstance(loss, keras.losses.Loss) else FunctionLoss(loss)
