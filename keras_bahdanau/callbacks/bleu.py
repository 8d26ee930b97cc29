"""BLEU of real translations inside `fit`."""

from pathlib import Path

import keras
from sacrebleu.metrics import BLEU

from keras_bahdanau.training.optimizers import averaged_weights


class BleuCallback(keras.callbacks.Callback):
    """Translate validation pairs after each epoch, and log the BLEU as "val_bleu".

    The callbacks after it in the list of `fit` find the value in their logs:
    put it before `ModelCheckpoint` or `EarlyStopping` (with
    `monitor="val_bleu", mode="max"`), `CSVLogger` and `TensorBoard` (which
    Keras' callback needs installed: `pip install tensorboard`).

    With an `AveragingAdam` optimizer the averaged weights translate. Keras'
    callbacks see, and save, those that are trained: keep what was measured with
    `save_best` or `restore_best_weights`.

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
        **bleu,
    ):
        super().__init__()
        self.translator = translator
        self.search = search
        self.batch_size = batch_size
        self.restore_best_weights = restore_best_weights
        self.save_best = save_best
        self.best = None
        self.best_epoch = None
        self._best_weights = None
        self._sources = [source for source, _ in pairs]
        self._references = [[target for _, target in pairs]]
        self._bleu = BLEU(**bleu)
        if not self._sources:
            raise ValueError("`pairs` must hold at least one pair to translate. Received: pairs=[]")
        if save_best is not None and Path(save_best).suffix != ".keras":
            raise ValueError(
                "`save_best` must be the path of a .keras file. "
                f"Received: save_best={str(save_best)!r}"
            )

    def on_train_begin(self, logs=None):
        check_trained(self.translator, self.model)

    def on_epoch_end(self, epoch, logs=None):
        with averaged_weights(self.translator.model):
            bleu = self.measure()
            if self.best is None or bleu > self.best:
                self.best, self.best_epoch = bleu, epoch
                if self.restore_best_weights:
                    self._best_weights = self.translator.model.get_weights()
                if self.save_best is not None:
                    self.translator.save(self.save_best)
        if logs is not None:
            logs["val_bleu"] = bleu

    def on_train_end(self, logs=None):
        if self._best_weights is not None:
            self.translator.model.set_weights(self._best_weights)

    def measure(self):
        """The BLEU of the translator as it stands: float from 0 to 100."""
        found = self.translator.decode(self._sources, self.batch_size, self.search)
        texts = [translation.text for translation in found]
        return self._bleu.corpus_score(texts, self._references).score


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
