"""Defaults for sides that share their letters, such as a lemma and its forms."""

import dataclasses
import json
import shutil
import types

import numpy as np
import pytest

from keras_bahdanau import Translator
from keras_bahdanau.sources import TextSource
from keras_bahdanau.text import Subwords
from keras_bahdanau.training import Run, TrainingOptions, train
from keras_bahdanau.training.common_letters import with_defaults_of_common_letters
from keras_bahdanau.training.hard_alignments import with_hard_alignment
from keras_bahdanau.training.inheritance import initial_model
from keras_bahdanau.training.model_types import with_model_types
from keras_bahdanau.training.presets import PRESETS
from keras_bahdanau.training.training_data import Sides

FORMS = [("walk <PST>", "walked"), ("go <PST>", "went"), ("cut <PST>", "cut")]
NAMES = [("Anna", "Анна"), ("Ben", "Бен")]
SOUNDS = [("r e d", "r e t"), ("a b c d", "a b c t")]
SETTINGS = {
    **{"preset": "characters", "units": 8, "embedding_units": 4, "attention_units": 4},
    **{"epochs": 1, "epoch_steps": 1, "best_by": "perplexity"},
    **{"encoder": "convolutional", "bridge": "zeros", "cell": "ssru"},  # is traced in half the time
}


def found(pairs, say=None, sides=(None, None, ["<PST>"]), **given):
    """The unknown rate of a training on the pairs."""
    options = TrainingOptions(**{"preset": "characters", "normalization": "none", **given})
    options = with_hard_alignment(with_model_types(options, pairs), pairs)
    return (
        with_defaults_of_common_letters(options, pairs, Sides(*sides), say).resolved().unknown_rate
    )


def test_few_forms_have_unknown_letters_and_one_line_tells_of_it():
    lines = []
    assert found(FORMS, lines.append) == 0.2
    assert lines == ["defaults for sides that share their letters: unknown_rate 0.2"]
    assert found([(f"{one} {two}", two) for one, two in FORMS]) == 0.2


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param(NAMES, id="another script"),
        pytest.param(SOUNDS, id="symbols"),
        pytest.param([("red", "R EH D")], id="letters and symbols"),
        pytest.param([(np.zeros((3, 2), "f"), "red")], id="no text"),
        pytest.param([("ab", " ")], id="no letters"),
        pytest.param([("3/4/2021", "2021-04-03"), ("5 May 2021", "2021-05-05")], id="digits"),
        pytest.param([], id="shards"),
        pytest.param(FORMS * 1_667, id="many"),
    ],
)
def test_other_pairs_have_none(pairs):
    lines = []
    assert (found(pairs, lines.append), lines) == (0.0, [])


def test_half_of_the_letters_are_enough():
    assert found([("abc", "abxy")]) == 0.2
    assert found([("abc", "axyz")]) == 0.0
    assert found([("abc", "axyz"), ("abc", "abc")]) == 0.2
    assert found(FORMS * 1_666) == 0.2  # 4,998 pairs


@pytest.mark.parametrize(
    "name, value",
    [
        *(("model_type", "bpe"), ("model_type", "grapheme"), ("target_normalization", "nfd")),
        *(("attention", "none"), ("encoder", "pyramidal"), ("copy", True)),
        ("hard_alignment", "first"),
    ],
)
def test_models_that_copy_no_single_letters_have_none(name, value):
    assert found(FORMS, **{name: value}) == 0.0


def vocabulary(**settings):
    return Subwords.train(["walked went cut가"], 30, exact=False, **settings)


@pytest.mark.parametrize(
    "settings, rate",
    [
        ({"model_type": "char", "normalization": "none"}, 0.2),
        ({"model_type": "char", "normalization": "nfd"}, 0.0),
        ({"model_type": "bpe"}, 0.0),
    ],
)
def test_a_vocabulary_that_is_given_must_be_one_of_whole_characters(settings, rate):
    given = vocabulary(**settings)
    sides = TextSource(given), given, []
    assert found(FORMS, sides=sides, model_type="char") == rate


def test_a_source_of_strings_without_a_vocabulary_copies_nothing():
    source = types.SimpleNamespace(subwords=None)
    assert found(FORMS, sides=(source, None, [])) == 0.0


def test_letters_of_symbols_are_not_those_of_the_source():
    pairs = [("<ab> <cd> xyz", "abcdx")]
    assert found(pairs) == 0.2
    assert found(pairs, sides=(None, None, ["<ab>", "<cd>"])) == 0.0


def test_a_rate_that_is_given_wins_and_other_presets_have_none():
    assert found(FORMS, unknown_rate=0.0) == 0.0
    assert found(FORMS, unknown_rate=0.5) == 0.5
    assert found(FORMS, preset="small", model_type="char") == 0.0
    with_letters = {name for name, one in PRESETS.items() if one.of_common_letters}
    assert with_letters == {"characters"}


def test_a_run_goes_on_with_the_rate_that_it_began_with(tmp_path):
    options = TrainingOptions(preset="characters", model_type="char", normalization="none")
    assert "unknown_rate" in options.undecided()
    for rate in (0.0, 0.1):
        run = Run(tmp_path / str(rate))
        run.begin(dataclasses.replace(options, unknown_rate=rate), FORMS, FORMS, {})
        assert run.kept(options).unknown_rate == rate


@pytest.mark.slow
def test_a_model_that_is_trained_further_copies_as_before(tmp_path):
    new, given = TrainingOptions(**SETTINGS), {"verbose": 0}
    first = train(FORMS, FORMS, tmp_path / "first", new, **given)
    assert Translator.load(first).search.replace_unknown
    assert json.loads((tmp_path / "first" / "run.json").read_text())["options"]["unknown_rate"]
    plain = dataclasses.replace(new, unknown_rate=0.0)
    train(FORMS, FORMS, tmp_path / "plain", plain, **given)
    further = TrainingOptions(epochs=1, epoch_steps=1, best_by="perplexity")
    for name, rate in {"first": 0.2, "plain": 0.0}.items():
        initial, out = tmp_path / name, tmp_path / f"{name}-further"
        train(FORMS, FORMS, out, further, initial=initial, **given)
        assert Run(out).options(TrainingOptions).unknown_rate == rate


@pytest.mark.slow
def test_a_file_of_phonemes_that_is_trained_further_has_their_error_rate(tmp_path):
    new = {**SETTINGS, "best_by": "exact", "hard_alignment": "none"}
    first = train(SOUNDS, SOUNDS, tmp_path / "first", TrainingOptions(**new), verbose=0)
    alone = shutil.copy(first, tmp_path / "copy.keras")  # without the options of its run
    further = TrainingOptions(epochs=1, epoch_steps=1, best_by="exact")
    second = train(SOUNDS, SOUNDS, tmp_path / "second", further, verbose=0, initial=alone)
    assert [Translator.load(one).metrics for one in (first, second)] == 2 * [("exact", "per")]


@pytest.mark.slow
def test_so_does_a_file_with_new_vocabularies(tmp_path):
    first = train(FORMS, FORMS, tmp_path / "first", TrainingOptions(**SETTINGS), verbose=0)
    initial = initial_model(Run(tmp_path / "new"), shutil.copy(first, tmp_path / "copy.keras"))
    options = TrainingOptions(update_vocabulary="replace")
    assert initial.inherited(options).unknown_rate == 0.2
    of_words = dataclasses.replace(options, model_type="bpe")
    assert initial.inherited(of_words).unknown_rate is None
