"""Features are read, and they are written only if some target contains one."""

import dataclasses

import keras
import numpy as np
import pytest

import keras_bahdanau as kb
from keras_bahdanau.exporters import OnDeviceTranslator, run_in_clean_process
from keras_bahdanau.text import Subwords
from keras_bahdanau.training.data import TrainingData

PAIRS = [("<V> <PST> ab", "ba"), ("<V> ba", "abc")]
SYMBOLS = ["<V>", "<PST>"]
SENTENCES = ["<V> <PST> ab", "ba", ""]


@pytest.fixture(scope="module")
def both():
    """The vocabulary of both sides, with 12 tokens."""
    texts = [text for pair in PAIRS for text in pair]
    settings = {"model_type": "char", "normalization": "none", "exact": False}
    return Subwords.train(texts, 40, symbols=SYMBOLS, **settings)


@pytest.fixture(scope="module")
def translator(both):
    """A translator with random weights, in which symbols are likely enough to occur."""
    keras.utils.set_random_seed(5)
    sizes = {"units": 8, "attention_units": 4, "embedding_units": 4}
    model = kb.presets.characters(both, both, **sizes)
    search = kb.SearchOptions(beam_width=12, max_length=2, write_symbols=False)
    return kb.Translator(both, model, both, search)


def nbest(translator, **changes):
    search = dataclasses.replace(translator.search, **changes)
    return translator.translate_nbest(SENTENCES[:2], search=search)


@pytest.mark.slow
def test_no_hypothesis_has_a_symbol_that_is_of_sources_only(translator):
    free, bound = nbest(translator, write_symbols=True), nbest(translator)
    for all_of_them, kept in zip(free, bound, strict=True):
        assert any("<" in one.text for one in all_of_them)
        assert not any("<" in one.text for one in kept)
        scores = {tuple(one.target_tokens): one.score for one in all_of_them}
        for one in kept:  # its probability is still that of the model
            assert one.score == pytest.approx(scores.get(tuple(one.target_tokens), one.score))


@pytest.mark.slow
def test_no_alternative_of_an_explored_step_is_one(translator):
    def others(**changes):
        one = translator.searching(dataclasses.replace(translator.search, **changes))
        traces = [one.trace(sentence, explore=True) for sentence in SENTENCES[:2]]
        return {other.token.strip("▁") for trace in traces for other in trace.alternatives}

    assert others(write_symbols=True) & {*SYMBOLS}
    assert not others() & {*SYMBOLS}


@pytest.mark.slow
def test_a_prefix_may_have_one(translator):
    (result,) = translator.translate(["ba"], prefixes=["<PST>"])
    assert result.target_tokens[0] == "<PST>"


def test_a_training_lets_them_come_where_a_target_has_one(both):
    assert not TrainingData.build(PAIRS, PAIRS).write_symbols(both)
    assert TrainingData.build([*PAIRS, ("b", "<PST> a")], PAIRS).write_symbols(both)
    without = Subwords.train(["ab"], 40, model_type="char", exact=False)
    assert TrainingData.build(PAIRS, PAIRS).write_symbols(without)  # there is nothing to forbid


@pytest.mark.slow
def test_artefacts_have_none_either(translator, tmp_path):
    expected = translator.translate_nbest(SENTENCES)
    version = kb.export_saved_model(translator, tmp_path / "inflect")
    (found,) = run_in_clean_process(version, [("translate_nbest", {"text": SENTENCES})])
    path = tmp_path / "inflect.tflite"
    lengths = {"max_source_length": 12, "max_target_length": 8}
    kb.export_litert(translator, path, **lengths, signatures=("nbest",), allow_differences=True)
    on_device = OnDeviceTranslator(path).translate_nbest(SENTENCES, 12)
    for row, hypotheses in enumerate(expected):
        texts = [text.decode() for text in found["translations"][row]][: len(hypotheses)]
        listed = [one.text for one in on_device[row]]
        assert sorted(texts) == sorted(listed) == sorted(one.text for one in hypotheses)
        assert not any("<" in text for text in texts)
        scores = [one.score for one in on_device[row]]
        np.testing.assert_allclose(scores, [one.score for one in hypotheses], atol=1e-4)
