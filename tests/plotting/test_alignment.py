"""Alignment maps: positions, shades of grey, and scripts of the labels."""

from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from keras_bahdanau.plotting import plot_alignment
from keras_bahdanau.text.alignments import join_subwords


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
    result = translation(["▁a", "▁b", "</s>"], ["▁x", "</s>"])
    (ax,) = plot_alignment(result, words=False).axes
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


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (["▁a", "b", "▁c", "</s>"], ["▁x", "y", "▁z", "</s>"], (["ab", "c"], ["xy", "z"])),
        (["▁a", "</s>"], ["▁x", "</s>"], (["a"], ["x"])),
        # characters with visible spaces, and symbols
        (
            ["<en>▁", "3", "▁", "M", "</s>"],
            ["0", "-", "3"],
            (["<en>", "3", "␣", "M"], ["0", "-", "3"]),
        ),
        # symbols separated by spaces, with characters; and pieces with characters
        (["▁", "a", "</s>"], ["▁AH", "▁B", "</s>"], (["␣", "a"], ["AH", "B"])),
        (["▁AH", "▁B", "</s>"], ["a", "▁", "</s>"], (["AH", "B"], ["a", "␣"])),
        (["c", "a", "</s>"], ["▁AH", "B", "</s>"], (["c", "a"], ["▁AH", "B"])),
        (["नि", "म", "</s>"], ["n", "i"], (["नि", "म"], ["n", "i"])),
        # a single word with several pieces
        (["▁gar", "den", "</s>"], ["▁Gar", "ten"], (["▁gar", "den"], ["▁Gar", "ten"])),
        (["▁gar", "den", "</s>"], ["▁Garten"], (["▁gar", "den"], ["▁Garten"])),
    ],
)
def test_words_are_drawn_unless_they_say_little(source, target, expected):
    (ax,) = plot_alignment(translation(source, target)).axes
    found = labels(ax.xaxis), labels(ax.yaxis)
    assert [[text for text in side if text != "</s>"] for side in found] == [*expected]
    (ax,) = plot_alignment(translation(source, target), words=True).axes
    assert len(labels(ax.yaxis)) == len(join_subwords(target)[0])


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


def test_a_very_long_word_is_cut():
    figure = plot_alignment(translation(["▁" + "a" * 9999, "▁b"], ["▁c" * 5000]))
    assert max(figure.get_size_inches()) * figure.dpi < 3000
    assert labels(figure.axes[0].xaxis) == ["a" * 59 + "…", "b"]


@pytest.mark.slow
def test_very_long_sentences_stay_drawable():
    figure = plot_alignment(translation(["▁a"] * 1000, ["▁b"] * 3))
    assert max(figure.get_size_inches()) * figure.dpi < 2**16


def test_dollar_signs_are_not_taken_for_mathematics(tmp_path):
    tokens = ["▁$5$", "▁_x^{$", "▁$\\frac$"]
    plot_alignment(translation(tokens, tokens)).savefig(tmp_path / "alignment.png")


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font:UserWarning")
@pytest.mark.filterwarnings("ignore:Matplotlib currently does not support:UserWarning")
def test_a_script_without_a_font_is_drawn_as_boxes_with_a_word_on_what_to_install(
    only_fonts_of_matplotlib, tmp_path
):
    with pytest.warns(UserWarning, match="Noto Sans CJK and Noto Sans Devanagari") as warned:
        figure = plot_alignment(translation(["▁नमस्ते"], ["▁안녕"]))
    assert warned[0].filename == __file__
    figure.savefig(tmp_path / "alignment.svg")
    assert (tmp_path / "alignment.svg").stat().st_size > 0


def test_a_script_is_drawn_with_a_font_that_has_it(only_fonts_of_matplotlib, new_font):
    font_manager.fontManager.addfont(new_font("Toy Devanagari", "क"))
    (ax,) = plot_alignment(translation(["▁क", "▁a"], ["▁क"])).axes  # a warning would be an error
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        assert label.get_fontfamily() == [*matplotlib.rcParams["font.family"], "Toy Devanagari"]


def test_an_alignment_can_share_a_figure():
    figure = Figure(figsize=(7, 3))
    left, right = figure.subplots(1, 2)
    assert plot_alignment(translation(["▁a"], ["▁x"]), ax=right) is figure
    assert right.images and not left.images
    np.testing.assert_array_equal(figure.get_size_inches(), (7, 3))


def test_an_alignment_of_other_tokens_is_refused():
    with pytest.raises(ValueError, match="one row for each target token"):
        plot_alignment(translation(["▁a"], ["▁x"], np.ones((2, 2))))
