"""Characters that a vocabulary lacks: a .tflite file copies those that Keras copies."""

import dataclasses

import copying_speller
import pytest

import keras_bahdanau as kb
from keras_bahdanau.exporters import OnDeviceTranslator
from keras_bahdanau.exporters.litert.litert_translator import LiteRTTranslator
from keras_bahdanau.text import Subwords

SHORT = [one for one in copying_speller.TEXTS if len(one) != 30]  # 30 letters are too long


@pytest.fixture(scope="module")
def translator():
    return copying_speller.translator()


@pytest.fixture(scope="module")
def path(translator, tmp_path_factory):
    path = tmp_path_factory.mktemp("speller") / "speller.tflite"
    copying_speller.export(path)
    return path


def texts(lists):
    return [[one.text for one in row if one.target_tokens] for row in lists]


def test_a_file_writes_the_texts_of_keras(translator, path):
    given = dataclasses.replace(translator.search, max_length=10)
    expected = texts(translator.translate_nbest(SHORT, search=given))
    written = "".join(text for row in expected for text in row)
    assert {"Z", "Ä", "☃", "⁇"} <= {*written} and "É" in written
    on_device = OnDeviceTranslator(path)
    assert texts(on_device.translate_nbest(SHORT)) == expected
    best = [row[0] if row else "" for row in expected]
    assert [one.text for one in on_device.translate(SHORT)] == best
    assert texts(LiteRTTranslator(path).translate_nbest(SHORT)) == expected


def test_a_text_that_is_cut_copies_nothing_behind_its_end(translator, path):
    long = ["eÄ" * 30]
    search = dataclasses.replace(translator.search, max_source_length=20)
    expected = texts(translator.translate_nbest(long, search=search))
    assert texts(LiteRTTranslator(path).translate_nbest(long)) == expected


def test_words_and_decomposed_letters_are_refused(translator, tmp_path):
    for settings in ({"model_type": "word"}, {"model_type": "char", "normalization": "nfd"}):
        other = Subwords.train(["가나 a"], 20, exact=False, **settings)
        model = kb.presets.characters(other, other, units=8, hard_alignment="none")
        model.build()
        pipeline = kb.Translator(other, model, other, translator.search)
        with pytest.raises(ValueError, match="copy characters of the source, but no words"):
            kb.export_litert(pipeline, tmp_path / "other.tflite", **copying_speller.LENGTHS)
