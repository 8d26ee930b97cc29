"""The walk-through of a trace: what it shows and claims, and its layout."""

import numpy as np
import PIL.Image
import PIL.ImageSequence
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import FancyArrowPatch
from traces import RED_CAR, VOITURE, trace_of

from keras_bahdanau.plotting import plot_trace
from keras_bahdanau.plotting.overlay import overlay
from keras_bahdanau.sources import Picture


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def drawn(figure):
    FigureCanvasAgg(figure).draw()
    return figure


def flows(figure, color="#e6952b"):
    """Return the widths of the arrows from the weighted states to the context."""
    arrows = (patch for patch in figure.axes[0].patches if isinstance(patch, FancyArrowPatch))
    return [
        arrow.get_linewidth()
        for arrow in arrows
        if tuple(np.round(np.array(arrow.get_edgecolor()[:3]) * 255).astype(int))
        == tuple(bytes.fromhex(color[1:]))
    ]


def test_each_step_is_a_row_of_tokens_scores_weights_and_probabilities():
    scores = np.log([[0.5, 0.25, 0.13, 0.12], [0.01, 0.04, 0.05, 0.9]])
    shown = texts(plot_trace(trace_of(RED_CAR, ["▁la", "▁voiture"], scores)))
    assert [shown.count(f"Step {step}") for step in (1, 2, 3)] == [1, 1, 0]
    assert [shown.count(token) for token in ("the", "red", "car", "</s>")] == [2, 2, 2, 2]
    for number in ("−0.7", "−4.6", "0.50", "0.12", "0.90", "75%", "25%"):
        assert number in shown, number
    assert "the red car  →  la voiture" in shown
    assert ["<s>" in shown, "<s> la" in shown] == [True, True]


def test_it_is_1600_pixels_wide_and_grows_by_the_step():
    trace = trace_of(RED_CAR, VOITURE)
    sizes = [plot_trace(trace, steps=steps).bbox.size for steps in (1, 2, 3)]
    np.testing.assert_allclose([width for width, _ in sizes], 1600)
    first, second = np.diff([height for _, height in sizes])
    assert first == pytest.approx(second) and first > 100


def test_the_more_weight_the_broader_its_stream():
    weights = np.array([[0.7, 0.2, 0.1, 0.0]])
    widths = flows(plot_trace(trace_of(RED_CAR, ["▁la"], weights=weights)))
    assert len(widths) == 3  # a zero weight has no arrow
    assert widths == sorted(widths, reverse=True)


def test_the_number_of_a_late_source_token_stands_beside_its_strip():
    weights = np.zeros((1, 1000))
    weights[0, [4, 998]] = 0.5
    figure = drawn(plot_trace(trace_of([*"a" * 999, "</s>"], ["▁x"], weights=weights), sources=2))
    ends = {
        text.get_text(): text.get_window_extent().x1
        for text in figure.axes[0].texts
        if text.get_text().startswith("$h_{")
    }
    assert len(ends) == 2 and ends["$h_{5}$"] == pytest.approx(ends["$h_{999}$"], abs=1)


def test_it_begins_with_any_step():
    trace = trace_of(RED_CAR, VOITURE)
    shown = texts(plot_trace(trace, steps=2, first=2))
    assert [f"Step {step}" in shown for step in range(1, 6)] == [False, False, True, True, False]
    assert "<s> la voiture" in shown and shown[-1].endswith("Steps 3 to 4 of 4.")
    for step in (2, 3):
        for weight in trace.weights[step]:
            assert f"{weight:.2f}" in shown
    assert texts(plot_trace(trace, first=3))[-1].endswith("Step 4 of 4.")
    with pytest.raises(
        ValueError, match=r"`first` must be an integer in .0, 3.. Received: first=4"
    ):
        plot_trace(trace, first=4)


def test_characters_have_no_mark_and_spaces_are_seen():
    source, target = ["<en>▁", "3", "▁", "M", "</s>"], ["2", "0", "▁", "</s>"]
    tops = [[token, "9"] for token in target]
    shown = texts(plot_trace(trace_of(source, target, top_tokens=tops)))
    assert {"<en>", "3", "␣", "M", "2", "0", "<s> 2 0 ␣"} <= {*shown}
    assert not any("…" in text for text in shown) and "␣: a space." in shown[-1]
    shown = texts(plot_trace(trace_of(["▁gar", "den", "</s>"], target, top_tokens=tops)))
    assert {"gar", "…den", "2", "<s> 2 0 ␣"} <= {*shown} and "…x: a piece" in shown[-1]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("probability", "words"),
    [
        *[(0.754, "75%"), (0.0996, "10%"), (0.0994, "9.9%"), (0.02, "2.0%"), (0.0012, "0.12%")],
        *[(0.00049, "0.049%"), (1.04e-4, "0.010%"), (2.34e-6, "2.3e-6"), (0.0, "0%")],
    ],
)
def test_a_small_probability_has_two_digits(probability, words):
    chances = np.array([[0.9, probability]])
    assert words in texts(plot_trace(trace_of(RED_CAR, ["▁la"], top_probabilities=chances)))


