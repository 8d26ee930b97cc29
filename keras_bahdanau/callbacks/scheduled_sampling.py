"""Scheduled sampling: how often the decoder reads its own tokens in training."""

import dataclasses
import math
import sys

import keras


@dataclasses.dataclass(frozen=True)
class LinearDecay:
    """max(least, first - slope * step), the share of the teacher's tokens.

    (Bengio et al. 2015, section 2.4.)

    Args:
        slope: Float of at least 0, what each step takes away.
        first: Float in [0, 1], the share at the beginning.
        least: Float in [0, 1], the share at the end.

    Raises:
        ValueError: If a value is out of range.
    """

    slope: float
    first: float = 1.0
    least: float = 0.0

    def __post_init__(self):
        _check("slope", self.slope, 0, sys.float_info.max)
        _check("first", self.first, 0, 1)
        _check("least", self.least, 0, 1)

    def __call__(self, step):
        return max(self.least, self.first - self.slope * step)


@dataclasses.dataclass(frozen=True)
class ExponentialDecay:
    """base ^ step, the share of the teacher's tokens.

    (Bengio et al. 2015, section 2.4.)

    Args:
        base: Float in [0, 1].

    Raises:
        ValueError: If it is out of range.
    """

    base: float

    def __post_init__(self):
        _check("base", self.base, 0, 1)

    def __call__(self, step):
        return self.base**step


@dataclasses.dataclass(frozen=True)
class InverseSigmoidDecay:
    """k / (k + exp(step / k)), the share of the teacher's tokens.

    (Bengio et al. 2015, section 2.4.) It is a half after k log k steps.

    Args:
        k: Float of at least 1.

    Raises:
        ValueError: If it is out of range.
    """

    k: float

    def __post_init__(self):
        _check("k", self.k, 1, sys.float_info.max)

    def __call__(self, step):
        shrunk = self.k * math.exp(-step / self.k)  # and exp(step / k) would overflow
        return shrunk / (shrunk + 1.0)


class ScheduledSampling(keras.callbacks.Callback):
    """Let the decoder read more and more of its own tokens as training goes on.

    Before each batch, the share of tokens that are not the teacher's is set to
    1 - schedule(step), where step counts the optimizer's steps, those of
    earlier sittings included.

    ```python
    decoder = keras_bahdanau.Decoder(..., scheduled_sampling=True)
    model.fit(data, callbacks=[ScheduledSampling(InverseSigmoidDecay(2000.0))])
    ```

    Args:
        schedule: Function of the step that gives the share of the teacher's
            tokens, from 0 to 1: `LinearDecay`, `ExponentialDecay`,
            `InverseSigmoidDecay` or any other.

    Raises:
        ValueError: When training begins, if the model's decoder was not made
            with `scheduled_sampling=True`; or if the schedule gives no share.
    """

    def __init__(self, schedule):
        super().__init__()
        self.schedule = schedule

    def on_train_begin(self, logs=None):
        decoder = getattr(self.model, "decoder", None)
        if not getattr(decoder, "scheduled_sampling", False):
            raise ValueError(
                "Scheduled sampling needs a decoder that can read its own tokens. Received: "
                f"decoder={decoder!r}. Make it with Decoder(..., scheduled_sampling=True)."
            )
        if not self.model.built:
            self.model.build()

    def on_train_batch_begin(self, batch, logs=None):
        share = float(self.schedule(int(self.model.optimizer.iterations)))
        _check("schedule(step)", share, 0, 1)
        self.model.decoder.sampling_rate.assign(1.0 - share)


def _check(name, value, least, most):
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not least <= value <= most:
        raise ValueError(
            f"`{name}` must be a number from {least} to {most}. Received: {name}={value!r}"
        )
