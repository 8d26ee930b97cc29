"""Attention maps over an image for each token: panels, titles, limits and layout."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from keras_bahdanau.plotting import plot_alignment, plot_attention_maps
from keras_bahdanau.plotting.overlay import overlay
from keras_bahdanau.sources import Picture

PICTURE = Picture(np.linspace(0, 1, 8 * 24).reshape(8, 24), 12, rows=2)  # cells of 4 pixels


def result_of(target, weights=None, text="a b"):
    if weights is None:
        weights = np.random.default_rng(0).dirichlet(np.ones(12), size=len(target))
    return SimpleNamespace(
        source_tokens=[""] * np.shape(weights)[1],
        target_tokens=target,
        alignment=weights,
        text=text,
    )


def drawn(figure):
    FigureCanvasAgg(figure).draw()
    return figure


def titles(figure):
    return [ax.get_title() for ax in figure.axes]


def test_first_comes_the_image_then_one_map_for_each_token():
    weights = np.eye(3, 12)[:, ::-1]  # lower right cell, above it, left of it
    figure = plot_alignment(result_of(["▁a", "b", "</s>"], weights), PICTURE)
    assert titles(figure) == ["", "a", "b", "</s>"]
    images = [ax.images[0].get_array() for ax in figure.axes]
    np.testing.assert_allclose(images[0], np.repeat(PICTURE.pixels[..., None], 3, -1), atol=0.005)
    for image, cell in zip(images[1:], [(1, 5), (0, 5), (1, 4)], strict=True):
        shares = np.zeros((2, 6))
        shares[cell] = 1
        np.testing.assert_array_equal(image, overlay(PICTURE, shares))
        orange = image[..., 0].astype(int) - image[..., 2]
        y, x = np.unravel_index(orange.argmax(), orange.shape)
        assert (y // 4, x // 4) == cell
    assert {tuple(ax.images[0].get_extent()) for ax in figure.axes} == {(0, 6, 2, 0)}


def test_the_text_stands_above_in_lines_that_fit():
    text = "word " * 100
    figure = drawn(plot_alignment(result_of(["▁a"], text=text), PICTURE))
    lines = [written.get_text() for written in figure.texts]
    assert 1 < len(lines) <= 3 and lines[-1].endswith("…") and text.startswith(lines[0])
    for written in figure.texts:
        box = written.get_window_extent()
        assert 0 <= box.x0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("shape", "tokens"),
    [
        *[((8, 24), 5), ((32, 32), 1), ((64, 8), 5), ((4, 200), 5)],
        *[((8, 24), 40), ((32, 32), 40), ((64, 8), 40), ((4, 200), 40)],
    ],
)
def test_panels_keep_the_proportions_and_nothing_overlaps(shape, tokens):
    picture = Picture(np.ones(shape), 12, rows=2)
    figure = drawn(plot_alignment(result_of(["▁" + "W" * 30] * tokens), picture))
    width, height = figure.get_size_inches()
    assert width <= 12.3 and height < 60
    boxes = [ax.get_tightbbox() for ax in figure.axes] + [
        written.get_window_extent() for written in figure.texts
    ]
    for number, box in enumerate(boxes):
        assert 0 <= box.x0 and box.x1 <= figure.bbox.x1 and 0 <= box.y0 and box.y1 <= figure.bbox.y1
        for other in boxes[number + 1 :]:
            apart = max(
                *(other.x0 - box.x1, box.x0 - other.x1), *(other.y0 - box.y1, box.y0 - other.y1)
            )
            assert apart > -1, "less than a pixel"
    if shape in ((8, 24), (32, 32)):
        panel = figure.axes[0].get_window_extent()
        assert panel.width / panel.height == pytest.approx(shape[1] / shape[0])


def test_more_tokens_than_the_bound_are_counted():
    figure = plot_attention_maps(result_of(["▁a"] * 9), PICTURE, most=4)
    assert len(figure.axes) == 5
    assert figure.texts[-1].get_text() == "The first 4 of 9 tokens."


@pytest.mark.slow
def test_the_bound_is_48_unless_told():
    assert len(plot_attention_maps(result_of(["▁a"] * 60), PICTURE).axes) == 49


def test_words_share_the_mean_of_their_subwords():
    weights = np.eye(3, 12)
    figure = plot_alignment(result_of(["▁a", "b", "</s>"], weights), PICTURE, words=True)
    assert titles(figure) == ["", "ab", "</s>"]
    np.testing.assert_array_equal(
        figure.axes[1].images[0].get_array(), overlay(PICTURE, [[1] + [0] * 5, [1] + [0] * 5])
    )


def test_cells_may_have_sharp_edges():
    weights = np.eye(1, 12)
    figure = plot_attention_maps(result_of(["▁a"], weights), PICTURE, smooth=False)
    image = figure.axes[1].images[0].get_array().astype(int)
    orange = (image.max(axis=-1) - image.min(axis=-1)) > 0
    assert orange[:4, :4].all() and orange.sum() == 16


def test_an_empty_text_is_the_image_alone():
    figure = drawn(plot_alignment(result_of([], np.zeros((0, 12)), ""), PICTURE))
    assert len(figure.axes) == 1 and not figure.texts


def test_dollar_signs_and_braces_are_no_mathematics(tmp_path):
    tokens = ["▁$5$", "▁\\frac", "▁{", "▁_x^{$"]
    figure = plot_alignment(result_of(tokens, text="$5$ \\frac { _x^{$"), PICTURE)
    figure.savefig(tmp_path / "maps.png")
    assert titles(figure)[1:] == ["$5$", "\\frac", "{", "_x^{$"]


def test_a_picture_and_axes_are_refused():
    figure = plot_alignment(result_of([]), PICTURE)
    with pytest.raises(ValueError, match="always drawn in a new figure"):
        plot_alignment(result_of([]), PICTURE, ax=figure.axes[0])


@pytest.mark.parametrize("most", [0, 401, 2.0, None])
def test_a_bound_out_of_range_is_refused(most):
    with pytest.raises(ValueError, match="`most` must be an integer from 1 to 400"):
        plot_attention_maps(result_of(["▁a"]), PICTURE, most=most)


def test_a_picture_of_another_input_is_refused():
    with pytest.raises(ValueError, match="must show the input that was aligned"):
        plot_alignment(result_of(["▁a"], np.ones((1, 11))), PICTURE)
