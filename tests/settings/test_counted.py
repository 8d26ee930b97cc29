"""Counted things in messages and progress lines."""

from keras_bahdanau.cli.training_files import report_held_out
from keras_bahdanau.data.shards.ordered_work import report_rate
from keras_bahdanau.settings.checks import counted


def test_one_thing_has_the_singular():
    plurals = ("sentences", "batches", "images", "training pairs", "epochs", "files")
    singulars = ["sentence", "batch", "image", "training pair", "epoch", "file"]
    assert [counted(1, one) for one in plurals] == [f"1 {one}" for one in singulars]
    assert [counted(number, "batches") for number in (0, 1000)] == ["0 batches", "1,000 batches"]


def test_one_pair_has_the_singular_in_reports():
    told = []
    report_held_out([("a", "b")], told.append)
    report_held_out([("a", "b")] * 2, told.append)
    assert [*report_rate([1], lambda pairs: pairs, "filtered", told.append)] == [1]
    assert told[:2] == [
        "1 pair is held out for validation",
        "2 pairs are held out for validation",
    ]
    assert told[2].startswith("1 pair filtered in ")
