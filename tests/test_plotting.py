from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from keras_bahdanau.plotting import plot_alignment, plot_history


def translation(source, target, alignment=None):
    if alignment is None:
        alignment = np.eye(len(target), len(source), dtype="float32")
    return SimpleNamespace(source_tokens=source, target_tokens=target, alignment=alignment)


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def rendered(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


def test_source_stands_along_the_top_and_target_down_the_side():
    (ax,) = plot_alignment(translation(["▁a", "▁b", "</s>"], ["▁x", "</s>"])).axes
    assert labels(ax.xaxis) == ["▁a", "▁b", "</s>"]
    assert labels(ax.yaxis) == ["▁x", "</s>"]
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {90.0}
    (bottom, top), (left, right) = ax.get_ylim(), ax.get_xlim()
    assert top < bottom and left < right


def test_one_is_white_and_zero_is_black():
    alignment = np.array([[1.0, 0.0], [0.25, 0.75]])
    figure = plot_alignment(translation(["a", "▁b"], ["x", "▁y"], alignment))
    (ax,) = figure.axes
    pixels = rendered(figure)
    for target, source in np.ndindex(2, 2):
        x, y = ax.transData.transform((source, target))
        grey = pixels[len(pixels) - 1 - round(y), round(x)]
        np.testing.assert_allclose(grey, 255 * alignment[target, source], atol=2)


def test_words_join_subwords():
    result = translation(["▁a", "b", "</s>"], ["▁x", "y", "</s>"])
    (ax,) = plot_alignment(result, words=True).axes
    assert labels(ax.xaxis) == ["ab", "</s>"]
    assert labels(ax.yaxis) == ["xy", "</s>"]
    np.testing.assert_array_equal(ax.images[0].get_array(), [[1, 0], [0, 1]])


@pytest.mark.parametrize(("source", "target"), [([], []), (["▁a", "</s>"], []), ([], ["</s>"])])
@pytest.mark.parametrize("words", [False, True])
def test_an_empty_translation_gives_an_empty_picture(source, target, words):
    figure = plot_alignment(translation(source, target), words=words)
    assert not figure.axes[0].images
    assert min(rendered(figure).shape[:2]) > 0


def test_the_figure_grows_with_the_words_and_its_squares_stay_the_same():
    def inches(length):
        tokens = [f"▁word{i}" for i in range(length)]
        figure = plot_alignment(translation(tokens, tokens))
        return figure.get_size_inches(), figure.axes[0].get_window_extent().width / figure.dpi

    (small, small_map), (large, large_map) = inches(6), inches(60)
    assert np.all(large > 5 * small)
    assert large_map == pytest.approx(10 * small_map)


def test_every_label_lies_inside_the_picture():
    long = ["▁Donaudampfschifffahrtsgesellschaft", "▁i", "</s>"]
    figure = plot_alignment(translation(long, long))
    rendered(figure)
    for label in (*figure.axes[0].get_xticklabels(), *figure.axes[0].get_yticklabels()):
        box = label.get_window_extent()
        assert box.x0 >= 0 and box.y1 <= figure.bbox.y1


def test_very_long_sentences_stay_drawable():
    figure = plot_alignment(translation(["▁a"] * 1000, ["▁b"] * 3))
    assert max(figure.get_size_inches()) * figure.dpi < 2**16


def test_dollar_signs_are_not_taken_for_mathematics(tmp_path):
    tokens = ["▁$5$", "▁_x^{$", "▁$\\frac$"]
    plot_alignment(translation(tokens, tokens)).savefig(tmp_path / "alignment.png")


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font:UserWarning")
@pytest.mark.filterwarnings("ignore:Matplotlib currently does not support:UserWarning")
def test_scripts_that_the_font_lacks_are_drawn_as_boxes(tmp_path):
    plot_alignment(translation(["▁नमस्ते"], ["▁안녕"])).savefig(tmp_path / "alignment.svg")
    assert (tmp_path / "alignment.svg").stat().st_size > 0


def test_an_alignment_can_share_a_figure():
    figure = Figure(figsize=(7, 3))
    left, right = figure.subplots(1, 2)
    assert plot_alignment(translation(["▁a"], ["▁x"]), ax=right) is figure
    assert right.images and not left.images
    np.testing.assert_array_equal(figure.get_size_inches(), (7, 3))


def test_an_alignment_of_other_tokens_is_refused():
    with pytest.raises(ValueError, match="one row for each target token"):
        plot_alignment(translation(["▁a"], ["▁x"], np.ones((2, 2))))


def curves(panel):
    return {
        line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in panel.lines
    }


def test_each_metric_has_a_panel_with_its_validation():
    history = {
        "perplexity": [20.0, 3.0],
        "loss": [3.0, 1.0],
        "val_loss": [3.5, 2.0],
        "val_perplexity": [33.0, 7.0],
    }
    loss, perplexity = plot_history(history).axes
    assert (loss.get_title(), perplexity.get_title()) == ("loss", "perplexity")
    assert curves(loss) == {"training": ([1, 2], [3.0, 1.0]), "validation": ([1, 2], [3.5, 2.0])}
    assert curves(perplexity)["validation"] == ([1, 2], [33.0, 7.0])
    assert (loss.get_yscale(), perplexity.get_yscale()) == ("linear", "log")


def test_epochs_without_a_value_are_left_out():
    (panel,) = plot_history({"loss": [3.0, 2.0, 1.0], "val_loss": [None, 2.5, float("nan")]}).axes
    assert curves(panel)["validation"] == ([2], [2.5])


def test_a_history_without_epochs_is_drawn():
    rendered(plot_history({"loss": [], "val_loss": []}))


def test_curves_can_share_a_figure():
    figure = Figure()
    top, bottom = figure.subplots(2, 1)
    assert plot_history({"loss": [1.0]}, ax=bottom) is figure
    assert bottom.lines and not top.lines


@pytest.mark.parametrize("history", [{}, {"loss": [1.0, 2.0], "val_loss": [1.0]}])
def test_a_ragged_or_empty_history_is_refused(history):
    with pytest.raises(ValueError, match="one value of each for every epoch"):
        plot_history(history)


def test_too_few_axes_are_refused():
    with pytest.raises(ValueError, match=r"\['loss', 'accuracy'\]. Received: 1 axes"):
        plot_history({"loss": [1.0], "accuracy": [0.5]}, ax=Figure().subplots())
