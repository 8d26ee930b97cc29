"""Scores by length: the sentences in each band, and the band's score."""

import pytest
import sacrebleu

from keras_bahdanau.evaluation import Band, band_starts, metrics_of, scores_by_length
from keras_bahdanau.plotting import plot_lengths

LENGTHS = [1, 2, 6, 0, 3, 7]
HYPOTHESES = ["x", "x y", "x y z x y z", "", "x y y", "y y y y y y y"]
REFERENCES = ["x", "x y", "x y z x y y", "", "x y z", "x y z x y z x"]


def test_each_band_is_a_corpus_of_its_own():
    (bleu,) = metrics_of(["bleu"])
    bands = scores_by_length(LENGTHS, HYPOTHESES, REFERENCES, bleu, starts=(1, 3, 6, 99))
    assert [(band.label, band.sentences) for band in bands] == [("1-2", 2), ("3-5", 1), ("6-98", 2)]
    for band, rows in zip(bands, [(0, 1), (4,), (2, 5)], strict=True):
        expected = sacrebleu.corpus_bleu(
            [HYPOTHESES[row] for row in rows], [[REFERENCES[row] for row in rows]]
        )
        assert band.score == pytest.approx(expected.score)


def test_bands_are_as_wide_as_the_unit_of_a_source_needs():
    assert band_starts(5) == (1, 6, 11, 16, 21, 31, 41, 51)
    assert band_starts(100) == (1, 101, 201, 301, 401, 601, 801, 1001)


def test_the_last_band_has_no_end():
    (wer,) = metrics_of(["wer"])
    bands = scores_by_length([3], ["x"], ["y"], wer, starts=(1, 2))
    assert bands == [Band("2-", 1, 100.0)]


def test_the_picture_has_a_bar_for_each_band():
    figure = plot_lengths([Band("1-5", 1234, 30.0), Band("6-", 2, 10.5)])
    (ax,) = figure.axes
    assert [bar.get_height() for bar in ax.patches] == [30.0, 10.5]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1-5\n1,234", "6-\n2"]
    assert ax.get_ylabel() == "BLEU"
    (ax,) = plot_lengths([Band("1-5", 3, 12.5)], metric="WER").axes
    assert ax.get_ylabel() == "WER"
    assert ax.get_xlabel() == "words of the source, and sentences"
    names = {"counted_in": "frames", "inputs": "recordings"}
    (ax,) = plot_lengths([Band("1-100", 3, 12.5)], metric="WER", **names).axes
    assert ax.get_xlabel() == "frames of the source, and recordings"


def test_a_picture_of_nothing_is_refused():
    with pytest.raises(ValueError, match=r"Received: bands=\[\]"):
        plot_lengths([])
