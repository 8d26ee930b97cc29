"""Files with a valid header and broken content, in batches, training and evaluation."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bahdanau as kb
from keras_bahdanau import cli
from keras_bahdanau.data import BatchedPairs
from keras_bahdanau.sources import ImageSource
from keras_bahdanau.text import Subwords
from keras_bahdanau.training import TrainingOptions, train

SOURCE = ImageSource(16, 48)
TARGET = Subwords.train(["a b"], 6, model_type="word")
SIZES = dict.fromkeys(("units", "embedding_units", "attention_units"), 8)
LOSSES = {"ctc_weight": 0.3}
OPTIONS = TrainingOptions(**SIZES, **LOSSES, convolutions="2,2,2", batch_sentences=2, epochs=2)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Image files, of which the second and the third are broken after the header."""
    directory, random = tmp_path_factory.mktemp("images"), np.random.default_rng(0)
    pairs = []
    for name, end in (("good", None), ("broken", -40), ("other", -60), ("fine", None)):
        path = directory / f"{name}.png"
        image = random.integers(0, 256, (16, 24, 1), np.uint8)
        path.write_bytes(tf.io.encode_png(image).numpy()[:end])
        pairs.append((path, "a b"))
    return pairs


def test_a_broken_source_has_no_weight_and_is_known_once_it_was_decoded(pairs):
    data = BatchedPairs(pairs, SOURCE, TARGET, batch_sentences=3, shuffle=False)
    assert data.used.tolist() == [0, 1, 2, 3] and data.broken.tolist() == []
    weights = np.concatenate([weight for _, _, weight in data.epoch(0)])
    np.testing.assert_array_equal(weights, [[1, 1, 1], [0, 0, 0], [0, 0, 0], [1, 1, 1]])
    assert data.broken.tolist() == [1, 2]
    cut = SOURCE.rows([path for path, _ in pairs]).cut(4)
    cut.cut(2).padded([1], (1, 2))
    assert cut.broken.tolist() == [False, True, False, False]


def weights_after_one_step(pairs):
    """Return the weights after a step of plain SGD on one batch of all pairs."""
    keras.utils.set_random_seed(0)
    (batch,) = BatchedPairs(pairs, SOURCE, TARGET, batch_sentences=4, shuffle=False).epoch(0)
    model = kb.presets.small(
        *(SOURCE, TARGET),
        **{**SIZES, "convolutions": "2,2,2", "dropout": 0.0, **LOSSES},
    )
    model.compile(keras.optimizers.SGD(1.0), kb.losses.TokenCrossentropy(), run_eagerly=True)
    model.train_on_batch(*batch)
    return model.get_weights()


@pytest.mark.slow
def test_a_batch_trains_as_if_broken_sources_were_not_in_it(pairs):
    expected = weights_after_one_step([pairs[0], pairs[3]])
    for one, other in zip(weights_after_one_step(pairs), expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.fixture(scope="module")
def run(pairs, tmp_path_factory):
    """(directory, lines) of a training run in which a batch may have no intact source."""
    directory, lines = tmp_path_factory.mktemp("run"), []
    train(
        *(pairs, pairs, directory / "out", OPTIONS, 0, lines.append),
        source=SOURCE,
        target=TARGET,
        cache=directory / "cache",
    )
    return directory, lines


@pytest.mark.slow
def test_a_training_names_them_once(run, pairs):
    directory, lines = run
    for kind in ("training", "validation"):
        place = lines.index(f"2 {kind} pairs with a broken source count for nothing")
        assert lines[place + 1] == (
            f"2 files are empty or can't be read: {pairs[1][0]}, {pairs[2][0]}"
        )
    assert sum("broken" in line for line in lines) == 4  # two of the lines list the files' names
    assert len([*(directory / "cache").iterdir()]) == 4


@pytest.mark.slow
def test_an_evaluation_leaves_them_out_and_names_them(run, pairs, capsys):
    directory, _ = run
    pipeline = kb.ImageToText.load(directory / "out" / "translator.keras")
    measured = kb.evaluation.evaluate(pipeline, pairs)
    good = kb.evaluation.evaluate(pipeline, [pairs[0], pairs[3]])
    assert (measured.skipped, good.skipped) == (2, 0)
    assert measured.perplexity == pytest.approx(good.perplexity, rel=1e-5)
    assert measured.word_perplexity == pytest.approx(good.word_perplexity, rel=1e-5)
    manifest = directory / "valid.tsv"
    manifest.write_text("".join(f"{path}\t{text}\n" for path, text in pairs))
    with pytest.raises(SystemExit) as ended:
        cli.main(
            ["evaluate", str(manifest), "--model", str(directory / "out")]
            + ["--cache", str(directory / "cache"), "--json", str(directory / "scores.json")]
        )
    assert ended.value.code == 0
    said = capsys.readouterr().err
    assert said == (
        f"keras-bahdanau: 2 files are empty or can't be read: {pairs[1][0]}, {pairs[2][0]}\n"
    )
    assert json.loads((directory / "scores.json").read_text())["skipped"] == 2


@pytest.mark.slow
def test_sources_that_are_all_broken_are_refused(run, pairs):
    pipeline = kb.ImageToText.load(run[0] / "out" / "translator.keras")
    with pytest.raises(ValueError, match="Received: 2 pairs, whose sources all have valid headers"):
        kb.evaluation.evaluate(pipeline, pairs[1:3])
