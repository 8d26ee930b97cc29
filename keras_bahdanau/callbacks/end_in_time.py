"""A cosine schedule that reaches zero when the time of a training is over."""

import keras


class EndInTime(keras.callbacks.Callback):
    """Move the end of a cosine schedule to the step at which a time limit ends the training.

    After each epoch the callback estimates how many epochs the time allows, from the duration of
    the epochs so far. The first epoch is not typical: it counts without its first step, and only
    until there is a second one. The schedule's last step becomes the end of the last epoch, and the
    warm-up keeps its share of the steps. So a training of ten minutes ends with small steps
    on any machine.

    Place it after `Checkpoint` and other callbacks that take time at the end of an epoch.

    Args:
        progress: `training.Progress` of the training.
        schedule: `optimizers.Cosine` of the optimizer.
        steps: Positive integer, batches of an epoch.
        epochs: Positive integer, most epochs.
        minutes: Positive float, most time of the training.

    Example:
        >>> schedule = Cosine(1e-3, last_step=40 * 500)
        >>> EndInTime(Progress(epoch=2, seconds=60.0), schedule, 500, 40, minutes=5).move()
        >>> schedule.last_step  # of 10 epochs of half a minute
        5000
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
        self.move()  # a resumed training has had epochs

    def on_epoch_end(self, epoch, logs=None):
        self.move()

    def move(self):
        """Set the end of the schedule from the epochs so far, if there are any."""
        if self.progress.epoch:
            epochs = min(self.epochs, self.progress.epochs_in(self.minutes))
            self.schedule.last_step = epochs * self.steps
            self.schedule.warmup_steps = round(self.warmup * self.schedule.last_step)
