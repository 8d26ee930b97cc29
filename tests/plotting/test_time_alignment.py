"""A spectrogram with an alignment below it: a time axis in seconds, and a row per token."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from keras_bahdanau.plotting import plot_alignment, plot_time_alignment
from keras_bahdanau.sources import Picture


def picture_of(frames, size=5, axis="seconds", scale=0.01, reduction=1):
    values = np.random.default_rng(0).normal(size=(frames, size))
    return Picture.heat_map(values, axis, scale)._replace(reduction=reduction)


def result_of(target, memory, text="a b"):
    weights = np.eye(len(target), memory)
    return SimpleNamespace(
        source_tokens=[""] * memory, target_tokens=target, alignment=weights, text=text
    )


def drawn(figure):
    FigureCanvasAgg(figure).draw()
    return figure


def test_picture_and_alignment_share_the_seconds():
    figure = drawn(
        plot_alignment(result_of(["▁a", "▁b", "</s>"], 30), picture_of(120, reduction=4))
    )
    above, below = figure.axes
    assert above.images[0].get_extent() == pytest.approx([0, 1.2, 1, 0])
    assert below.images[0].get_extent() == pytest.approx([0, 1.2, 3, 0])
    assert above.get_xlim() == below.get_xlim() == (0, 1.2)
    boxes = [ax.get_window_extent() for ax in (above, below)]
    assert (boxes[0].x0, boxes[0].x1) == pytest.approx((boxes[1].x0, boxes[1].x1))
    assert boxes[0].y0 > boxes[1].y1
    assert below.get_xlabel() == "seconds" and above.images[0].get_array().shape == (5, 120, 3)


def test_tokens_are_rows_from_the_top_and_each_weight_stands_over_its_frames():
    figure = drawn(
        plot_alignment(result_of(["▁a", "b", "▁", "</s>"], 5), picture_of(17, reduction=4))
    )
    below = figure.axes[1]
    assert [label.get_text() for label in below.get_yticklabels()] == ["a", "b", "␣", "</s>"]
    tops = [label.get_window_extent().y1 for label in below.get_yticklabels()]
    assert tops[0] > tops[1] > tops[3]
    expected = np.repeat(np.eye(4, 5), 4, axis=1)[:, :17]
    np.testing.assert_array_equal(below.images[0].get_array(), expected)
    assert below.images[0].get_clim() == (0, 1)
    assert below.images[0].get_cmap().name == "gray_r"


def test_words_share_the_mean_of_their_subwords():
    figure = plot_alignment(result_of(["▁a", "b", "▁c"], 6), picture_of(6), words=True)
    rows = figure.axes[1].images[0].get_array()
    # the mean 0.5, relative to four times the mean of all six weights
    np.testing.assert_allclose(rows, [[0.75, 0.75, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]])


def test_the_text_stands_above():
    figure = plot_alignment(result_of(["▁a"], 6, text="yes $5$ or _no^"), picture_of(6))
    assert [written.get_text() for written in figure.texts] == ["yes $5$ or _no^"]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("frames", "tokens"), [(1, 5), (3000, 40), (30, 1), (3000, 5), (30, 40), (1, 400)]
)
def test_every_label_lies_inside_the_picture_and_rows_do_not_overlap(frames, tokens):
    result = result_of(["▁" + "W" * 30] * tokens, frames)
    figure = drawn(plot_alignment(result, picture_of(frames)))
    assert figure.get_size_inches().max() <= 75
    labels = [label.get_window_extent() for label in figure.axes[1].get_yticklabels()]
    for box in (*labels, *(ax.get_tightbbox() for ax in figure.axes)):
        assert box.x0 >= 0 and box.x1 <= figure.bbox.x1
        assert box.y0 >= 0 and box.y1 <= figure.bbox.y1
    for upper, lower in zip(labels, labels[1:], strict=False):
        assert upper.y0 > lower.y0 and upper.y0 - lower.y1 > -3


def test_a_picture_without_an_axis_has_no_numbers():
    line = Picture(np.ones((8, 60)), 15)
    _, below = drawn(plot_alignment(result_of(["▁a"], 15), line)).axes
    assert not below.get_xlabel()
    assert not any(label.get_visible() for label in below.get_xticklabels())


def test_an_empty_text_is_the_picture_alone():
    above, below = drawn(plot_alignment(result_of([], 6, text=""), picture_of(6))).axes
    assert above.images and not below.images


def test_a_picture_of_several_rows_is_refused():
    picture = picture_of(6)._replace(rows=2)
    with pytest.raises(
        ValueError, match="have a single row of cells.* Received: a picture of 2 rows"
    ):
        plot_time_alignment(result_of(["▁a"], 6), picture)
