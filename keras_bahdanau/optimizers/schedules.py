"""Learning-rate schedules."""

import math

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Halving(keras.optimizers.schedules.LearningRateSchedule):
    """Constant learning rate after a warm-up, then halved every epoch (Luong et al. 2015, 4.1)."""

    def __init__(self, learning_rate, epoch_steps, full_epochs, warmup_steps=0):
        super().__init__()
        self.learning_rate = learning_rate
        self.epoch_steps = epoch_steps
        self.full_epochs = full_epochs
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        step = ops.cast(step, "float32")
        halvings = ops.maximum(0.0, ops.floor(step / self.epoch_steps) - self.full_epochs + 1.0)
        warmed = ops.minimum(1.0, (step + 1.0) / max(1, self.warmup_steps))
        return self.learning_rate * warmed * ops.power(0.5, halvings)

    def get_config(self):
        names = ("learning_rate", "epoch_steps", "full_epochs", "warmup_steps")
        return {name: getattr(self, name) for name in names}


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Cosine(keras.optimizers.schedules.LearningRateSchedule):
    """Learning rate that rises linearly, then falls to zero along a cosine at an adjustable step.

    rate_t = learning_rate * t / warmup_steps,                                     t < warmup_steps
    rate_t = learning_rate * (1 + cos(pi (t - warmup_steps) / (last_step - warmup_steps))) / 2

    This is equation 5 of Loshchilov and Hutter (2017), without restarts. `callbacks.EndInTime` can
    change the last step, which is fixed in `keras.optimizers.schedules.CosineDecay`.
    """

    def __init__(self, learning_rate, last_step, warmup_steps=0):
        super().__init__()
        self.learning_rate = learning_rate
        # variables, so that changes affect a compiled training step
        self._warmup_steps = keras.Variable(float(warmup_steps), trainable=False, name="warmup")
        self._last_step = keras.Variable(float(last_step), trainable=False, name="last_step")

    @property
    def warmup_steps(self):
        """Integer, the step at which the rate reaches its maximum."""
        return int(self._warmup_steps.value)

    @warmup_steps.setter
    def warmup_steps(self, steps):
        self._warmup_steps.assign(float(steps))

    @property
    def last_step(self):
        """Integer, the first step at which the rate is zero."""
        return int(self._last_step.value)

    @last_step.setter
    def last_step(self, step):
        self._last_step.assign(float(step))

    def __call__(self, step):
        step = ops.cast(step, "float32")
        warmup = ops.convert_to_tensor(self._warmup_steps)
        length = ops.maximum(1.0, self._last_step - warmup)
        fallen = ops.clip((step - warmup) / length, 0.0, 1.0)
        warmed = ops.where(warmup > 0, ops.minimum(1.0, step / ops.maximum(1.0, warmup)), 1.0)
        return self.learning_rate * warmed * (1.0 + ops.cos(math.pi * fallen)) / 2.0

    def get_config(self):
        names = ("learning_rate", "last_step", "warmup_steps")
        return {name: getattr(self, name) for name in names}


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class InverseSquareRoot(keras.optimizers.schedules.LearningRateSchedule):
    """Learning rate that rises linearly, then falls with the inverse square root of the step.

    rate_t = learning_rate * min(t / warmup_steps, sqrt(warmup_steps / t)),  t = 1, 2, ...

    This is equation 3 of Vaswani et al. (2017), where learning_rate is
    (model width * warmup_steps)^-0.5. Unlike `Cosine`, it does not need the total number of steps.
    Raises ValueError if a value is not positive.

    Example:
        >>> optimizer = keras.optimizers.Adam(InverseSquareRoot(1e-3, warmup_steps=4000))
    """

    def __init__(self, learning_rate, warmup_steps=4000, name="inverse_square_root"):
        super().__init__()
        if not isinstance(learning_rate, int | float) or not learning_rate > 0:
            raise ValueError(
                "`learning_rate`, the maximum of the schedule, must be a number above 0. "
                f"Received: learning_rate={learning_rate!r}"
            )
        if not isinstance(warmup_steps, int) or warmup_steps < 1:
            raise ValueError(
                "`warmup_steps` must be a positive integer. "
                f"Received: warmup_steps={warmup_steps!r}"
            )
        self.learning_rate = learning_rate
        self.warmup_steps = warmup_steps
        self.name = name

    def __call__(self, step):
        warmed = (ops.cast(step, "float32") + 1.0) / self.warmup_steps  # Keras counts from 0
        return self.learning_rate * ops.minimum(warmed, ops.rsqrt(warmed))

    def get_config(self):
        names = ("learning_rate", "warmup_steps", "name")
        return {name: getattr(self, name) for name in names}
