"""Training on several corpora resumes exactly and keeps the corpora that it started with."""

import dataclasses
import json

import keras
import numpy as np
import pytest
from conftest import toy_pairs
from runs import begin

from keras_bahdanau.data import Corpora, Corpus
from keras_bahdanau.pipelines.tasks import Translator
from keras_bahdanau.text import Subwords
from keras_bahdanau.training import Run, TrainingOptions, train
from keras_bahdanau.training.data import TrainingData
from keras_bahdanau.training.plan import check_start

TOY = toy_pairs()
BACK = [(source, source[::-1]) for source, _ in TOY]
DE, OTHER = Corpus("de", TOY[20:], tag="<2de>"), Corpus("back", BACK[100:], tag="<2back>")
VALID = [Corpus("de", TOY[:10], tag="<2de>"), Corpus("back", BACK[:10], tag="<2back>")]
OPTIONS = TrainingOptions(
    vocabulary_size=60,
    embedding_units=8,
    units=8,
    attention_units=8,
    batch_tokens=100,
    epochs=2,
    checkpoint_steps=4,
    temperature=4.0,
    query="state,task",
    seed=3,
)


def test_a_run_goes_on_with_the_weights_and_tags_it_began_with(tmp_path):
    run, valid = Run(tmp_path / "run"), Corpora(VALID)
    begun = Corpora([dataclasses.replace(DE, weight=2), dataclasses.replace(OTHER, weight=1)])
    options = dataclasses.replace(OPTIONS, temperature=1.0)
    check_start(run, options, begin(run, options, begun, valid))
    card = run.read_card()["data"]["corpora"]
    assert card[0] == {"name": "de", "weight": 2, "tag": "<2de>", "pairs": len(DE.pairs)}
    for changes in ({"weight": 3}, {"tag": "<de>"}, {"name": "german"}, {"pairs": TOY}):
        other = Corpora([dataclasses.replace(begun.corpora[0], **changes), begun.corpora[1]])
        with pytest.raises(ValueError, match="Received: training .* pairs, weights, tags"):
            check_start(run, options, TrainingData.build(other, valid))
    with pytest.raises(ValueError, match="Received: training .* pairs, weights, tags"):
        check_start(run, options, TrainingData.build(list(begun), valid))


def test_a_vocabulary_without_the_tags_is_refused_before_training(tmp_path):
    given = Subwords.train_pair(TOY, 30, model_type="char", exact=False)
    sides = {"source": given[0], "target": given[1]}
    with pytest.raises(
        ValueError, match="one token of the source vocabulary. Received: tag='<2de>', which"
    ):
        train([DE, OTHER], VALID, tmp_path / "run", OPTIONS, 0, lambda _: None, **sides)
    assert not (tmp_path / "run").exists()


class Interrupt(keras.callbacks.Callback):
    """Interrupt training after a batch, as an error would."""

    def __init__(self, batch):
        super().__init__()
        self.batch = batch

    def on_train_batch_end(self, batch, logs=None):
        if batch == self.batch:
            raise KeyboardInterrupt


def trained(out, callbacks=(), pairs=(DE, OTHER), valid=VALID, options=OPTIONS):
    lines = []
    train([*pairs], valid, out, options, 0, lines.append, callbacks=callbacks)
    history = json.loads((out / "history.json").read_text())
    return Translator.load(out / "translator.keras").model.get_weights(), history, lines


def assert_same(left, right):
    assert left[1] == right[1]  # the history
    for one, other in zip(left[0], right[0], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_a_resumed_training_ends_as_an_undisturbed_one(tmp_path):
    undisturbed = trained(tmp_path / "undisturbed")
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "killed", [Interrupt(6)])
    progress = Run(tmp_path / "killed").progress()
    assert (progress.epoch, progress.step) == (0, 4)
    resumed = trained(tmp_path / "killed")
    assert "resuming at epoch 1, batch 4" in resumed[2]
    assert_same(resumed, undisturbed)


@pytest.mark.slow
def test_one_corpus_alone_trains_as_plain_pairs_do(tmp_path):
    options = dataclasses.replace(OPTIONS, temperature=1.0, epoch_steps=20)
    alone = trained(tmp_path / "alone", (), [Corpus("de", TOY[20:])], TOY[:10], options)
    assert_same(alone, trained(tmp_path / "plain", (), TOY[20:], TOY[:10], options))
