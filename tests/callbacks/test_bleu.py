"""BLEU inside `fit`: what it measures, where it is logged, and which weights are kept."""

import csv

import keras
import numpy as np
import pytest
import tensorflow as tf
from sacrebleu.metrics import BLEU

import keras_bahdanau as kb
from keras_bahdanau.callbacks import MetricCallback
from keras_bahdanau.evaluation import CorpusMetric
from keras_bahdanau.optimizers import AveragingAdam, averaged_weights

PAIRS = [
    ("one two three", "eins zwei drei"),
    ("five four", "fünf vier"),
    ("three one five", "drei eins fünf"),
]


class Spoil(keras.callbacks.Callback):
    """Set the weights to zero at the end of an epoch."""

    def __init__(self, epoch):
        super().__init__()
        self.epoch = epoch

    def on_epoch_end(self, epoch, logs=None):
        if epoch == self.epoch:
            self.model.set_weights([np.zeros_like(weight) for weight in self.model.get_weights()])


def bleu_of(translator, pairs, **settings):
    metric = CorpusMetric("bleu", "BLEU", True, BLEU(**settings))
    return MetricCallback(translator, pairs, metric).measure()


def new_bleu(translator, **settings):
    metric = CorpusMetric("bleu", "BLEU", True, BLEU(smooth_method="add-k"))
    return MetricCallback(translator, PAIRS, metric, **settings)


@pytest.mark.slow
def test_it_is_the_bleu_of_the_translations(translator, pass_epochs):
    bleu = new_bleu(translator)
    history = pass_epochs(translator.model, [bleu])
    evaluation = kb.evaluation.evaluate(translator, PAIRS)
    texts = [translation.text for translation in evaluation.translations]
    assert texts == [target for _, target in PAIRS]
    assert history["val_bleu"] == [bleu.best] == [bleu.measure()]
    assert bleu.best > 50


def test_settings_of_sacrebleu_reach_it(translator):
    capitals = [(source, target.upper()) for source, target in PAIRS]
    assert bleu_of(translator, capitals, lowercase=True, tokenize="char") == pytest.approx(100)
    assert bleu_of(translator, capitals, tokenize="char") == 0


@pytest.mark.slow
def test_the_search_is_the_translators_own_or_another(translator):
    short = kb.SearchOptions(max_length=1)
    with pytest.warns(UserWarning, match="3 of 3 targets have more tokens than outputs can have"):
        bleu = new_bleu(translator, search=short)
    assert bleu.measure() < new_bleu(translator).measure()


@pytest.mark.slow
def test_it_is_measured_inside_fit(translator):
    data = kb.data.batches(PAIRS, translator.source, translator.target)
    fitted = translator.model.fit(data, callbacks=[new_bleu(translator)], shuffle=False, verbose=0)
    assert list(fitted.history) == ["loss", "val_bleu"]


def test_loggers_checkpoints_and_early_stopping_see_it(translator, pass_epochs, tmp_path):
    best = {"monitor": "val_bleu", "mode": "max"}
    callbacks = [
        Spoil(epoch=1),
        new_bleu(translator),
        keras.callbacks.ModelCheckpoint(
            tmp_path / "{epoch}.weights.h5",
            save_best_only=True,
            save_weights_only=True,
            **best,
        ),
        keras.callbacks.EarlyStopping(patience=1, **best),
        keras.callbacks.CSVLogger(tmp_path / "log.csv"),
    ]
    history = pass_epochs(translator.model, callbacks, 5)
    good, bad = history["val_bleu"]  # then early stopping ends the run
    assert good > 50 and bad == 0
    assert (tmp_path / "1.weights.h5").exists() and not (tmp_path / "2.weights.h5").exists()
    with open(tmp_path / "log.csv") as file:
        assert [float(row["val_bleu"]) for row in csv.DictReader(file)] == [good, bad]


def test_tensorboard_shows_it(translator, pass_epochs, tmp_path):
    board = keras.callbacks.TensorBoard(tmp_path)
    history = pass_epochs(translator.model, [new_bleu(translator), board], 2)
    (path,) = (tmp_path / "validation").iterdir()
    shown = [
        (event.step, value.tag, float(tf.make_ndarray(value.tensor)))
        for event in tf.compat.v1.train.summary_iterator(str(path))
        for value in event.summary.value
    ]
    bleu = [pytest.approx(value) for value in history["val_bleu"]]
    assert shown == [(0, "epoch_bleu", bleu[0]), (1, "epoch_bleu", bleu[1])]


@pytest.mark.parametrize("restore", [True, False])
def test_fit_ends_with_the_best_weights_if_asked(translator, pass_epochs, restore):
    bleu = new_bleu(translator, restore_best_weights=restore)
    before = translator.model.get_weights()
    pass_epochs(translator.model, [Spoil(epoch=1), bleu], 2)
    assert bleu.best_epoch == 0
    for found, good in zip(translator.model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(found, good if restore else np.zeros_like(good))


def test_averaged_weights_translate_where_there_are_some(translator, pass_epochs, tmp_path):
    bleu = new_bleu(translator, restore_best_weights=True, save_best=tmp_path / "best.keras")
    optimizer = AveragingAdam(0.0)
    translator.model.compile(optimizer)
    weights = translator.model.trainable_variables
    optimizer.apply([np.zeros(weight.shape, "float32") for weight in weights], weights)
    pass_epochs(translator.model, [Spoil(epoch=0), bleu])
    assert bleu.best > 50  # the average does not include the zeroed weights
    with averaged_weights(translator.model):
        assert bleu.measure() == bleu.best
    assert translator.translate(["one"])[0].text == "eins"
    saved = kb.Translator.load(tmp_path / "best.keras")
    for found, kept in zip(saved.model.weights, translator.model.weights, strict=True):
        np.testing.assert_array_equal(found, kept)


@pytest.mark.slow
def test_the_best_and_no_later_one_is_saved(translator, pass_epochs, tmp_path):
    path = tmp_path / "best.keras"
    pass_epochs(translator.model, [Spoil(epoch=1), new_bleu(translator, save_best=path)], 2)
    assert kb.Translator.load(path).translate(["one"])[0].text == "eins"
    with pytest.raises(ValueError, match="Received: save_best='best.h5'"):
        new_bleu(translator, save_best="best.h5")


def test_a_translator_of_another_model_is_refused(translator, toy_translator, pass_epochs):
    with pytest.raises(ValueError, match="another model"):
        pass_epochs(translator.model, [new_bleu(toy_translator)])


def test_there_must_be_pairs(translator):
    with pytest.raises(ValueError, match="at least one pair"):
        MetricCallback(translator, [], "bleu")
