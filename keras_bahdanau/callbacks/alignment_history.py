"""Callback that records the alignments of a few inputs at chosen training steps."""

import math
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_bahdanau.models.inspection import attention_weights

GROWTH = 1.25  # default factor between the numbers of recorded steps


class RecordedAlignment(NamedTuple):
    """Alignment of one input at one training step; `plot_alignment` draws it."""

    source_tokens: list
    target_tokens: list
    alignment: Any  # float32 (target_time, source_time)
    scores: Any  # the scores before the softmax; None for a Keras model


class AlignmentHistory(keras.callbacks.Callback):
    """Callback that records the alignments of a few inputs at chosen training steps.

    ```python
    history = AlignmentHistory([("the red car", "la voiture rouge")], translator)
    translator.model.fit(data, epochs=12, callbacks=[history])
    keras_bahdanau.plotting.animate_alignment(history, "forming.gif")
    keras_bahdanau.plotting.write_training_page(history, "forming.html")
    ```

    A step is one batch. Step 0 is recorded before training starts. Each pair is aligned with its
    given target, so that all records have the same rows.

    Args:
        inputs: With a `pipeline`, a list of pairs (input, target string). Otherwise, the inputs of
            a Keras model with an attention layer, as in `attention_weights`.
        pipeline: `Translator` or other `Pipeline` with the model to be trained; or None.
        steps: Iterable of integers, the steps to record; None for 0, 1, 2, 3, 4, 5, 7, 9, 12, ...
        layer: String. Name of the attention layer, as in `attention_weights`; can be None if there
            is only one.
        source_labels: Without a pipeline, a list with the labels of the source positions of each
            input, without padding; None to use numbers.
        target_labels: Like `source_labels`, for the target positions.

    Attributes:
        steps: List of integers, the recorded steps.
        alignments: List with an item for each step: a list with a `RecordedAlignment` per input.
        losses: List of floats, the mean loss of the batches since the previous record, or NaN.
        entropies: List of floats, the mean entropy of the rows of weights, in nats.

    Raises:
        ValueError: When training begins, if the pipeline has another model, if `layer` is not an
            attention layer of the model, or if it is None and there are several.
    """

    def __init__(
        self, inputs, pipeline=None, steps=None, layer=None, source_labels=None, target_labels=None
    ):
        super().__init__()
        self.inputs, self.pipeline, self.layer = inputs, pipeline, layer
        self._labels = [
            None if labels is None else [[*texts] for texts in labels]
            for labels in (target_labels, source_labels)
        ]
        self.chosen_steps = None if steps is None else sorted({*map(int, steps)})
        self.steps, self.alignments, self.losses, self.entropies = [], [], [], []
        self._step, self._batch, self._epoch_sum = 0, -1, 0.0
        self._sum, self._count = 0.0, 0  # sum and number of losses since the last record
        self._next = self._step_after(-1)

    def on_train_begin(self, logs=None):
        if self.pipeline is not None:
            from keras_bahdanau.callbacks.metric import check_trained  # this import loads sacrebleu

            check_trained(self.pipeline, self.model)
        if self._next == self._step:
            self._record()

    def on_epoch_begin(self, epoch, logs=None):
        self._batch, self._epoch_sum = -1, 0.0

    def on_train_batch_end(self, batch, logs=None):
        count = batch - self._batch  # more than 1 with `steps_per_execution`
        epoch_sum = (batch + 1) * float((logs or {}).get("loss", math.nan))
        self._sum, self._count = self._sum + epoch_sum - self._epoch_sum, self._count + count
        self._step, self._batch, self._epoch_sum = self._step + count, batch, epoch_sum
        if self._step >= self._next:
            self._record()

    def on_train_end(self, logs=None):
        if self.chosen_steps is None and self.steps[-1:] != [self._step]:
            self._record()

    def _step_after(self, step):
        """Return the first step to record after `step`."""
        if self.chosen_steps is not None:
            return next((chosen for chosen in self.chosen_steps if chosen > step), math.inf)
        return max(step + 1, math.ceil(step * GROWTH))

    def _record(self):
        alignments = self._read_layer() if self.pipeline is None else self._read_pairs()
        self.steps.append(self._step)
        self.alignments.append(alignments)
        self.losses.append(self._sum / self._count if self._count else math.nan)
        self._sum, self._count = 0.0, 0
        self.entropies.append(_entropy([one.alignment for one in alignments]))
        self._next = self._step_after(self._step)

    def _read_pairs(self):
        traces = (self.pipeline.trace(source, target) for source, target in self.inputs)
        names = ("source_tokens", "target_tokens", "weights", "scores")
        return [RecordedAlignment(*(getattr(trace, name) for name in names)) for trace in traces]

    def _read_layer(self):
        if hasattr(self.model, "jax_state_sync"):  # JAX keeps weights elsewhere during an epoch
            self.model.jax_state_sync()
        layers = attention_weights(self.model, self.inputs)
        name = next(iter(layers)) if self.layer is None and len(layers) == 1 else self.layer
        weights = layers.get(name)
        if weights is None or isinstance(weights, list):
            raise ValueError(
                "`layer` must be the name of an attention layer that is called once. Received: "
                f"layer={self.layer!r}. Choose one of: {', '.join(sorted(layers))}."
            )
        return [self._labelled(number, example) for number, example in enumerate(weights)]

    def _labelled(self, number, weights):
        """Return a `RecordedAlignment` for weights `(source_time,)`, a map, or a map per head."""
        weights = weights.mean(axis=0) if weights.ndim == 3 else np.atleast_2d(weights)
        target, source = (
            [str(position) for position in range(size)] if labels is None else labels[number]
            for size, labels in zip(weights.shape, self._labels, strict=True)
        )
        if self._labels[0] is None and len(weights) == 1:
            target = [""]
        return RecordedAlignment(source, target, weights[: len(target), : len(source)], None)


def _entropy(alignments):
    """Return the mean entropy of the rows with weights that are not all zero."""
    rows = [row / row.sum() for weights in alignments for row in weights if row.sum() > 0]
    # 0 log 0 counts as 0
    entropies = [-(row * np.log(np.where(row > 0, row, 1))).sum() for row in rows]
    return float(np.mean(entropies)) if entropies else math.nan
