"""A pipeline whose search uses CTC scores."""

import dataclasses
import itertools

import extract
import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose
from options import OPTIONS, new_model, new_subwords

import keras_bahdanau as kb

INPUTS = ["a b c", "", "b", "c a b a", "what?"]
CTC = kb.SearchOptions(beam_width=4, max_length=5, ctc_weight=0.4)


@pytest.fixture(scope="module")
def subwords():
    return new_subwords()


def new_translator(subwords, name="joint CTC", seed=0, search=CTC):
    keras.utils.set_random_seed(seed)
    model = new_model(OPTIONS[name], subwords)
    model.build()
    return kb.Translator(subwords, extract.randomize(model), subwords, search)


@pytest.fixture(scope="module")
def translator(subwords):
    return new_translator(subwords)


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("width", [1, 4])
def test_a_text_has_the_score_that_the_search_gave_it(translator, width):
    search = dataclasses.replace(CTC, beam_width=width)
    found = translator.translate(INPUTS, search=search)
    pairs = [(one, best.text) for one, best in zip(INPUTS, found, strict=True)]
    given = translator.align(pairs, search=search)
    # Leave out outputs with a token that no text contains, such as the start token.
    same = [
        one.target_tokens == other.target_tokens for one, other in zip(given, found, strict=True)
    ]
    assert sum(same) > 2
    for one, other in itertools.compress(zip(given, found, strict=True), same):
        assert_allclose(one.score, other.score, rtol=1e-4, atol=1e-5)
        assert_allclose(one.alignment, other.alignment, atol=1e-5)


@pytest.mark.slow
def test_an_input_has_the_same_text_alone_and_in_a_batch(translator):
    for one, best in zip(INPUTS, translator.translate(INPUTS), strict=True):
        alone = translator.translate([one])[0]
        assert alone.text == best.text
        assert_allclose(alone.score, best.score, atol=1e-5)


@pytest.mark.slow
def test_its_share_changes_the_scores(translator):
    plain = dataclasses.replace(CTC, ctc_weight=0.0)
    pairs = [("a b c", "x y")]
    scores = [translator.score(pairs, search=search)[0] for search in (plain, CTC)]
    only = translator.score(pairs, search=dataclasses.replace(CTC, ctc_weight=1.0))[0]
    assert_allclose(scores[1], 0.6 * scores[0] + 0.4 * only, rtol=1e-5)


@pytest.mark.slow
def test_an_ensemble_averages_the_probabilities_of_its_members(subwords, translator):
    other = new_translator(subwords, seed=1)
    ensemble = kb.ensemble([translator, other])
    source = np.array([[4, 5, 3]], "int32")
    members = [np.exp(one.model.encode(source).ctc_log_probs) for one in (translator, other)]
    found = ensemble.model.encode(source).ctc_log_probs
    assert_allclose(np.exp(found), np.mean(members, axis=0), rtol=1e-5)
    results = ensemble.translate(INPUTS, search=CTC)
    assert np.isfinite([result.score for result in results]).all() and results[1].text == ""


def test_a_model_without_it_is_refused_in_one_line(subwords, translator):
    plain = new_translator(subwords, "plain", search=None)
    message = "Only a model .* trained with ctc_weight .* Received: ctc_weight=0.4 .*without it."
    for use in (
        lambda: plain.translate(["a"], search=CTC),
        lambda: plain.score([("a", "x")], search=CTC),
        lambda: kb.ensemble([plain, translator]).translate(["a"], search=CTC),
        lambda: new_translator(subwords, "plain"),
    ):
        with pytest.raises(ValueError, match=message):
            use()


def test_an_ensemble_has_a_share_of_it_if_all_members_do(subwords, translator):
    plain = new_translator(subwords, "plain", search=None)
    assert kb.ensemble([translator, plain]).search == dataclasses.replace(CTC, ctc_weight=0.0)
    assert kb.ensemble([translator, new_translator(subwords, seed=2)]).search == CTC


@pytest.mark.slow
def test_it_is_saved_with_its_search(translator, tmp_path):
    translator.save(tmp_path / "joint.keras")
    loaded = kb.Translator.load(tmp_path / "joint.keras")
    assert loaded.search == CTC
    for one, other in zip(*(each.translate(INPUTS) for each in (loaded, translator)), strict=True):
        assert (one.text, one.score) == (other.text, other.score)


@pytest.mark.slow
def test_exports_answer_alike(translator, tmp_path):
    kb.export_saved_model(translator, tmp_path / "served", INPUTS)
    lengths = {"max_source_length": 6, "max_target_length": 5}
    kb.export_litert(translator, tmp_path / "joint.tflite", sentences=INPUTS, **lengths)
    on_device = kb.exporters.LiteRTTranslator(tmp_path / "joint.tflite")
    for one, other in zip(
        *(each.translate(INPUTS) for each in (on_device, translator)), strict=True
    ):
        assert one.text == other.text
        assert_allclose(one.score, other.score, atol=1e-4)


@pytest.fixture
def half_precision():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_float16")
    yield
    keras.config.set_dtype_policy(before)


@pytest.mark.slow
def test_its_scores_are_float32_in_half_precision(subwords, translator, half_precision):
    half = new_translator(subwords)
    assert half.model.ctc_layer.compute_dtype == "float16"
    features = np.array([[4, 5, 3], [0, 0, 0]], "int32")
    found = half.search_features(features)
    assert found.scores.dtype == "float32" and np.isfinite(found.scores).all()
    expected = translator.search_features(features)
    assert_allclose(found.scores[0, 0], expected.scores[0, 0], atol=0.02)
