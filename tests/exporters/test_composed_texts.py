"""Text that is read and written letter by letter comes out composed in every artefact."""

import keras
import pytest

import keras_bahdanau as kb
from keras_bahdanau.exporters import OnDeviceTranslator, run_in_clean_process
from keras_bahdanau.text import Subwords
from keras_bahdanau.text.vocabulary import drop_composition

SOURCES = ["한국", "학가", "나 뷁", "", "é 한"]  # the vocabulary's text has no 학 or 뷁


@pytest.fixture(scope="module", params=["joint", "separate"])
def translator(request):
    """A translator from Hangul to Hangul with random weights."""
    keras.utils.set_random_seed(5)
    settings = {"model_type": "char", "normalization": "nfd", "exact": False}
    source = Subwords.train(["한국 가나", "e\u0301"], 60, **settings)
    target = source
    if request.param == "separate":
        target = Subwords.train(["하나 안"], 60, **settings)
    sizes = {"units": 16, "attention_units": 8, "embedding_units": 8}
    model = kb.presets.characters(source, target, **sizes)
    return kb.Translator(source, model, target, kb.SearchOptions(beam_width=2, max_length=8))


@pytest.mark.slow
def test_syllables_are_whole_in_a_saved_model_and_on_a_device(translator, tmp_path):
    """All prefixes begin with h, a and n, the letters of a single syllable."""
    prefixes = ["하", "한", "하\u11ab", "한", "한"]
    results = translator.translate_nbest(SOURCES, 2, prefixes=prefixes)
    expected = [[one.text for one in row] for row in results]
    assert expected[3] == [""]
    assert [row[0][:1] for row in expected[1:3]] == ["한", "한"]

    version = kb.export_saved_model(translator, tmp_path / "korean", signatures=("prefix",))
    request = {"text": SOURCES, "prefix": prefixes}
    (found,) = run_in_clean_process(version, [("translate_prefix", request)])
    rows = [[text.decode() for text in row] for row in found["translations"]]
    assert [row[: len(texts)] for row, texts in zip(rows, expected, strict=True)] == expected

    path = tmp_path / "korean.tflite"
    lengths = {"max_source_length": 20, "max_target_length": 12}
    kb.export_litert(translator, path, **lengths, signatures=("prefix",), allow_differences=True)
    on_device = OnDeviceTranslator(path)
    listed = on_device.translate_nbest(SOURCES, 2, prefixes)
    assert [[one.text for one in row] for row in listed] == expected
    files, vocabularies = on_device.files, on_device.card["vocabularies"]
    packed = {side: files[name] for side, name in vocabularies.items()}
    assert packed["target"] == translator.target.model
    if translator.target is not translator.source.subwords:
        assert packed["source"] == drop_composition(translator.source.subwords.model)
