"""Maps of arbitrary weights, weights below a curve, and highlighted text."""

import re

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import keras_bahdanau as kb
from keras_bahdanau.plotting import highlight_text, plot_weights


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_one_row_of_weights_stands_under_its_words():
    figure = kb.plot_weights([0.1, 0.7, 0.2], ["not", b"bad", "$.$"])
    (ax,) = figure.axes
    assert labels(ax.xaxis) == ["not", "bad", "$.$"]
    np.testing.assert_allclose(ax.images[0].get_array(), [[0.1, 0.7, 0.2]])
    assert ax.images[0].get_clim() == (0, 0.7)  # the largest is white
    FigureCanvasAgg(figure).draw()


def test_a_map_has_targets_down_the_side_and_one_scale_for_all_figures():
    (ax,) = plot_weights(np.eye(2) / 2, ["a", "b"], ["x", "y"], largest=1).axes
    assert (labels(ax.xaxis), labels(ax.yaxis)) == (["a", "b"], ["x", "y"])
    assert ax.images[0].get_clim() == (0, 1)


def test_each_head_has_a_map_of_the_same_scale():
    weights = np.arange(12).reshape(2, 2, 3)
    figure = plot_weights(weights, ["a", "b", "c"])
    assert [ax.get_xlabel() for ax in figure.axes] == ["head 1", "head 2"]
    for ax, head in zip(figure.axes, weights, strict=True):
        np.testing.assert_array_equal(ax.images[0].get_array(), head)
        assert ax.images[0].get_clim() == (0, 11)
    FigureCanvasAgg(figure).draw()


def test_padding_without_weight_is_left_out():
    (ax,) = plot_weights([0.4, 0.6, 0, 0], ["a", "b"]).axes
    assert ax.images[0].get_array().shape == (1, 2)


def test_positions_without_labels_have_numbers():
    (ax,) = plot_weights(np.ones((2, 100))).axes
    assert [text for text in labels(ax.xaxis) if text][:3] == ["0", "4", "8"]
    assert labels(ax.yaxis) == ["0", "1"]


def test_weights_are_bars_below_a_curve():
    weights = np.array([0.1, 0.2, 0.7])
    above, below = plot_weights(weights, curve=[[1, 4], [2, 5], [3, 6]]).axes
    np.testing.assert_array_equal(
        [line.get_ydata() for line in above.lines], [[1, 2, 3], [4, 5, 6]]
    )
    np.testing.assert_allclose([bar.get_height() for bar in below.patches], weights)
    assert above.get_xlim() == below.get_xlim() == (-0.5, 2.5)


def test_weights_of_several_targets_are_a_map_below_a_curve():
    figure = plot_weights(np.eye(2, 3), "abc", ["x", "y"], curve=[1, 2, 3])
    _, below = figure.axes
    assert (labels(below.xaxis), labels(below.yaxis)) == (["a", "b", "c"], ["x", "y"])
    np.testing.assert_array_equal(below.images[0].get_array(), np.eye(2, 3))
    FigureCanvasAgg(figure).draw()


def test_a_map_can_share_a_figure():
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plot_weights([1], ["a"], ax=right) is figure
    assert right.images and not left.images


@pytest.mark.parametrize("weights", [[], np.zeros((0, 3)), np.zeros((2, 0, 3)), [0.0, 0.0]])
def test_empty_and_zero_weights_are_drawn(weights):
    FigureCanvasAgg(plot_weights(weights)).draw()


def test_words_are_highlighted_in_escaped_html():
    text = kb.highlight_text([0.25, 0.5, 0], ["a<b", "▁good"])
    assert re.findall(r'0, (0\.\d+|1\.\d+)\)" title="([\d.]+)">(.*?)</span>', text) == [
        ("0.500", "0.250", "a&lt;b"),
        ("1.000", "0.500", "good"),
    ]
    assert "</span> <span" in text and text._repr_html_() == text
    assert "</span><span" in highlight_text([0.5, 0.5], "ab")


@pytest.mark.parametrize(
    ("weights", "arguments", "kind", "message"),
    [
        ({"a": [1]}, {}, TypeError, r"`weights` must be an array.*weights\[name\]\[0\]"),
        (["a"], {}, TypeError, "array of numbers"),
        (np.ones((1, 1, 1, 1)), {}, ValueError, r"one example: weights\[0\]"),
        ([np.nan], {}, ValueError, "must be finite"),
        ([0.5, 0.5], {"labels": ["a"]}, ValueError, "`labels` must match the 2 weights"),
        ([1], {"labels": ["a", "b"]}, ValueError, "Received: 2 of labels"),
        ([[1]], {"target_labels": []}, ValueError, "`target_labels` must match the 1"),
        ([1, 1], {"curve": [1]}, ValueError, "`curve` must match the 2 weights"),
        (np.ones((2, 1, 1)), {"curve": [1]}, ValueError, "are mutually exclusive"),
        ([1], {"curve": [1], "ax": Figure().add_subplot()}, ValueError, "are mutually exclusive"),
    ],
)
def test_what_does_not_fit_is_refused(weights, arguments, kind, message):
    with pytest.raises(kind, match=message):
        plot_weights(weights, **arguments)
