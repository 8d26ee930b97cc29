"""Model types that are left out: symbols with spaces between, or words and phrases."""

import dataclasses

import pytest

from keras_bahdanau.training import Run, TrainingOptions
from keras_bahdanau.training.model_types import model_type_of, with_model_types

CHARACTERS = TrainingOptions(preset="characters")
PRONUNCIATIONS = [("red", "R EH D"), ("shoe", "SH UW"), ("judge", "JH AH JH")]


def types(options, pairs, symbols=()):
    found = with_model_types(options, pairs, symbols).resolved()
    return found.source_model_type, found.target_model_type, found.joint


@pytest.mark.parametrize(
    "texts",
    [
        ["R EH D", "SH UW", "JH AH JH"],
        ["R EH1 D", "AH0 B AE1 S"],
        ["t͡ʃʰ a k̚", "d͡ʑ ɯ p̚ t͡ɕ i"],
        ["ʔ aː ˧˧ ʔ ɗ e ˧˧", "z aː ŋ ˧˧"],
        ["д ж о н", "예 나 리 스", "م ا ن ر"],
        ["a b c", "", "  ", "d e"],
        [*["n o"] * 9, "a"],  # a word of one letter
    ],
)
def test_a_side_of_symbols_with_spaces_between_has_a_word_vocabulary(texts):
    assert model_type_of(texts) == "word"


@pytest.mark.parametrize(
    "texts",
    [
        ["red", "shoe"],
        ["New York", "Los Angeles", "de la Cruz"],
        ["an giang", "ba lan", "an trú"],  # syllables
        ["4 March 2021", "4 Mar 2021", "on 4. 3. 2021"],
        ["2021-03-04", "2021-12-31"],
        ["東京", "a", "b"],  # letters without neighbours
        ["a n  b o b", "c o  d e"],  # two spaces have a meaning, which only characters keep
        [*["n o"] * 7, *["no"] * 3],
        ["예 나 리 스", "스 토 이 베 르"],  # of letters, which have no spaces between
        [],
        ["", " "],
    ],
)
def test_a_side_of_words_and_phrases_has_one_of_characters(texts):
    assert model_type_of(texts) == "char"


def test_inputs_that_are_no_text_have_no_symbols():
    assert model_type_of([b"R EH D", None, 3]) == "char"


def test_features_before_a_source_do_not_count():
    pairs = [("<V> <A> <B> <C> no", "nod"), ("<V> <A> <B> <C> go", "gone")]
    assert types(CHARACTERS, pairs, ["<V>", "<A>", "<B>", "<C>"]) == ("char", "char", True)
    short = [("<V> <N> 我", "a b"), ("<V> <N> 你", "b c")]
    assert types(CHARACTERS, short, ["<V>", "<N>"])[0] == "char"


def test_each_side_is_found_by_itself():
    assert types(CHARACTERS, PRONUNCIATIONS) == ("char", "word", False)
    assert types(CHARACTERS, [pair[::-1] for pair in PRONUNCIATIONS]) == ("word", "char", False)
    assert types(CHARACTERS, [("kuzu", "kuzular")]) == ("char", "char", True)


@pytest.mark.parametrize(
    "given, expected",
    [
        ({"model_type": "char"}, ("char", "char", True)),
        ({"target_model_type": "grapheme"}, ("char", "grapheme", False)),
        ({"source_model_type": "bpe"}, ("bpe", "word", False)),
    ],
)
def test_an_option_that_is_given_wins(given, expected):
    assert types(dataclasses.replace(CHARACTERS, **given), PRONUNCIATIONS) == expected


def test_any_preset_finds_them_if_asked():
    assert types(TrainingOptions(), PRONUNCIATIONS) == ("bpe", "bpe", True)
    assert types(TrainingOptions(model_type="auto"), PRONUNCIATIONS) == ("char", "word", False)


def test_a_joint_vocabulary_of_two_types_is_refused():
    options = dataclasses.replace(CHARACTERS, joint=True)
    with pytest.raises(ValueError, match="joint=True, source_model_type='char', target_model_ty"):
        with_model_types(options, PRONUNCIATIONS)


def test_one_line_tells_of_what_was_found():
    lines = []
    with_model_types(CHARACTERS, PRONUNCIATIONS, say=lines.append)
    with_model_types(TrainingOptions(), PRONUNCIATIONS, say=lines.append)
    assert lines == [
        "model types, found from the text: source char, target word (symbols with spaces between)"
    ]


def test_a_run_resumes_with_the_model_types_that_it_began_with(tmp_path):
    run = Run(tmp_path / "run")
    begun = dataclasses.replace(CHARACTERS, target_model_type="grapheme")  # as another rule found
    begun = with_model_types(begun, PRONUNCIATIONS)
    run.begin(begun, PRONUNCIATIONS, PRONUNCIATIONS, {})
    run.check(CHARACTERS, PRONUNCIATIONS, PRONUNCIATIONS)
    assert types(run.kept(CHARACTERS), PRONUNCIATIONS) == ("char", "grapheme", False)
    other = dataclasses.replace(CHARACTERS, target_model_type="word")
    with pytest.raises(ValueError, match="target_model_type='grapheme'. Received: target_model_t"):
        run.check(other, PRONUNCIATIONS, PRONUNCIATIONS)


def test_a_run_of_characters_from_before_there_was_a_choice_resumes(tmp_path):
    run = Run(tmp_path / "run")
    earlier = dataclasses.replace(CHARACTERS, model_type="char")
    run.begin(earlier, PRONUNCIATIONS, PRONUNCIATIONS, {})
    run.check(CHARACTERS, PRONUNCIATIONS, PRONUNCIATIONS)
    assert types(run.kept(CHARACTERS), PRONUNCIATIONS) == ("char", "char", True)
