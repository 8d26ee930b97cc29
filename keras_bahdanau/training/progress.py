"""The progress of a training run, and the reasons for it to end."""

import dataclasses
import json
import math

from keras_bahdanau.files.whole_file import json_values


def _is_count(value):
    return type(value) is int and 0 <= value < 2**63


def _is_number(value):
    return type(value) in (int, float)


def _is_time(value):
    return _is_number(value) and 0 <= value < math.inf


_RIGHT = {  # checks for the value of each field
    "epoch": _is_count,
    "step": _is_count,
    "waited": _is_count,
    "best": lambda value: value is None or _is_number(value),
    "best_perplexity": lambda value: value is None or _is_number(value),
    "seconds": _is_time,
    "start_seconds": _is_time,
    "first_seconds": _is_time,
    "epoch_seconds": _is_time,
    "stopped": lambda value: type(value) is bool,
    "history": lambda value: type(value) is list and all(type(logs) is dict for logs in value),
}


def _ranks(*values):
    """Return the values as a key for `<`, where None, NaN and infinities become infinity."""
    return tuple(
        math.inf if value is None or not math.isfinite(value) else value for value in values
    )


@dataclasses.dataclass
class Progress:
    """Position of a training run, and the results of its epochs. It is part of a checkpoint.

    Attributes:
        epoch: Integer, the number of epochs that are complete and validated.
        step: Integer, the number of batches done in the current epoch.
        best: Float, the lowest validation perplexity, or the best value of another metric; None
            before the first validation.
        best_perplexity: Float, the validation perplexity of the best epoch, which breaks ties in
            another metric; None if `best` is None, or if an older version began the run.
        waited: Integer, the number of epochs since the best one.
        seconds: Float, the total time of training and validation.
        start_seconds: Float, the time of the first step, which compiles the model.
        first_seconds: Float, the time of the first epoch, which also compiles the validation.
        epoch_seconds: Float, the time of all complete epochs.
        stopped: Bool, True if one of the user's callbacks ended the training.
        history: List of dicts, the logs of each epoch.
    """

    epoch: int = 0
    step: int = 0
    best: float | None = None
    waited: int = 0
    best_perplexity: float | None = None
    seconds: float = 0.0
    start_seconds: float = 0.0
    first_seconds: float = 0.0
    epoch_seconds: float = 0.0
    stopped: bool = False
    history: list = dataclasses.field(default_factory=list)

    @classmethod
    def loads(cls, text):
        """Create the progress from a string that `dumps` returned.

        Raises:
            TypeError: If the string has unknown fields.
            ValueError: If the string is not JSON, or a field has an invalid value.
        """
        progress = cls(**json.loads(text))
        for name, right in _RIGHT.items():
            if not right(getattr(progress, name)):
                raise ValueError(f"{name}={getattr(progress, name)!r}")
        return progress

    def dumps(self):
        """Return the progress as one line of text."""
        return json.dumps(dataclasses.asdict(self))

    def add_time(self, seconds):
        """Add the time since the last call."""
        self.seconds += seconds
        if not self.epoch and self.step <= 1:
            self.start_seconds = self.seconds
        if self.epoch + bool(self.step) <= 1:
            self.first_seconds = self.seconds
        if not self.step:
            self.epoch_seconds = self.seconds

    @property
    def best_epoch(self):
        """Number of the best epoch, counted from 1; 0 if the initial model is still the best."""
        return self.epoch - self.waited

    def is_better(self, value, perplexity=math.inf):
        """Return True if an epoch is better than all earlier ones.

        Values are compared first, then perplexities. Lower is better. NaN is worse than any number.
        """
        # an older version may have stored NaN as the best, and no value is lower than NaN
        return _ranks(value, perplexity) < _ranks(self.best, self.best_perplexity)

    def keep_best(self, value, perplexity=math.inf):
        """Store a value as the best so far if it is better. Return True if it is."""
        is_better = self.is_better(value, perplexity)
        if is_better:
            self.best = value if math.isfinite(value) else None
            self.best_perplexity = perplexity if math.isfinite(perplexity) else None
        return is_better

    def end_epoch(self, logs, value=None):
        """Record the end of an epoch.

        Args:
            logs: Dict of floats. NaN and infinity become None, because JSON can't represent them.
            value: Float that determines `best` and `waited`, where lower is better. By default
                "val_perplexity", which also breaks ties.
        """
        value = logs["val_perplexity"] if value is None else value
        is_better = self.keep_best(value, logs.get("val_perplexity", math.inf))
        self.waited = 0 if is_better else self.waited + 1
        self.epoch, self.step = self.epoch + 1, 0
        self.history.append(json_values(dict(logs)))

    def end(self, epochs, patience, minutes=None):
        """Return the reason why training is over, as part of a sentence; None if it goes on."""
        if self.stopped:
            return "a callback ended it"
        if self.epoch >= epochs:
            return "all epochs are done"
        if self.waited >= patience:
            return f"the last {self.waited} were not better"
        if self.step:
            return None  # a running epoch is always completed
        if self.epoch >= self.epochs_in(minutes):
            return f"another one would end after the {minutes:g} minutes"
        return None

    def epochs_in(self, minutes):
        """Return the number of epochs that fit into `minutes`, at least 1; infinity for 0 or None.

        The estimate leaves out the first epoch; while there is only one, it leaves out the first
        step.
        """
        if not minutes or not self.epoch:
            return math.inf
        # checkpoints of older versions don't have the last three times
        complete = self.epoch_seconds or self.seconds
        if self.epoch > 1 and self.first_seconds:
            seconds = (complete - self.first_seconds) / (self.epoch - 1)  # per epoch
        else:
            seconds = (complete - self.start_seconds) / self.epoch
        left = (60 * minutes - complete) / max(seconds, 1e-6)
        return max(1, math.floor(self.epoch + left))