def test_it_stops_after_the_last_step():
    shown = texts(plot_trace(trace_of(RED_CAR, VOITURE), steps=9))
    assert "Step 4" in shown and "Step 5" not in shown


def test_of_many_source_tokens_it_shows_the_most_attended_ones_in_their_order():
    weights = np.array([[0.05, 0.4, 0.02, 0.3, 0.03, 0.2]])
    source = ["▁a", "▁b", "▁c", "▁d", "▁e", "</s>"]
    shown = texts(plot_trace(trace_of(source, ["▁x"], weights=weights), sources=3))
    tokens = [text for text in shown if text in ("a", "b", "c", "d", "e", "</s>")]
    assert tokens == ["b", "d", "</s>"]
    assert "3 more tokens" in shown and "0.10" in shown


def test_the_query_is_called_by_the_state_that_it_is():
    trace = trace_of(RED_CAR, ["▁la"])
    assert "query $= s_{0}$" in texts(plot_trace(trace))
    after = trace_of(RED_CAR, ["▁la"], query=trace.state)
    assert "query $= s_{1}$" in texts(plot_trace(after))
    other = trace_of(RED_CAR, ["▁la"], query=np.ones((1, 5)))
    assert "query $q_{1}$" in texts(plot_trace(other))


def test_it_claims_a_softmax_and_a_sum_only_where_there_is_one():
    def claims(trace):
        shown = " ".join(texts(plot_trace(trace)))
        return "softmax" in shown, "added up" in shown

    assert claims(trace_of(RED_CAR, VOITURE)) == (True, True)
    hard = np.eye(4)
    assert claims(trace_of(RED_CAR, VOITURE, weights=hard)) == (False, True)
    assert claims(trace_of(RED_CAR, VOITURE, context=np.ones((4, 16)))) == (True, False)
    assert claims(trace_of(RED_CAR, VOITURE, context=np.ones((4, 20)))) == (True, False)


def test_a_context_that_nothing_reads_has_no_arrow_to_the_next_token():
    def arrows_to_the_next(trace):
        figure = plot_trace(trace)
        patches = (patch for patch in figure.axes[0].patches if isinstance(patch, FancyArrowPatch))
        rightmost = [patch.get_path().vertices[:, 0].max() for patch in patches]
        return sum(x > 1300 for x in rightmost), " ".join(texts(figure))

    count, shown = arrows_to_the_next(trace_of(RED_CAR, VOITURE))
    assert count == 4 * 3, "context, last token and state, in each of four steps"
    assert "from context, last token" in shown and "helps to choose" in shown
    count, shown = arrows_to_the_next(trace_of(RED_CAR, VOITURE, reads_context=False))
    assert count == 4 * 2
    assert "from each $h_j$, last token" in shown and "but not used" in shown
    assert "probabilities" in shown and "helps to choose" not in shown


def test_a_decoder_without_attention_is_told_so():
    zeros = np.zeros((4, 4))
    trace = trace_of(RED_CAR, VOITURE, zeros, zeros, context=np.ones((4, 16)))
    figure = drawn(plot_trace(trace))
    assert any("does not attend" in text for text in texts(figure))
    assert not flows(figure)
    assert "−0.0" not in texts(figure)


def test_a_chosen_token_that_is_not_among_the_best_is_shown_too():
    trace = trace_of(RED_CAR, ["▁la"], top_tokens=[["▁le", "▁les"]], log_probs=np.log([0.02]))
    shown = texts(plot_trace(trace))
    assert shown[shown.index("la") + 1] == "2.0%"


def test_the_gate_of_a_model_that_copies_is_told_of_each_step():
    trace = trace_of(RED_CAR, ["▁la", "▁car"], generation=np.array([0.73, 0.02]))
    figure = drawn(plot_trace(trace))
    shown = [text for text in figure.axes[0].texts if "p_{gen}" in text.get_text()]
    assert [text.get_text() for text in shown] == [
        "$p_{gen}$ = 0.73: at most 27% is copied",
        "$p_{gen}$ = 0.02: at most 98% is copied",
    ]
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text()]
    for text in shown:
        own = text.get_window_extent()
        assert sum(own.overlaps(box) for box in boxes) == 1, "its own alone"
    assert not any("p_{gen}" in text for text in texts(plot_trace(trace_of(RED_CAR, ["▁la"]))))


@pytest.mark.few(1)
@pytest.mark.parametrize(("source", "target"), [([], []), (RED_CAR, []), ([], VOITURE)])
def test_an_empty_translation_gives_a_picture(source, target):
    assert min(drawn(plot_trace(trace_of(source, target))).bbox.size) > 0


