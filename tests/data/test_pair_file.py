"""Translations as training data: the file that back-translation writes and training reads."""

import gzip
from types import SimpleNamespace

import pytest
from full_disk import full_disk

from keras_bahdanau.data import PairFile, read_pairs, read_table


def found(text, score=-0.5, truncated=False, rejected=False):
    return SimpleNamespace(text=text, score=score, truncated=truncated, rejected=rejected)


def test_a_back_translation_is_read_as_pairs_with_the_tag_before_the_source(tmp_path):
    path = tmp_path / "back.tsv"
    with PairFile(path, reversed=True, tag="<bt>") as file:
        file.add("Ein\tMann.", [found("A man."), found("One man.")])
    expected = [("<bt> A man.", "Ein Mann."), ("<bt> One man.", "Ein Mann.")]
    assert read_pairs(path) == expected
    assert file.report() == f"2 pairs in {str(path)!r}; left out: none"


def test_scores_are_a_column_that_training_ignores(tmp_path):
    path = tmp_path / "self.tsv.gz"
    with PairFile(path, scores=True) as file:
        file.add("one", [found("eins", -0.25)])
        file.add("two", [found("zwei", -1e-7)])
    assert gzip.decompress(path.read_bytes()).decode() == "one\teins\t-0.2500\ntwo\tzwei\t-0.0000\n"
    assert read_table(path).pairs == [("one", "eins"), ("two", "zwei")]


def test_pairs_that_teach_nothing_are_left_out_and_counted(tmp_path):
    with PairFile(tmp_path / "pairs.tsv") as file:
        file.add("one", [found("eins"), found("eins"), found(" ")])
        file.add("", [found("")])
        file.add("two " * 999, [found("zwei", truncated=True)])
    assert file.left_out == {"the same again": 1, "empty": 2, "with a source that was cut": 1}
    assert file.written == 1 and read_pairs(tmp_path / "pairs.tsv") == [("one", "eins")]


def test_a_pair_that_comes_again_later_is_left_out(tmp_path):
    with PairFile(tmp_path / "pairs.tsv") as file:
        file.add("one", [found("eins"), found("ein")])
        file.add("two", [found("eins")])
        file.add("one", [found("eins"), found("einer")])
        file.add(" one\t", [found("ein ")])  # the same cells
    assert file.left_out == {"the same again": 2}
    expected = [("one", "eins"), ("one", "ein"), ("two", "eins"), ("one", "einer")]
    assert read_pairs(tmp_path / "pairs.tsv") == expected


def test_a_text_that_was_rejected_is_counted_as_that(tmp_path):
    with PairFile(tmp_path / "pairs.tsv") as file:
        file.add("one", [found("eins"), found("", rejected=True), found("")])
    assert file.report().endswith("left out: 1 rejected, 1 empty")


def test_a_file_that_is_not_finished_is_not_there(tmp_path):
    with pytest.raises(KeyboardInterrupt), PairFile(tmp_path / "pairs.tsv") as file:
        file.add("one", [found("eins")])
        raise KeyboardInterrupt
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.tsv.gz"])
def test_a_full_disk_leaves_nothing_and_names_the_file(tmp_path, name):
    with full_disk(5), pytest.raises(OSError, match="Received: path='.*pairs.tsv"):
        with PairFile(tmp_path / name) as file:
            file.add("one", [found("eins")])
    assert not [*tmp_path.iterdir()]


def test_a_tag_is_one_word():
    with pytest.raises(ValueError, match=r"different strings without white space .*'a b'"):
        PairFile("pairs.tsv", tag="a b")
