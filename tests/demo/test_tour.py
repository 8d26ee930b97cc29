"""The end of the tour: Keras, the SavedModel and the LiteRT file side by side."""

import pytest

from keras_bahdanau.demo.tour import ask_all


@pytest.mark.slow
def test_more_sentences_than_a_request_may_have_get_three_equal_answers(toy_translator, tmp_path):
    answers = ask_all(toy_translator, tmp_path, ["one two"] * 65, ["eins zwei"] * 65)
    assert answers == dict.fromkeys(("Keras", "SavedModel", "LiteRT"), ["eins zwei"] * 65)
