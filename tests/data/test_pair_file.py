"""Translations as training data: the file that back-translation writes and training reads."""

import gzip
from types import SimpleNamespace

import pytest
from full_disk import full_disk

from keras_bahdanau.data import PairFile, pair_file, read_pairs, read_table


def found(text, score=-0.5, truncated=False, rejected=False, finished=True):
    states = {"truncated": truncated, "rejected": rejected, "finished": finished}
    return SimpleNamespace(text=text, score=score, **states)


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
        file.add("two", [found("⁇ei"), found("zwei zwei", finished=False)])
        file.add("⁇", [found("⁇")])
    assert file.left_out == {
        **{"repeated": 1, "empty": 2, "with a truncated source": 1},
        **{"with an unknown token": 1, "without an end": 1},
    }
    assert file.written == 2
    assert read_pairs(tmp_path / "pairs.tsv") == [("one", "eins"), ("⁇", "⁇")]


def test_a_pair_that_comes_again_later_is_left_out(tmp_path):
    with PairFile(tmp_path / "pairs.tsv") as file:
        file.add("one", [found("eins"), found("ein")])
        file.add("two", [found("eins")])
        file.add("one", [found("eins"), found("einer")])
        file.add(" one\t", [found("ein ")])  # the same cells once stripped
    assert file.left_out == {"repeated": 2}
    expected = [("one", "eins"), ("one", "ein"), ("two", "eins"), ("one", "einer")]
    assert read_pairs(tmp_path / "pairs.tsv") == expected


def test_a_text_that_was_rejected_is_counted_as_that(tmp_path):
    with PairFile(tmp_path / "pairs.tsv") as file:
        file.add("one", [found("eins"), found("", rejected=True), found("")])
    assert file.report().endswith("left out: 1 rejected, 1 empty")


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.tsv.gz"])
@pytest.mark.parametrize("piece", [1, pair_file.PIECE])
def test_an_interruption_leaves_the_pairs_of_whole_sources_and_tells_so(
    tmp_path, monkeypatch, name, piece
):
    monkeypatch.setattr(pair_file, "PIECE", piece)
    told = []
    with pytest.raises(KeyboardInterrupt), PairFile(tmp_path / name, say=told.append) as file:
        file.add("one", [found("eins"), found("ein")])
        file.add("two", [found("zwei")])
        raise KeyboardInterrupt
    kept = tmp_path / f".unfinished-{name}"
    assert [*tmp_path.iterdir()] == [kept]
    assert read_pairs(kept) == [("one", "eins"), ("one", "ein"), ("two", "zwei")]
    assert told[0].startswith(f"the pairs of the first 2 sources are kept in {str(kept)!r}. Rename")
    with pytest.raises(FileExistsError, match="Received: path=.*unfinished-.* next to it. Rename"):
        PairFile(tmp_path / name)


def test_an_interruption_before_the_first_pair_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), PairFile(tmp_path / "pairs.tsv.gz", say=None) as file:
        file.add("", [found("")])
        raise KeyboardInterrupt
    assert not [*tmp_path.iterdir()]


def test_a_disk_that_is_full_later_keeps_the_pairs_of_whole_sources(tmp_path, monkeypatch):
    monkeypatch.setattr(pair_file, "PIECE", 1)
    told, path = [], tmp_path / "pairs.tsv"
    with full_disk(12), pytest.raises(OSError, match="Received: path='.*pairs.tsv"):
        with PairFile(path, say=told.append) as file:
            file.add("one", [found("eins")])
            file.add("two", [found("zwei")])
    assert (tmp_path / ".unfinished-pairs.tsv").read_text() == "one\teins\n"
    assert "the first 1 sources" in told[0] and not path.exists()


def test_the_pairs_that_are_remembered_have_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(pair_file, "REMEMBERED", 2)
    with PairFile(tmp_path / "pairs.tsv") as file:
        for source in ("one", "two", "one", "three", "one"):  # "one" is forgotten by the third time
            file.add(source, [found("eins")])
    assert file.left_out == {"repeated": 1} and file.written == 4


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.tsv.gz"])
def test_a_full_disk_leaves_nothing_and_names_the_file(tmp_path, name):
    with full_disk(5), pytest.raises(OSError, match="Received: path='.*pairs.tsv"):
        with PairFile(tmp_path / name) as file:
            file.add("one", [found("eins")])
    assert not [*tmp_path.iterdir()]


def test_a_tag_is_one_word():
    with pytest.raises(ValueError, match=r"distinct UTF-8 strings without white space .*'a b'"):
        PairFile("pairs.tsv", tag="a b")
