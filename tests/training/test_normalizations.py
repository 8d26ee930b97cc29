"""Normalizations that are left out: Hangul in letters, other scripts as they are."""

import dataclasses

import pytest

from keras_bahdanau.training import Run, TrainingOptions
from keras_bahdanau.training.normalizations import normalization_of, with_normalizations

CHARACTERS = TrainingOptions(preset="characters", model_type="char")
KOREAN = [("한국", "h a n ɡ u k̚"), ("서울", "s ʌ u ɭ")]


def normalizations(options, pairs):
    found = with_normalizations(options, pairs).resolved()
    return found.source_normalization, found.target_normalization, found.joint


@pytest.mark.parametrize(
    "texts, expected",
    [
        (["한국", "서울"], "nfd"),
        (["<N> 한국 abc", "", "서울 2"], "nfd"),
        (["한국", "Seoul"], "none"),  # half of them
        (["ㄱㄴ", "東京", "Bücher", "が"], "none"),
        ([b"\xed\x95\x9c", None, 3], "none"),
        ([], "none"),
    ],
)
def test_a_side_of_hangul_is_decomposed(texts, expected):
    assert normalization_of(texts) == expected


def test_each_side_is_found_by_itself():
    assert normalizations(CHARACTERS, KOREAN) == ("nfd", "none", False)
    assert normalizations(CHARACTERS, [pair[::-1] for pair in KOREAN]) == ("none", "nfd", False)
    assert normalizations(CHARACTERS, [("한국", "한국에")]) == ("nfd", "nfd", True)
    assert normalizations(CHARACTERS, [("red", "дом")]) == ("none", "none", True)


def test_symbols_between_spaces_stay_as_they_are():
    options = dataclasses.replace(CHARACTERS, target_model_type="word")
    assert normalizations(options, [("존", "조 ㄴ"), ("한", "하 ㄴ")])[:2] == ("nfd", "none")


@pytest.mark.parametrize(
    "given, expected",
    [
        ({"normalization": "none"}, ("none", "none", True)),
        ({"source_normalization": "nfkc"}, ("nfkc", "none", False)),
        ({"target_normalization": "nfd"}, ("nfd", "nfd", True)),
    ],
)
def test_an_option_that_is_given_wins(given, expected):
    assert normalizations(dataclasses.replace(CHARACTERS, **given), KOREAN) == expected


def test_other_presets_decompose_if_they_are_asked_to():
    assert normalizations(TrainingOptions(), KOREAN) == ("nmt_nfkc", "nmt_nfkc", True)
    assert normalizations(TrainingOptions(normalization="auto"), KOREAN)[0] == "nfd"


def test_a_joint_vocabulary_of_two_normalizations_is_refused():
    options = dataclasses.replace(CHARACTERS, joint=True)
    with pytest.raises(ValueError, match="source_normalization='nfd', target_normalization='none'"):
        with_normalizations(options, KOREAN)


def test_one_line_tells_of_hangul_alone():
    lines = []
    with_normalizations(CHARACTERS, KOREAN, say=lines.append)
    with_normalizations(CHARACTERS, [("red", "дом")], say=lines.append)
    assert lines == [
        "normalization, found from the text: source nfd (Hangul syllables in letters), target none"
    ]


def test_a_run_of_hangul_from_before_there_was_a_choice_resumes_as_it_was(tmp_path):
    run = Run(tmp_path / "run")
    run.begin(dataclasses.replace(CHARACTERS, normalization="none"), KOREAN, KOREAN, {})
    card = run.card.read_text()
    for name in ("source_normalization", "target_normalization"):
        card = card.replace(f'  "{name}": "none",\n', "")
    assert "source_norm" not in card and '"normalization": "none"' in card
    run.card.write_text(card)
    run.check(CHARACTERS, KOREAN, KOREAN)
    assert normalizations(run.kept(CHARACTERS), KOREAN) == ("none", "none", True)
