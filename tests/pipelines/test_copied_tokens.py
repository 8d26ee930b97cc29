"""A translator that copies tokens, trained from options, with two different vocabularies."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bahdanau as kb
from keras_bahdanau.exporters.litert.on_device import OnDeviceTranslator

PAIRS = [(f"{a}x{b}{c} q", f"{b}{a} {c}z") for a in "abc" for b in "bcd" for c in "acd"]
SENTENCES = ["axbc q", "dxaa q", "", "qqq", "w d"]
SIZES = {"units": 12, "embedding_units": 8, "dropout": 0.0}


SPACED = [(source, " ".join(target.replace(" ", ""))) for source, target in PAIRS]
LETTERS = {"model_type": "char", "joint": False, "epochs": 2}
PHONEMES = {"preset": "characters", "attention_units": 8, "epoch_steps": 10, "epochs": 2}


@pytest.fixture(scope="module", params=[(PAIRS, LETTERS), (SPACED, PHONEMES)], ids=["a", "a b"])
def translator(request, tmp_path_factory):
    """A translator from letters to letters, or from letters to symbols separated by spaces."""
    pairs, options = request.param
    options = kb.training.TrainingOptions(copy=True, ema_momentum=0.0, **options, **SIZES)
    run = tmp_path_factory.mktemp("copied") / "run"
    path = kb.training.train(pairs, pairs, run, options, verbose=0, say=lambda line: None)
    return kb.Translator.load(path)


def same(found, expected):
    assert found.text == expected.text
    assert found.score == pytest.approx(expected.score, abs=1e-4)
    np.testing.assert_allclose(found.alignment, expected.alignment, atol=1e-5)


@pytest.mark.slow
def test_its_symbols_are_those_of_its_vocabularies(translator):
    source, target = translator.source.subwords, translator.target
    tokens = source.tokens(np.arange(source.vocabulary_size)).tolist()
    copied = {tokens[one]: symbol for one, symbol in enumerate(translator.model.encoder.symbols)}
    assert source != target and copied["x"] == copied["q"] == copied[""] == -1
    mark = "▁" if target.model_type == "word" else ""
    assert [*target.tokens([copied[one] for one in "abcd"])] == [mark + one for one in "abcd"]


@pytest.mark.slow
def test_it_searches_draws_and_shows_its_gate(translator):
    for options in ({"beam_width": 1}, {"beam_width": 4}, {"temperature": 1.0, "top_k": 3}):
        search = kb.SearchOptions(max_length=6, **options)
        results = translator.translate(SENTENCES, search=search)
        assert [bool(one.target_tokens) for one in results] == [True, True, False, True, True]
        aligned = translator.align([(SENTENCES[0], results[0].text)], search=search)[0]
        assert np.isfinite(aligned.score)
    generation = translator.trace(SENTENCES[0]).generation
    assert np.all((generation > 0) & (generation < 1))


@pytest.mark.slow
def test_a_closed_gate_leaves_only_tokens_of_the_source(translator):
    # Without copying, phonemes would get a hard decoder.
    assert type(translator.model.decoder) is kb.Decoder
    bias = translator.model.decoder.pointer.projection.bias
    usual = bias.numpy()
    bias.assign([-40.0])  # p_gen is 0
    try:
        results = translator.translate(SENTENCES[:2])
    finally:
        bias.assign(usual)
    for one, sentence in zip(results, SENTENCES, strict=False):
        known = {*sentence} & {*"abcd"}
        tokens = {*one.target_tokens}
        assert {token.strip("▁") for token in tokens} <= {*known, "<unk>", "</s>", ""}
        assert tokens - {"<unk>", "</s>", ""}  # letters or the space


@pytest.mark.slow
def test_an_ensemble_of_it_and_another_goes_through_a_file(translator, tmp_path):
    keras.utils.set_random_seed(5)
    model = kb.presets.small(translator.source, translator.target, **SIZES)
    other = kb.Translator(translator.source, model, translator.target)
    both = kb.ensemble([translator, other])
    both.save(tmp_path / "both.keras")
    loaded = kb.Translator.load(tmp_path / "both.keras")
    for one, expected in zip(loaded.translate(SENTENCES), both.translate(SENTENCES), strict=True):
        same(one, expected)


@pytest.mark.slow
def test_a_saved_model_and_a_litert_file_copy_alike(translator, tmp_path):
    expected = translator.translate(SENTENCES)
    kb.export_saved_model(translator, tmp_path / "model", SENTENCES)
    served = tf.saved_model.load(str(tmp_path / "model" / "1"))
    answer = served.signatures["translate_with_alignment"](tf.constant(SENTENCES))
    for row, one in enumerate(expected):
        assert answer["translation"][row].numpy().decode() == one.text
        np.testing.assert_allclose(answer["score"][row], one.score, atol=1e-4)
        time, places = one.alignment.shape
        shown = answer["alignment"][row, :time, :places]
        np.testing.assert_allclose(shown, one.alignment, atol=1e-5)
    lengths = {"max_source_length": 8, "max_target_length": 40}
    kb.export_litert(translator, tmp_path / "model.tflite", sentences=SENTENCES, **lengths)
    found = OnDeviceTranslator(tmp_path / "model.tflite").translate(SENTENCES)
    for one, other in zip(found, expected, strict=True):
        same(one, other)
