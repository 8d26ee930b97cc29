"""Targets that a vocabulary would change: the normalization that keeps them, and the report."""

import pytest

from keras_bahdanau.text import Subwords
from keras_bahdanau.text.folding import (
    fold_normalizations,
    report_pairs,
    report_targets,
    report_unwritten,
)

TARGETS = {
    "a fullwidth comma": "你好，世界",
    "a square": "4 m²",
    "a zero-width non-joiner": "می‌روم",
    "an Arabic ligature": "ﻼ",
    "a Roman numeral": "Ⅷ",
    "an ellipsis": "so…",
    "a combining mark": "e\u0301te",
}


def trained(texts, model_type="char", normalization="nmt_nfkc", size=300):
    return Subwords.train(
        [*texts], size, model_type=model_type, normalization=normalization, exact=False
    )


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("model_type", ["bpe", "unigram", "char", "grapheme", "word"])
def test_a_target_that_is_folded_is_reported_and_one_that_is_kept_is_not(name, model_type):
    target = TARGETS[name]
    folding = trained([target], model_type)
    line = report_unwritten("targets", [target], folding)
    assert line.startswith("the vocabulary can't write 1 of 1 targets, so no output can match ")
    assert repr(target) in line and "--target-normalization" in line
    keeping = trained([target], model_type, "identity")
    assert report_targets([target], keeping) == []
    assert keeping.decode(keeping.encode([target])) == [target]


def test_the_report_names_what_changes_and_the_option_that_helps():
    vocabulary = trained(["Hallo，du", "ja"], "bpe")
    line = report_unwritten("targets of the training", ["ja", "Hallo，du", "ja！"], vocabulary)
    assert line == (
        "the vocabulary can't write 1 of 3 targets of the training, so no output can match them: "
        "'Hallo，du' becomes 'Hallo,du' (， U+FF0C becomes ,). "
        "Train with --target-normalization identity, which keeps these characters"
    )
    line = report_unwritten("targets", ["می‌روم"], trained(["می‌روم"]))
    assert "(U+200C becomes U+0020)" in line and "normalization none, " in line


def test_a_vocabulary_that_folds_case_can_write_no_capital():
    vocabulary = trained(["ein Mann"], "word", "nmt_nfkc_cf")
    assert "(M becomes m)" in report_unwritten("targets", ["ein Mann"], vocabulary)
    assert report_unwritten("targets", ["ein Mann"], vocabulary, lowercase=True) == ""


def test_composed_hangul_is_written_and_its_letters_are_composed():
    vocabulary = trained(["한글"], "char", "nfd")
    assert report_unwritten("targets", ["한글"], vocabulary) == ""
    line = report_unwritten("targets", ["\u1112\u1161\u11ab글"], vocabulary)
    assert line.endswith("Convert the file to Unicode form NFC, or train with --target-"
                         "normalization none")  # fmt: skip


def test_the_mark_of_a_space_is_no_character_of_a_text():
    vocabulary = trained(["a▁b"], "char", "identity")
    assert "U+2581 marks a space" in report_unwritten("targets", ["a▁b"], vocabulary)


SPACES = ["AH0  B", "AH0\u00a0B", " AH0 B", "AH0 B \u3000", "AH0\u2003 B\r", "AH0\tB"]


@pytest.mark.parametrize("text", SPACES)
def test_spaces_do_not_count_for_a_vocabulary_that_joins_words_by_one_space(text):
    phonemes = trained(["AH0 B"], "word", "none")
    assert phonemes.spaced(text) == "AH0 B"
    folding = trained(["AH0 B"], "bpe")
    assert report_unwritten("targets", [text], folding) == ""


def test_spaces_count_for_a_vocabulary_that_keeps_them():
    keeping = trained(["a  b", "a b"], "char", "none")
    assert keeping.spaced("a  b ") == "a  b "
    assert report_targets(["a  b", "a b "], keeping) == []
    (line,) = report_targets(["a\u3000b", "a b"], keeping)
    assert line == "1 of 2 targets has parts that the vocabulary does not know: U+3000"


def test_parts_that_are_unknown_are_reported_once_for_each_side():
    vocabulary = trained(["a b"], "char", "none")
    lines = report_pairs([("x", "a"), ("a", "a👩‍👩‍👧")], None, vocabulary, " of the validation")
    assert len(lines) == 1 and "1 of 2 targets of the validation has parts" in lines[0]
    assert report_pairs([(b"\x00", "b")], None, vocabulary) == []
    assert report_pairs([], None, vocabulary) == []


def test_the_source_is_folded_and_the_target_is_kept_where_each_has_its_vocabulary():
    assert fold_normalizations(["m²"], joint=False) == ("nmt_nfkc", "identity", "")
    assert fold_normalizations(["m²"], joint=True)[:2] == ("identity", "identity")
    assert fold_normalizations(["m2", "a  b\u00a0c "], joint=True) == ("nmt_nfkc", "nmt_nfkc", "")
    assert fold_normalizations(["ja", "m²"], joint=True)[2] == (
        "normalization identity for both sides: nmt_nfkc would change 1 of 2 targets: "
        "'m²' becomes 'm2' (² U+00B2 becomes 2)"
    )


@pytest.mark.parametrize("joint", [True, False])
def test_vocabularies_of_pairs_write_every_target(joint):
    pairs = [("ｏｎｅ", text) for text in TARGETS.values()]
    source, target = Subwords.train_pair(pairs, 200, joint=joint, exact=False)
    written = target.decode(target.encode(list(TARGETS.values())))
    assert written == list(TARGETS.values())
    assert source.folds != joint and not target.folds
