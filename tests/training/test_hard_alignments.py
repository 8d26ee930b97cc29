"""Hard monotonic attention where symbols are in the order of letters, and where it can be."""

import numpy as np
import pytest

import keras_bahdanau as kb
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.training import Run, TrainingOptions, train
from keras_bahdanau.training.hard_alignments import with_hard_alignment
from keras_bahdanau.training.model_types import with_model_types
from keras_bahdanau.training.presets import PRESETS

SOUNDS = [("red", "R EH D"), ("her", "HH ER"), ("New York", "N UW Y AO R K")]
LETTERS = [("red", "rouge"), ("her", "elle")]


def vocabularies():
    """Characters of both sides."""
    sides, settings = zip(*SOUNDS, strict=True), {"model_type": "char", "exact": False}
    return [Subwords.train([*side], 99, **settings) for side in sides]


def found(pairs=SOUNDS, say=None, **given):
    """The options of a training on the pairs, resolved."""
    options = with_model_types(TrainingOptions(**{"preset": "characters", **given}), pairs)
    return with_hard_alignment(options, pairs, say).resolved()


def test_it_is_found_from_letters_to_symbols_and_one_line_tells_of_it():
    lines = []
    options = found(say=lines.append)
    assert (options.hard_alignment, options.when) == ("first-monotonic", "apart")
    assert lines == ["hard_alignment first-monotonic: symbols are in the order of the letters"]
    assert found(source_model_type="grapheme").hard_alignment == "first-monotonic"


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param(LETTERS, id="letters"),
        pytest.param([(b, a) for a, b in SOUNDS], id="symbols to letters"),
        pytest.param([(b, b) for _, b in SOUNDS], id="symbols"),
        pytest.param([(np.zeros((3, 2), "f"), b) for _, b in SOUNDS], id="no text"),
        pytest.param([], id="shards"),
        pytest.param(SOUNDS * 7000, id="many"),
    ],
)
def test_all_else_is_soft(pairs):
    lines = []
    options = found(pairs, say=lines.append)
    assert (options.hard_alignment, options.when, lines) == ("none", "before", [])


@pytest.mark.parametrize(
    "name, value",
    [
        *(("hard_alignment", "none"), ("attention", "none"), ("heads", 4), ("copy", True)),
        *(("coverage", "sum"), ("window", "local-p"), ("normalizer", "mocha"), ("past", 2)),
        *(("when", "before"), ("query", "state,context"), ("readout", "maxout")),
        *(("readout_state", "previous"), ("context_gate", True), ("context_dropout", 0.1)),
        *(("target_vocabulary_size", 20_000)),
        *(("batch_sentences", 512), ("batch_tokens", 50_000), ("max_length", 2000)),
    ],
)
def test_an_option_that_only_soft_attention_takes_keeps_it(name, value):
    options = found(**{name: value})
    assert options.hard_alignment == "none" and getattr(options, name) == value


def test_it_is_what_is_given_or_what_other_presets_have():
    assert found(hard_alignment="zeroth").hard_alignment == "zeroth"
    assert found(preset="small").hard_alignment == "none"
    assert found(preset="small", model_type="char").hard_alignment == "none"
    auto = found(preset="small", hard_alignment="auto", model_type="auto")
    assert auto.hard_alignment == "first-monotonic"


@pytest.mark.slow
def test_a_training_takes_it_and_resumes_with_it(tmp_path):
    sizes = {"units": 8, "embedding_units": 4, "attention_units": 4, "epoch_steps": 1}
    options = TrainingOptions(preset="characters", epochs=1, **sizes)
    lines = []
    file = train(SOUNDS, SOUNDS, tmp_path / "run", options, say=lines.append, verbose=0)
    assert any(line.startswith("hard_alignment first-monotonic") for line in lines)
    assert isinstance(kb.Translator.load(file).model.decoder, kb.HardDecoder)
    (tmp_path / "run" / "checkpoint.weights.h5").unlink()  # as if it had been killed before
    train(SOUNDS, SOUNDS, tmp_path / "run", options, verbose=0)


@pytest.mark.slow
def test_a_soft_model_that_is_trained_on_stays_soft(tmp_path):
    source, target = (
        Subwords.train([*one], 99, model_type="char", exact=False)
        for one in zip(*SOUNDS, strict=True)
    )
    model = kb.presets.characters(source, target, units=8, embedding_units=4, attention_units=4)
    file = tmp_path / "model.keras"
    kb.Translator(source, model, target).save(file)
    options = TrainingOptions(preset="characters", epochs=1, epoch_steps=1, batch_sentences=512)
    lines, run = [], tmp_path / "run"
    train(SOUNDS, SOUNDS, run, options, initial=file, say=lines.append, verbose=0)
    assert not any("hard" in line for line in lines)
    assert Run(run).options(TrainingOptions).hard_alignment == "none"


def test_a_model_made_without_pairs_is_soft():
    assert PRESETS["characters"].options.hard_alignment == "auto"
    source, target = (
        Subwords.train([*one], 99, model_type="char", exact=False)
        for one in zip(*SOUNDS, strict=True)
    )
    sizes = {"units": 8, "embedding_units": 4, "attention_units": 4}
    assert type(kb.presets.characters(source, target, **sizes).decoder) is kb.Decoder
    hard = kb.presets.characters(source, target, hard_alignment="first", **sizes)
    assert type(hard.decoder) is kb.HardDecoder