@pytest.mark.slow
def test_every_text_lies_on_the_page_and_no_token_runs_into_the_next_column():
    source = ["▁" + "W" * 40, "▁$5", "fahrt", "</s>"] * 5
    figure = drawn(plot_trace(trace_of(source, ["▁" + "M" * 40] * 3 + ["▁_x^{$"] * 7), steps=10))
    width, height = figure.bbox.size
    for text in figure.axes[0].texts:
        box = text.get_window_extent()
        assert 0 <= box.x0 and box.x1 <= width and 0 <= box.y0 and box.y1 <= height, text
        if text.get_text().startswith("WWW") and "→" not in text.get_text():
            assert box.width < 90


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font:UserWarning")
@pytest.mark.filterwarnings("ignore:Matplotlib currently does not support:UserWarning")
def test_scripts_without_a_font_are_reported_once(only_fonts_of_matplotlib):
    with pytest.warns(UserWarning, match="Noto Sans Devanagari") as warned:
        plot_trace(trace_of(["▁क", "</s>"], ["▁a"]))
    (ours,) = (warning for warning in warned if "Noto" in str(warning.message))
    assert ours.filename == __file__


@pytest.mark.parametrize("name", ["steps", "sources"])
@pytest.mark.parametrize("value", [0, -1, 2.0, None, 101])
def test_a_number_of_rows_out_of_range_is_refused(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be an integer in .1, 100.. Received: "):
        plot_trace(trace_of(RED_CAR, VOITURE), **{name: value})


def maps_of(figure, step):
    """Return the extents and pixels of a step's maps of scores and weights."""
    images = [image for image in figure.axes[0].images if image.get_array().ndim == 3]
    return [(image.get_extent(), image.get_array()) for image in images[2 * step : 2 * step + 2]]


@pytest.mark.few(1)
@pytest.mark.parametrize(("shape", "stacked"), [((40, 40), False), ((10, 60), True)])
def test_a_picture_stands_in_the_place_of_source_tokens(shape, stacked):
    weights = np.eye(3, 8)
    picture = Picture(np.ones(shape), 8, rows=2)
    trace = trace_of(["1", "2"] * 4, VOITURE[:3], weights=weights, picture=picture)
    figure = drawn(plot_trace(trace))
    for step in range(3):
        (scores, _), (extent, pixels) = maps_of(figure, step)
        assert (scores[3] < extent[3]) == stacked and (scores[0] < extent[0]) != stacked
        left, right, bottom, top = extent
        assert (right - left) / (bottom - top) == pytest.approx(shape[1] / shape[0])
        assert 290 <= left and right < 1130
        shares = np.zeros((2, 4))
        shares[step % 2, step // 2] = 1
        np.testing.assert_array_equal(pixels, overlay(picture, shares))
    shown = texts(figure)
    assert "la voiture rouge" in shown and not {"1", "2"} & {*shown[8:]}
    assert shown.count("weights $\\alpha_{ij}$") == shown.count("scores $e_{ij}$") == 3
    width, height = figure.bbox.size
    for text in figure.axes[0].texts:
        box = text.get_window_extent()
        assert 0 <= box.x0 and box.x1 <= width and 0 <= box.y0 and box.y1 <= height, text


def test_the_map_of_scores_goes_from_the_lowest_to_the_highest():
    scores = np.array([[-7.0, -5.0, -3.0, -7.0], [2.0] * 4])
    picture = Picture(np.ones((2, 8)), 4)
    trace = trace_of(RED_CAR, VOITURE[:2], scores, picture=picture)
    figure = plot_trace(trace)
    for step, shares in enumerate(([0, 0.5, 1, 0], [0, 0, 0, 0])):
        (_, pixels), _ = maps_of(figure, step)
        np.testing.assert_array_equal(pixels, overlay(picture, [shares]))


@pytest.mark.few(1)
@pytest.mark.parametrize("target", [[], VOITURE])
def test_a_picture_that_is_not_attended_to_is_drawn(target):
    zeros = np.zeros((len(target), 4))
    picture = Picture.heat_map(np.eye(4), "frames")
    figure = drawn(plot_trace(trace_of(RED_CAR, target, zeros, zeros, picture=picture)))
    assert not flows(figure)


def frames_of(path):
    with PIL.Image.open(path) as image:
        return [np.asarray(one.convert("L"), int) for one in PIL.ImageSequence.Iterator(image)]


@pytest.mark.slow
def test_an_animation_shows_one_step_after_the_other(tmp_path):
    trace = trace_of(RED_CAR, VOITURE[:2])
    figure = plot_trace(trace, steps=1, animate=tmp_path / "trace.gif")
    frames = frames_of(tmp_path / "trace.gif")
    assert len(frames) == 2 and len({frame.shape for frame in frames}) == 1
    assert (abs(frames[0] - frames[1]) > 99).mean() > 0.002  # different tokens and bars
    still = np.asarray(
        PIL.Image.fromarray(np.asarray(drawn(figure).canvas.buffer_rgba())).convert("L")
    )
    own, other = (abs(still - frame).mean() for frame in frames)
    assert own < 0.6 * other  # similar to the first frame


def test_an_animation_of_nothing_has_one_frame(tmp_path):
    plot_trace(trace_of([], []), animate=tmp_path / "trace.gif")
    assert len(frames_of(tmp_path / "trace.gif")) == 1


def test_an_animation_is_a_gif(tmp_path):
    with pytest.raises(ValueError, match=r"must end in .gif. Received: path=.*trace.png"):
        plot_trace(trace_of(RED_CAR, VOITURE), animate=tmp_path / "trace.png")
