"""Words of an old program keep their probabilities when their ids change; texts; errors."""

from pathlib import Path

import numpy as np
import pytest

import keras_bahdanau as kb
from keras_bahdanau.exporters import OnDeviceTranslator
from keras_bahdanau.migrate import from_addons, to_translator

GOLDEN = Path(__file__).parents[1] / "golden" / "addons"
WORDS = ["", "<start>", "<end>", *"abcdefghi"]
ORDER = [0, None, 1, 2, *range(3, 12)]  # old target ids: padding, unknown, start, end
SOURCE = np.array([[3, 4, 5, 2], [1, 7, 2, 0]], "int32")
TEXTS = ["a b c", "<start> e"]
TARGET_IN = np.array([[1, 3, 4], [1, 11, 8]], "int32")
SEARCH = kb.SearchOptions(beam_width=3, length_normalization=0.0, max_length=12)


@pytest.fixture(scope="module")
def model():
    return from_addons(GOLDEN / "luong_lstm")


@pytest.fixture(scope="module")
def translator(model):
    return to_translator(model, WORDS, WORDS, search=SEARCH)


def test_a_text_has_the_logits_of_the_old_ids(model, translator):
    source = np.zeros_like(SOURCE)
    for row, ids in enumerate(translator.source.subwords.encode(TEXTS)):
        source[row, : len(ids)] = ids
    logits = np.asarray(translator.model((source, np.array([[2, 4, 5], [2, 12, 9]]))))
    expected = np.asarray(model((SOURCE, TARGET_IN)))
    for new, old in enumerate(ORDER):
        found = logits[..., new]
        np.testing.assert_allclose(found, -1e4 if old is None else expected[..., old], atol=1e-5)


def test_ids_without_words_and_an_unknown_word_keep_their_rows(model):
    words = ["<pad>", "[UNK]", "[START]", "[END]", "", *"abcdefg"]
    marks = {"start": "[START]", "end": "[END]", "unknown": "[UNK]"}
    found = to_translator(model, words, words, **marks)
    biases = [one.decoder.output_layer.bias for one in (found.model, model)]
    np.testing.assert_array_equal(*biases)
    # in the source, the start is a word that follows the special ones and precedes all others
    expected = ["", "<unk>", "<s>", "</s>", "▁[START]", "▁<4>", *(f"▁{one}" for one in "abcdefg")]
    assert found.source.subwords.tokens(range(13)).tolist() == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source_words": WORDS[:-1]}, "for each of the 12 ids.* Received: 11 words"),
        ({"target_words": [*WORDS[:-1], "a"]}, "must contain a different word.*10 are different"),
        ({"target_words": [*WORDS[:-1], "a b"]}, "without whitespace.*Received: 'a b'"),
        ({"start": "[START]"}, r"`target_words` must contain the words .* without '\[START\]'"),
        ({"unknown": "<unk>"}, "`source_words` must contain the words .* without '<unk>'"),
    ],
)
def test_words_that_do_not_fit_are_refused(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        to_translator(model, **{"source_words": WORDS, "target_words": WORDS, **arguments})


@pytest.mark.slow
def test_texts_are_those_of_a_search_by_the_old_ids(model, translator):
    result = kb.search.search_model(model, SOURCE, SEARCH, start=1, end=2)
    for row, found in enumerate(translator.translate(TEXTS)):
        length = int(result.lengths[row, 0])
        ids = [one for one in np.asarray(result.ids[row, 0, :length]) if one > 2]
        assert found.text == " ".join(WORDS[one] for one in ids)
        np.testing.assert_allclose(found.score, result.scores[row, 0], atol=1e-5)


@pytest.mark.slow
def test_a_model_with_its_words_is_exported_and_saved(translator, tmp_path):
    translator.save(tmp_path / "m.keras")
    loaded = kb.Translator.load(tmp_path / "m.keras")
    lengths = {"max_source_length": 8, "max_target_length": 12}
    kb.export_litert(loaded, tmp_path / "m.tflite", sentences=TEXTS, **lengths)
    on_device = OnDeviceTranslator(tmp_path / "m.tflite").translate(TEXTS)
    expected = [one.text for one in translator.translate(TEXTS)]
    assert [one.text for one in on_device] == expected
