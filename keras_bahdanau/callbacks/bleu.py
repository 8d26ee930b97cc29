"""BLEU of real translations inside `fit`."""

from sacrebleu.metrics import BLEU

from keras_bahdanau.callbacks.metric import MetricCallback
from keras_bahdanau.evaluation.corpus_metrics import CorpusMetric


class BleuCallback(MetricCallback):
    """Translate validation pairs after each epoch, and log the BLEU as "val_bleu".

    It is the `MetricCallback` of BLEU, which describes its place among other callbacks.

    ```python
    translator = keras_bahdanau.Translator(source, model, target, SearchOptions(beam_width=1))
    bleu = BleuCallback(translator, valid_pairs, save_best="best.keras")
    model.fit(data, epochs=20, callbacks=[bleu])
    ```

    Args:
        translator: A `Translator` that holds the model to be trained.
        pairs: List of (source, target) strings.
        search: `SearchOptions` in place of the translator's own.
        batch_size: Positive integer. Sentences translated at once.
        restore_best_weights: Bool. True if `fit` ends with the weights that
            had the highest BLEU. They are averaged already: save them as they are.
        save_best: Path of a `.keras` file, written with each highest BLEU:
            `Translator.load` reads it.
        intervals: Bool. True to log "val_bleu_low" and "val_bleu_high", too, between which the
            BLEU is in 95 % of the samples of a bootstrap.
        **bleu: Settings of `sacrebleu.metrics.BLEU`, such as `lowercase=True`.

    Attributes:
        best: Float, the highest BLEU so far, from 0 to 100, or None.
        best_epoch: Integer, the epoch that had it, counted from 0, or None.

    Raises:
        ValueError: If there are no pairs, if `save_best` does not end in
            ".keras", or, when training begins, if another model is trained.
    """

    def __init__(
        self,
        translator,
        pairs,
        search=None,
        batch_size=64,
        restore_best_weights=False,
        save_best=None,
        intervals=False,
        **bleu,
    ):
        metric = CorpusMetric("bleu", "BLEU", True, BLEU(**bleu))
        settings = (search, batch_size, restore_best_weights, save_best, intervals)
        super().__init__(translator, pairs, metric, *settings)
