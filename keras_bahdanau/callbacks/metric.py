"""A metric of decoded texts inside `fit`."""

from pathlib import Path

import keras

from keras_bahdanau.data.answers import answers_by_source
from keras_bahdanau.text.corpus_metrics import CorpusMetric, metrics_of
from keras_bahdanau.training.optimizers import averaged_weights


class MetricCallback(keras.callbacks.Callback):
    """Decode validation pairs after each epoch, and log a metric as "val_" and its name.

    The callbacks after it in the list of `fit` find the value in their logs:
    put it before `ModelCheckpoint` or `EarlyStopping` (with
    `monitor="val_exact", mode="max"`, or "min" for an error rate), `CSVLogger` and
    `TensorBoard` (which Keras' callback needs installed: `pip install tensorboard`).

    It is the metric alone; for its interval of 95 %, which an epoch would wait for, score the
    saved model with `evaluate`.

    With an `AveragingAdam` optimizer the averaged weights decode. Keras'
    callbacks see, and save, those that are trained: keep what was measured with
    `save_best` or `restore_best_weights`.

    ```python
    pronouncer = keras_bahdanau.Translator(source, model, target)
    judge = MetricCallback(pronouncer, valid_pairs, "exact", save_best="best.keras")
    model.fit(data, epochs=20, callbacks=[judge])
    ```

    Args:
        translator: A `Translator`, or other `Pipeline`, that holds the model to be trained.
        pairs: List of (input, target string). Those with one source count as in `evaluate`.
        metric: Name of `METRICS`, or a `CorpusMetric`.
        search: `SearchOptions` in place of the translator's own.
        batch_size: Positive integer. Inputs decoded at once.
        restore_best_weights: Bool. True if `fit` ends with the weights that
            had the best value. They are averaged already: save them as they are.
        save_best: Path of a `.keras` file, written with each best value:
            `Pipeline.load` reads it.

    Attributes:
        best: Float, the best value so far, in percent, or None.
        best_epoch: Integer, the epoch that had it, counted from 0, or None.

    Raises:
        ValueError: If there are no pairs, the metric is unknown, if `save_best` does not end in
            ".keras", or, when training begins, if another model is trained or the beam is too
            narrow for the metric.
    """

    def __init__(
        self,
        translator,
        pairs,
        metric="exact",
        search=None,
        batch_size=64,
        restore_best_weights=False,
        save_best=None,
    ):
        super().__init__()
        self.translator = translator
        self.metric = metric if isinstance(metric, CorpusMetric) else metrics_of([metric])[0]
        self.search = search
        self.batch_size = batch_size
        self.restore_best_weights = restore_best_weights
        self.save_best = save_best
        self.best = None
        self.best_epoch = None
        self._best_weights = None
        self._answers = answers_by_source(pairs)
        if not self._answers.sources:
            raise ValueError("`pairs` must hold at least one pair to translate. Received: pairs=[]")
        if save_best is not None and Path(save_best).suffix != ".keras":
            raise ValueError(
                "`save_best` must be the path of a .keras file. "
                f"Received: save_best={str(save_best)!r}"
            )

    def on_train_begin(self, logs=None):
        check_trained(self.translator, self.model)
        (self.search or self.translator.search).check_nbest(self.metric.nbest)

    def on_epoch_end(self, epoch, logs=None):
        with averaged_weights(self.translator.model):
            value = self.measure()
            if self.best is None or self._is_better(value):
                self.best, self.best_epoch = value, epoch
                if self.restore_best_weights:
                    self._best_weights = self.translator.model.get_weights()
                if self.save_best is not None:
                    self.translator.save(self.save_best)
        if logs is not None:
            logs[f"val_{self.metric.name}"] = value

    def on_train_end(self, logs=None):
        if self._best_weights is not None:
            self.translator.model.set_weights(self._best_weights)

    def measure(self):
        """The metric of the translator as it stands: float, in percent."""
        found = self.translator.decode_nbest(
            self._answers.sources, self.metric.nbest, self.batch_size, self.search
        )
        texts = [[one.text for one in best] for best in found]
        return self.metric.corpus_score(*self._answers.lines(texts, self.metric.by_source))

    def _is_better(self, value):
        return value > self.best if self.metric.higher_is_better else value < self.best


def check_trained(translator, model):
    """Check that the translator holds the model that is trained.

    Raises:
        ValueError: If it holds another.
    """
    if translator.model is not model:
        raise ValueError(
            "`translator` must hold the model that is trained. Received: a translator with "
            f"another model, name={translator.model.name!r}. Make it of the model that you fit."
        )
