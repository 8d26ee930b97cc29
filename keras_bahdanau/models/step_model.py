"""The step protocol: the interface of models for searches, pipelines and exporters."""

import abc
from typing import Any, NamedTuple

from keras_bahdanau.layers.distribution import as_distribution


class Prepared(NamedTuple):
    """Sources, encoded once for all steps of a search; all tensors have the batch axis first.

    `ctc_log_probs` have id 0 as the blank; () of a model without CTC.
    """

    projected: Any  # structure of tensors that `decode_step` reads
    mask: Any  # bool (batch, source_time), True where a position of the memory is real
    ctc_log_probs: Any = ()  # float32 (batch, source_time, vocabulary)


class SourceLimits(NamedTuple):
    """The sources that a model reads, and the length of their memory."""

    size: int  # ids of a vocabulary, or values of a frame
    reduction: int = 1  # source positions per position of the memory
    has_ctc: bool = False  # True if `Prepared` has log-probabilities of CTC


class StepModel(abc.ABC):
    """A model that predicts a target one token at a time, given the tokens before.

    A search uses only these six members of `Seq2Seq`, `Ensemble` or a custom subclass:

    ```python
    prepared = model.encode(features)
    state = model.initial_state(prepared)
    distribution, weights, state = model.decode_step(tokens, state, prepared)
    ```
    """

    @abc.abstractmethod
    def encode(self, features, alignment=(), training=None):
        """`Prepared` of features; `alignment`: float `(batch, target_time, source_time)`, or ()."""

    @abc.abstractmethod
    def initial_state(self, prepared, steps=None):
        """The state before the first token, `(batch, ...)`, for `steps`, or None for any number."""

    @abc.abstractmethod
    def decode_step(self, tokens, state, prepared):
        """Predict the next token from the last one: (distribution, weights, next state).

        `tokens` int `(batch, [beam])`, and a state with the same axes, give a `Distribution` over
        `(batch, [beam,] vocabulary)`, or float32 log-probabilities; and float32 weights
        `(batch, [beam,] source_time)`. `prepared` has no beam axis.
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
    """Float32 log-probabilities `(batch, [beam,] vocabulary)` of the output of a step."""
    return as_distribution(distribution).log_probs
