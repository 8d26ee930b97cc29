"""The step protocol, through which searches, pipelines and exporters use a model."""

import abc
from typing import Any, NamedTuple

from keras_bahdanau.layers.distribution import as_distribution


class Prepared(NamedTuple):
    """Encoded sources, computed once for all steps of a search. The first axis is always the batch.

    In `ctc_log_probs`, id 0 is the blank. For a model without CTC, it is ().
    """

    projected: Any  # structure of tensors that `decode_step` reads
    mask: Any  # bool (batch, source_time), True where a position of the memory is real
    ctc_log_probs: Any = ()  # float32 (batch, source_time, vocabulary)


class SourceLimits(NamedTuple):
    """Limits of the sources that a model can read, and how it reduces their length."""

    size: int  # number of ids in the vocabulary, or of values in a frame
    reduction: int = 1  # number of source positions per position of the memory
    has_ctc: bool = False  # True if `Prepared` contains CTC log-probabilities


class StepModel(abc.ABC):
    """Model that predicts a target one token at a time, given the previous tokens.

    A search uses only the six members below of a `Seq2Seq`, an `Ensemble` or a custom subclass:

    ```python
    prepared = model.encode(features)
    state = model.initial_state(prepared)
    distribution, weights, state = model.decode_step(tokens, state, prepared)
    ```
    """

    @abc.abstractmethod
    def encode(self, features, alignment=(), training=None):
        """Encode features; return a `Prepared`.

        `alignment` is float `(batch, target_time, source_time)`, or ().
        """

    @abc.abstractmethod
    def initial_state(self, prepared, steps=None):
        """Return the state before the first token, `(batch, ...)`.

        The state allows at most `steps` steps, or any number of steps if `steps` is None.
        """

    @abc.abstractmethod
    def decode_step(self, tokens, state, prepared):
        """Predict the next token from the last one; return (distribution, weights, next state).

        `tokens` is int `(batch, [beam])`, and the state has the same first axes. `prepared` has no
        beam axis. The distribution is a `Distribution` or float32 log-probabilities,
        `(batch, [beam,] vocabulary)`. The weights are float32 `(batch, [beam,] source_time)`.
        """

    @property
    @abc.abstractmethod
    def target_vocabulary_size(self):
        """Number of target ids."""

    @property
    @abc.abstractmethod
    def source_limits(self):
        """`SourceLimits` of the model."""

    @property
    @abc.abstractmethod
    def exportable(self):
        """True if decoding needs only the source."""


def step_log_probs(distribution):
    """Return float32 log-probabilities `(batch, [beam,] vocabulary)` for a step's distribution."""
    return as_distribution(distribution).log_probs
