"""Callbacks that end a training when its loss diverges or its time is over."""

import math

import keras

from keras_bahdanau.files.integrity import arrays_of, first_not_finite
from keras_bahdanau.optimizers.adam import innermost


class BatchCount:
    """Count batches between calls; with `steps_per_execution` there are several."""

    def __init__(self):
        self.begin_epoch()

    def begin_epoch(self):
        self.last = -1  # index of the last batch

    def since_last(self, batch, steps):
        """Number of batches since the last call, up to the end of an epoch of `steps`."""
        before, self.last = self.last, batch if steps is None else min(batch, steps - 1)
        return self.last - before


class EndInTime(keras.callbacks.Callback):
    """Move the end of a cosine schedule to the step at which a time limit ends the training.

    After each epoch the callback estimates how many epochs fit in the time. The schedule then ends
    with the last epoch, and the warm-up keeps its share of the steps. Place the callback after
    `Checkpoint` and others that take time at the end of an epoch.

    Args:
        progress: `training.Progress` of the training.
        schedule: `optimizers.Cosine`, the optimizer's schedule.
        steps: Positive integer, batches per epoch.
        epochs: Positive integer, maximum number of epochs.
        minutes: Positive float, time limit of the training.
    """

    def __init__(self, progress, schedule, steps, epochs, minutes):
        super().__init__()
        self.progress = progress
        self.schedule = schedule
        self.warmup = schedule.warmup_steps / schedule.last_step
        self.steps = steps
        self.epochs = epochs
        self.minutes = minutes

    def on_train_begin(self, logs=None):
        self.move()  # a resumed training has past epochs

    def on_epoch_end(self, epoch, logs=None):
        self.move()

    def move(self):
        """Set the end of the schedule from the epochs so far, if any."""
        if self.progress.epoch:
            epochs = min(self.epochs, self.progress.epochs_in(self.minutes))
            self.schedule.last_step = epochs * self.steps
            self.schedule.warmup_steps = round(self.warmup * self.schedule.last_step)


class StopAtDivergence(keras.callbacks.Callback):
    """Raise FloatingPointError as soon as the training loss is not finite.

    `progress` is a `training.Progress`; place this before the `Checkpoint` that updates it.

    Example:
        >>> checkpoint = Checkpoint(path, progress, ends_epochs=True)
        >>> model.fit(data, callbacks=[StopAtDivergence(progress), checkpoint])
    """

    def __init__(self, progress):
        super().__init__()
        self.progress = progress
        self._count = BatchCount()

    def on_epoch_begin(self, epoch, logs=None):
        self._count.begin_epoch()

    def on_train_batch_end(self, batch, logs=None):
        # Keras has computed the loss anyway: a mean, which stays NaN
        loss = (logs or {}).get("loss", 0.0)
        done = self._count.since_last(batch, self.params["steps"])
        require_finite({"loss": loss}, self.model, self.progress, batches=done)


def require_finite(values, model, progress, batches=0):
    """Raise FloatingPointError unless all values are finite; `batches` are not yet counted."""
    for name, value in values.items():
        if not math.isfinite(value):
            raise _diverged(f"{name}={value}", model, progress, batches)


def require_finite_state(model, progress):
    """Raise FloatingPointError unless all weights and the optimizer's state are finite."""
    name = first_not_finite(arrays_of([*model.weights, *model.optimizer.variables]))
    if name is not None:
        raise _diverged(f"NaN or infinity in {name!r}", model, progress, 0)


def _diverged(received, model, progress, batches):
    optimizer = innermost(model.optimizer)
    causes = {
        "learning_rate": _rate_of_settings(optimizer),
        "clip_norm": optimizer.global_clipnorm,
        "precision": model.compute_dtype,
    }
    return FloatingPointError(
        f"Loss and weights must stay finite in training. Received: {received} after batch "
        f"{progress.step + batches} of epoch {progress.epoch + 1}, with "
        f"{', '.join(f'{name}={value!r}' for name, value in causes.items())}. Earlier "
        "checkpoints are kept. Train again in another directory, with a lower learning rate or a "
        "lower norm for gradient clipping."
    )


_RATES = ("learning_rate", "initial_learning_rate", "warmup_target")  # names in the schedules


def _rate_of_settings(optimizer):
    """The configured learning rate; the current one may be 0 at the end of a schedule."""
    rate = optimizer.get_config()["learning_rate"]
    if isinstance(rate, dict):  # a schedule
        rates = [rate["config"].get(name) for name in _RATES]
        rate = max((x for x in rates if x is not None), default=optimizer.learning_rate)
    return float(rate)
