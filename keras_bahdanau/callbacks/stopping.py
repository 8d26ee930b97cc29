"""Callbacks that end a training run when its loss diverges or its time is up."""

import math

import keras

from keras_bahdanau.files.integrity import arrays_of, first_not_finite
from keras_bahdanau.optimizers.adam import innermost


class BatchCount:
    """Counter of batches between calls; with `steps_per_execution`, there can be several."""

    def __init__(self):
        self.begin_epoch()

    def begin_epoch(self):
        self.last = -1  # index of the last batch

    def since_last(self, batch, steps):
        """Return the number of batches since the last call, at most to the end of the epoch."""
        before, self.last = self.last, batch if steps is None else min(batch, steps - 1)
        return self.last - before


class EndInTime(keras.callbacks.Callback):
    """Callback that adjusts a cosine schedule so that it ends within a time limit.

    After each epoch, the callback estimates how many epochs fit in the time limit. It sets the
    schedule to end with the last of these epochs, and keeps the fraction of warm-up steps. Place
    the callback after `Checkpoint` and other callbacks that take time at the end of an epoch.

    Args:
        progress: `training.Progress` of the training run.
        schedule: `optimizers.Cosine`, the schedule of the optimizer.
        steps: Positive integer. Number of batches per epoch.
        epochs: Positive integer. Maximum number of epochs.
        minutes: Positive float. Time limit of the training run.
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
        self.move()  # a resumed training run has completed epochs

    def on_epoch_end(self, epoch, logs=None):
        self.move()

    def move(self):
        """Set the end of the schedule, based on the completed epochs, if there are any."""
        if self.progress.epoch:
            epochs = min(self.epochs, self.progress.epochs_in(self.minutes))
            self.schedule.last_step = epochs * self.steps
            self.schedule.warmup_steps = round(self.warmup * self.schedule.last_step)


class StopAtDivergence(keras.callbacks.Callback):
    """Callback that raises FloatingPointError as soon as the training loss is not finite.

    `progress` is a `training.Progress`. Place this callback before the `Checkpoint` that updates
    it.

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
        # Keras has already computed this loss, a mean that stays NaN
        loss = (logs or {}).get("loss", 0.0)
        done = self._count.since_last(batch, self.params["steps"])
        require_finite({"loss": loss}, self.model, self.progress, batches=done)


def require_finite(values, model, progress, batches=0):
    """Raise FloatingPointError unless all values are finite.

    `batches` is the number of batches that `progress` has not counted yet.
    """
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


# names of the learning rate in the configs of schedules
_RATES = ("learning_rate", "initial_learning_rate", "warmup_target")


def _rate_of_settings(optimizer):
    """Return the configured learning rate; the current rate may be 0 at the end of a schedule."""
    rate = optimizer.get_config()["learning_rate"]
    if isinstance(rate, dict):  # a schedule
        rates = [rate["config"].get(name) for name in _RATES]
        rate = max((x for x in rates if x is not None), default=optimizer.learning_rate)
    return float(rate)
