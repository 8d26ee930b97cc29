"""Callback that computes metrics of decoded outputs during `fit`."""

import math
import warnings
from pathlib import Path

import keras

from keras_bahdanau.evaluation.corpus_metrics import CorpusMetric, metrics_of, report_blind
from keras_bahdanau.evaluation.scoring import checked_answers, long_references
from keras_bahdanau.evaluation.significance import interval
from keras_bahdanau.optimizers.adam import averaged_weights
from keras_bahdanau.text.host_text import check_pairs
from keras_bahdanau.text.id_rows import IdRows

_LOSSES = "val_perplexity", "val_loss", "loss"
_NONE = (math.inf, math.inf, math.inf)  # worse than any value, even without a loss


class MetricCallback(keras.callbacks.Callback):
    """Callback that decodes validation pairs after each epoch and logs metrics, such as "val_bleu".

    The pairs are decoded once for all metrics, with the largest n-best list that any metric needs,
    such as 5 outputs per source for "top5". The first metric decides which epoch is best. If epochs
    are tied, the best is the one with the lowest "val_perplexity", "val_loss" or "loss" in the
    logs. The values are added to the logs, where callbacks later in the list passed to `fit`, such
    as `EarlyStopping(monitor="val_exact", mode="max")`, can use them.

    With an `AveragingAdam` optimizer, decoding uses the averaged weights. Keras' callbacks save the
    trained weights instead, so use `save_best` or `restore_best_weights` to keep the averaged ones.

    ```python
    judge = MetricCallback(
        pronouncer, valid_pairs, ["exact", "per", "top5"], intervals=True, save_best="best.keras"
    )
    history = model.fit(data, epochs=20, callbacks=[judge]).history
    history["val_exact"], history["val_exact_low"], history["val_per"]  # 20 floats each
    ```

    Args:
        translator: A `Translator`, or other `Pipeline`, with the model to be trained.
        pairs: List of (input, target string). Pairs with equal sources are treated as in
            `evaluate`.
        metric: A name in `METRICS`, a `CorpusMetric`, or a list of these with different names.
        search: `SearchOptions` to use instead of the translator's options.
        batch_size: Positive integer. Number of inputs decoded together.
        restore_best_weights: Bool. True to set the (averaged) weights of the best epoch at the end
            of `fit`.
        save_best: Path of a `.keras` file for `Pipeline.load`, written at each new best value over
            all `fit`s.
        intervals: Bool. True to also log the bounds of the 95% interval, as in `evaluate`.

    Attributes:
        metrics: List of `CorpusMetric`; `metric` is the first of them.
        best: Float, the best value of the first metric in this `fit` so far, in percent, or None.
            NaN is never the best.
        best_epoch: Integer, the epoch with the best value, counted from 0, or None.

    Warns if the first metric is not suitable for these pairs, such as BLEU for two-word texts, or
    if targets exceed the output limit. Raises ValueError for invalid arguments, and TypeError if
    `pairs` does not consist of pairs. When training begins, raises ValueError if the model is not
    the translator's, or if the beam is too narrow for a metric.
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
        intervals=False,
    ):
        super().__init__()
        self.translator = translator
        self.metrics = _metrics(metric)
        self.metric = self.metrics[0]
        self.search = search
        self.batch_size = batch_size
        self.restore_best_weights = restore_best_weights
        self.save_best = save_best
        self.intervals = intervals
        self.best = None
        self.best_epoch = None
        self._best_weights = None
        self._best_rank = self._saved_rank = _NONE  # `_saved_rank` is over all `fit`s
        pairs = list(pairs)
        check_pairs(pairs)
        self._answers = checked_answers(pairs, translator.target, self.metrics)
        if not self._answers.sources:
            raise ValueError("`pairs` must contain at least one pair to decode. Received: pairs=[]")
        references = [text for _, text in pairs]
        for line in (report_blind(self.metric, references), _long(translator, pairs, search)):
            if line:
                warnings.warn(line, stacklevel=2)
        if save_best is not None and Path(save_best).suffix != ".keras":
            raise ValueError(
                "`save_best` must be the path of a .keras file. "
                f"Received: save_best={str(save_best)!r}"
            )

    def on_train_begin(self, logs=None):
        self.best = self.best_epoch = self._best_weights = None  # reset after an earlier `fit`
        self._best_rank = _NONE
        check_trained(self.translator, self.model)
        (self.search or self.translator.search).check_nbest(self._nbest)

    def on_epoch_end(self, epoch, logs=None):
        with averaged_weights(self.translator.model):
            values = self.scores()
            value = values[self.metric.name]
            rank = self.metric.loss_of(value), _loss_of(logs or {})
            if rank < self._best_rank and not math.isnan(value):
                self.best, self.best_epoch, self._best_rank = value, epoch, rank
                if self.restore_best_weights:
                    self._best_weights = self.translator.model.get_weights()
                if self.save_best is not None and rank < self._saved_rank:
                    self.translator.save(self.save_best)
                    self._saved_rank = rank
        if logs is not None:
            logs.update({f"val_{name}": value for name, value in values.items()})

    def on_train_end(self, logs=None):
        if self._best_weights is not None:
            self.translator.model.set_weights(self._best_weights)

    def measure(self):
        """Return the value of the first metric for the current translator, a float in percent."""
        return self.scores()[self.metric.name]

    def scores(self):
        """Decode the pairs; return values in percent by name, such as "exact" and "exact_low"."""
        results = self.translator.decode_nbest(
            self._answers.sources, self._nbest, self.batch_size, self.search
        )
        texts = [[result.text for result in nbest] for nbest in results]
        scores = {}
        for metric in self.metrics:
            name, lines = metric.name, self._answers.lines(texts, metric.by_source)
            scores[name] = metric.corpus_score(*lines)
            if self.intervals:
                scores[f"{name}_low"], scores[f"{name}_high"] = interval(metric, *lines)
        return scores

    @property
    def _nbest(self):
        return max(metric.nbest for metric in self.metrics)


def _long(translator, pairs, search):
    """Return the warning of `long_references` for the pairs."""
    rows = translator.source.rows([source for source, _ in pairs])
    targets = IdRows.encoded(translator.target, [text for _, text in pairs])
    return long_references(pairs, (rows.lengths, targets.lengths), translator, search)


def _loss_of(logs):
    """Return the tie-breaker for epochs with equal values; lower is better."""
    loss = next((logs[name] for name in _LOSSES if name in logs), math.inf)
    return math.inf if math.isnan(loss) else loss


def _metrics(metrics):
    metrics = metrics if isinstance(metrics, list | tuple) else [metrics]
    metrics = [
        metric if isinstance(metric, CorpusMetric) else metrics_of([metric])[0]
        for metric in metrics
    ]
    names = [metric.name for metric in metrics]
    if not names or len(set(names)) < len(names):
        raise ValueError(
            "`metric` must be one metric or a list of metrics with different names. "
            f"Received: metric={names!r}. Name each metric once."
        )
    return metrics


def check_trained(translator, model):
    """Raise ValueError unless the model in training is the model of the translator."""
    if translator.model is not model:
        raise ValueError(
            "`translator` must have the model in training. Received: a translator with "
            f"another model, name={translator.model.name!r}. Create it from the model that you fit."
        )
