"""Adam with one kernel per update, Adam with averaged weights, and context managers for both."""

import contextlib

import keras

from keras_bahdanau.optimizers.rounded_weights import RoundingOptimizer


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Adam(keras.optimizers.Adam):
    """Adam optimizer that updates each variable with a single TensorFlow kernel.

    Arguments, variables and checkpoints are the same as in `keras.optimizers.Adam`. The weights are
    also the same, except for rounding errors of 1e-5 of an update. Keras' own update is used on
    other backends, with `amsgrad`, for variables in half precision, and for sparse gradients
    without clipping.

    Example:
        >>> optimizer = keras_bahdanau.optimizers.Adam(1e-3, global_clipnorm=5.0)
    """

    def update_step(self, gradient, variable, learning_rate):
        if not self._has_kernel(gradient, variable):
            super().update_step(gradient, variable, learning_rate)
            return
        import tensorflow as tf

        index, dtype = self._get_variable_index(variable), variable.dtype
        step = tf.cast(self.iterations + 1, dtype)
        beta_1, beta_2 = tf.constant(self.beta_1, dtype), tf.constant(self.beta_2, dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].value.handle,
            v=self._velocities[index].value.handle,
            beta1_power=beta_1**step,
            beta2_power=beta_2**step,
            lr=tf.cast(learning_rate, dtype),
            beta1=beta_1,
            beta2=beta_2,
            epsilon=tf.constant(self.epsilon, dtype),
            grad=tf.cast(gradient, dtype),
        )

    def _has_kernel(self, gradient, variable):
        """Return True for dense gradients of float32 or float64 variables, without `amsgrad`.

        For sparse gradients, Keras squares the slices before it sums them.
        """
        if not _on_tensorflow() or self.amsgrad:
            return False
        is_wide = keras.backend.standardize_dtype(variable.dtype) in ("float32", "float64")
        return is_wide and not hasattr(gradient, "indices")

    def _clip_gradients(self, grads):
        if not _on_tensorflow() or self.clipnorm or not self.global_clipnorm:
            return super()._clip_gradients(grads)
        import tensorflow as tf

        clipped, _ = tf.clip_by_global_norm(grads, self.global_clipnorm)
        return [None if slope is None else tf.convert_to_tensor(slope) for slope in clipped]


def _on_tensorflow():
    return keras.backend.backend() == "tensorflow"


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class AveragingAdam(Adam):
    """Adam that also keeps a moving average of the weights.

    `keras.optimizers.Adam(use_ema=True)` replaces the weights by their average at the end of each
    `fit`. With this optimizer, each `fit` continues from the trained weights instead. To use the
    average, call `averaged_weights`.

    a_t = m_t a_{t-1} + (1 - m_t) w_t,   m_t = min(ema_momentum, (t - 1) / (t + 8)),   t = 1, 2, ...

    Early averages cover about the last tenth of the steps, so the influence of the initial weights
    fades quickly.

    Args:
        learning_rate: Float or schedule.
        ema_momentum: Float in [0, 1). Maximum weight of the previous average in a step.
        **kwargs: As in `keras.optimizers.Adam`.
    """

    def __init__(self, learning_rate=1e-3, ema_momentum=0.998, **kwargs):
        kwargs["use_ema"] = True
        super().__init__(learning_rate, ema_momentum=ema_momentum, **kwargs)

    def finalize_variable_values(self, var_list):
        """Keep the trained weights at the end of `fit`."""

    def _update_model_variables_moving_average(self, trainable_variables):
        if not self.use_ema:
            return
        # t - 1, since Keras has not counted this step yet
        before = keras.ops.cast(self.iterations, "float32")
        momentum = keras.ops.minimum(self.ema_momentum, before / (before + 9.0))
        for variable, average in zip(
            trainable_variables, self._model_variables_moving_average, strict=True
        ):
            if average is not None:
                average.assign(momentum * average + (1.0 - momentum) * variable)

    def put_average(self, variables):
        """Set the weights to their moving average."""
        super().finalize_variable_values(variables)


def innermost(optimizer):
    """Return the optimizer inside a `LossScaleOptimizer`, or the optimizer itself."""
    return getattr(optimizer, "inner_optimizer", optimizer)


@contextlib.contextmanager
def averaged_weights(model):
    """Use the averaged weights of a model compiled with `AveragingAdam` within a `with` block."""
    optimizer = innermost(model.optimizer)
    if not isinstance(optimizer, AveragingAdam) or not optimizer.built:
        yield
        return
    with restoring(model.trainable_variables) as variables:
        optimizer.put_average(variables)
        yield


@contextlib.contextmanager
def whole_weights(model):
    """Use the unrounded weights w = q + r of a `RoundingOptimizer`, for averages over epochs."""
    optimizer = innermost(model.optimizer)
    if not isinstance(optimizer, RoundingOptimizer) or optimizer.use_ema:
        yield
        return
    with restoring(model.trainable_variables) as variables:
        for weight in variables:
            if id(weight) in optimizer.remainders:
                weight.assign_add(optimizer.remainders[id(weight)])
        yield


@contextlib.contextmanager
def restoring(variables):
    """Restore the values of a list of variables when the block ends."""
    before = [keras.ops.copy(variable.value) for variable in variables]
    try:
        yield variables
    finally:
        for variable, value in zip(variables, before, strict=True):
            variable.assign(value)
