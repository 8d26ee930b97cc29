"""`experiments/multi30k/narrow.py` removes units that nothing reads and keeps the answers."""

import dataclasses
from pathlib import Path

import keras
import numpy as np
import pytest
from conftest import toy_pairs

import keras_bahdanau as kb
from keras_bahdanau.data.epochs import padded_batch
from keras_bahdanau.sources import TextSource
from keras_bahdanau.text import Subwords
from keras_bahdanau.text.id_rows import IdRows
from keras_bahdanau.training import TrainingOptions, TrainingPlan
from keras_bahdanau.training.model import validated_model

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "experiments" / "multi30k"
UNITS = {"units": 16, "encoder_units": 16, "attention_units": 16}
SIZES = {**UNITS, "embedding_units": 16, "readout_units": 16}
LETTERS = {"preset": "characters", "depth": 2, "hard_alignment": "none", "share_embeddings": False}
PRESETS = {"characters": LETTERS, "small": {"preset": "small"}}
PAIRS = toy_pairs()[:12]
HALF = ["--share", "0.5"]


@pytest.fixture
def narrow(example):
    return example("narrow")


def new_translator(**settings):
    keras.utils.set_random_seed(3)
    chosen = {"preset": "small", "vocabulary_size": 48, **SIZES, **settings}
    options = TrainingOptions(**chosen).resolved()
    source, target = Subwords.train_pair(toy_pairs(), vocabulary_size=48)
    model = validated_model(TrainingPlan(options, TextSource(source), target))
    translator = kb.Translator(source, model, target)
    for weight in translator.model.weights:
        weight.assign(np.random.default_rng(7).normal(size=weight.shape) / 3)
    translator.training = dataclasses.asdict(options)
    return translator


def batch_of(translator):
    texts = zip(*PAIRS, strict=True)
    rows = [IdRows.encoded(translator.target, side) for side in texts]
    shape = len(PAIRS), *(int(side.lengths.max()) for side in rows)
    return padded_batch(rows, np.arange(len(PAIRS)), shape)


def logits_of(translator):
    features, target_in, *_ = batch_of(translator)
    return keras.ops.convert_to_numpy(translator.model((features, target_in), training=False))


def scale_unit(places, model, name, unit, factor):
    """Multiply a unit's contribution to everything that reads it by `factor`."""
    for weight in model.weights:
        axes = places.axes_of(weight)
        axis = 1 if axes[0] == () else 0
        if len(axes) > 1 and name in axes[axis]:
            kinds = axes[axis]
            # One part per kind, with 16 units each.
            parts = np.arange(weight.shape[axis]).reshape(-1, 16)
            value = weight.numpy()
            for place in (
                part[unit] for own, part in zip(kinds, parts, strict=True) if own == name
            ):
                value[(slice(None), place) if axis else place] *= factor
            weight.assign(value)


@pytest.fixture
def command(narrow, tmp_path):
    """`command(translator, *more)`: the new, narrower translator."""
    (tmp_path / "pairs.tsv").write_text("".join(f"{one}\t{two}\n" for one, two in PAIRS))

    def run(translator, *more):
        translator.save(tmp_path / "wide.keras")
        paths = {"--model": "wide.keras", "--pairs": "pairs.tsv", "--out": "narrow.keras"}
        given = [part for name, path in paths.items() for part in (name, str(tmp_path / path))]
        narrow.main([*given, *more])
        return kb.Translator.load(tmp_path / "narrow.keras")

    return run


@pytest.mark.few(1)
@pytest.mark.parametrize("preset", PRESETS)
def test_units_that_nothing_reads_go_and_the_answers_stay(narrow, command, preset):
    wide, random = new_translator(**PRESETS[preset]), np.random.default_rng(1)
    places = narrow.layout(TrainingOptions(**wide.training))
    for name in places.widths:
        for unit in random.permutation(16)[:8]:
            scale_unit(places, wide.model, name, unit, 0)
    found = command(wide, *HALF, "--dropout-share", "0.5")
    np.testing.assert_allclose(logits_of(found), logits_of(wide), atol=1e-4)
    assert np.abs(logits_of(wide)).max() > 0.5
    assert {name: found.training[name] for name in SIZES} == dict.fromkeys(SIZES, 8)
    assert found.training["dropout"] == wide.training["dropout"] / 2
    assert found.target == wide.target


@pytest.mark.parametrize("preset", PRESETS)
def test_the_importance_is_the_square_of_the_slope_of_the_loss(narrow, preset):
    wide = new_translator(**PRESETS[preset])
    options = TrainingOptions(**wide.training).resolved()
    places = narrow.layout(options)
    importance = narrow.importances(wide, options, PAIRS)
    model = validated_model(TrainingPlan(options, wide.source, wide.target))
    features, target_in, target_out, weight = batch_of(wide)

    def loss_with(name, unit, factor):
        model.set_weights(wide.model.get_weights())
        scale_unit(places, model, name, unit, factor)
        logits = model((features, target_in), training=False)
        return float(model.compute_loss(None, target_out, logits, weight, training=False))

    step = 0.05
    for name in places.widths:
        largest = np.argmax(importance[name])
        slope = loss_with(name, largest, 1 + step) - loss_with(name, largest, 1 - step)
        found = np.sqrt(importance[name][largest])
        np.testing.assert_allclose(found, abs(slope) / (2 * step), rtol=0.05)


def test_vocabularies_without_normalization_are_smaller_and_split_alike(command):
    wide = new_translator()
    found = command(wide, "--share", "1", "--plain")
    assert len(wide.target.model) - len(found.target.model) > 200_000
    texts = [target for _, target in PAIRS]
    for one, other in zip(found.target.encode(texts), wide.target.encode(texts), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(logits_of(found), logits_of(wide))


def test_what_it_cannot_do_is_told_in_one_line(command, capsys):
    with pytest.raises(SystemExit, match="6 other weights, .*cell_1"):
        command(new_translator(decoder_depth=2), *HALF)
    with pytest.raises(SystemExit, match="other weights"):
        command(new_translator(cell="min-gru", encoder_cell="min-gru"), *HALF)
    other = new_translator()
    other.training = None
    with pytest.raises(SystemExit, match="of no known preset"):
        command(other, *HALF)
    with pytest.raises(SystemExit):
        command(new_translator(), "--share", "0")
    assert "--share must be above 0" in capsys.readouterr().err
