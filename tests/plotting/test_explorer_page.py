"""The explorer's page as a reader sees it, in headless Chromium."""

import json
import random
import subprocess
from pathlib import Path

import node_packages
import numpy as np
import pytest
from traces import RED_CAR, VOITURE, explored_trace, trace_of

from keras_bahdanau.plotting import AttentionSteps, explorer, write_explorer
from keras_bahdanau.sources import Picture

SUPPORT = Path(__file__).parents[1] / "support"
LACKING = node_packages.lacking("@sparticuz/chromium", "puppeteer-core")
ARABIC = ["▁السيارة", "▁حمراء", "</s>"]
WICKED = "▁</script><b>"
EFFECTS = np.array([[0.5, -1, 0, 0.25], [0, 2, 0.5, 0], [-0.1, -0.2, -0.3, 0], [1, 1.5, 0, 0]])
SLOPES = np.array([[0.1, 0.2, 0.3, 0.4]] * 4)

pytestmark = pytest.mark.slow
in_a_browser = pytest.mark.skipif(bool(LACKING), reason=f"needs {LACKING}")


def ran(program, *arguments, package=None, given=None):
    done = subprocess.run(
        ["node", SUPPORT / program, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        input=given,
        cwd=node_packages.directory_of(package) if package else None,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def trace():
    return explored_trace(RED_CAR, VOITURE)


@pytest.fixture(scope="module")
def visit(trace, tmp_path_factory):
    """What a reader sees on the page; see `explorer.mjs`."""
    folder = tmp_path_factory.mktemp("explorer")
    other = explored_trace(RED_CAR, VOITURE[:2])
    weights = np.full((4, 8), 0.125)
    picture = Picture(np.ones((20, 40)), 8, rows=2)
    many = np.where(np.arange(192) == 5, 0.1, 0.9 / 191) * np.ones((4, 1))
    grid = Picture(np.ones((64, 192)), 192, rows=8)
    sound = Picture(np.ones((20, 40)), 16, axis="seconds", scale=0.04, reduction=2)
    traces = [
        [trace, other],
        explored_trace(RED_CAR, ARABIC),
        trace_of([], []),
        explored_trace(
            [WICKED, "</s>"],
            [WICKED],
            context=np.ones((1, 16)),
            top_probabilities=np.array([[1.0, 1e-6]]),
        ),
        trace_of(["0,0"] * 8, VOITURE, weights=weights, picture=picture),
        trace_of(["0"] * 8, VOITURE, weights=weights, picture=sound),
        [
            explored_trace(
                RED_CAR,
                VOITURE,
                importance={"leave-one-out, attention": EFFECTS, "gradient x input": SLOPES},
            ),
            trace_of(RED_CAR, VOITURE, importance={"leave-one-out, attention": -2 * EFFECTS}),
        ],
        AttentionSteps(
            source_tokens=["not", "bad", "."],
            target_tokens=["positive"],
            weights=[[0.2, 0.75, 0.05]],
            importance={"gradient x input": [[1.5, -0.75, 0]]},
            log_probs=[np.log(0.9)],
        ),
        trace_of(["0,0"] * 192, VOITURE, weights=many, picture=grid),
    ]
    write_explorer(traces, folder / "page.html", labels=["output", "reference"])
    return ran("explorer.mjs", folder / "page.html", package="puppeteer-core")


@in_a_browser
def test_a_step_has_its_token_and_a_cell_for_each_pair_of_tokens(trace, visit):
    for number, (step, seen) in enumerate(((1, visit["first"]), (2, visit["right"]))):
        token = VOITURE[step].removeprefix("▁")
        assert seen["current"] == seen["chosen"] == [token]
        assert seen["fragment"] == f"1.1.{2 + number}"
        assert seen["cells"] == [len(RED_CAR)] * len(VOITURE)
        assert f"Step {step + 1} of 4. " in seen["narration"] and token in seen["narration"]
        np.testing.assert_allclose(seen["map"], trace.weights, atol=6e-4)


@in_a_browser
def test_its_bars_and_figures_are_the_numbers_of_the_trace(trace, visit):
    for step, seen in ((1, visit["first"]), (2, visit["right"])):
        np.testing.assert_allclose(seen["bars"], trace.weights[step], atol=2e-3)
        np.testing.assert_allclose(seen["chances"], trace.top_probabilities[step], atol=2e-3)
        scores = [float(score.replace("−", "-")) for score in seen["scores"]]
        np.testing.assert_allclose(scores, trace.scores[step], atol=0.0501)
        widths = 16 * np.sort(trace.weights[step])[::-1]
        np.testing.assert_allclose(seen["widths"], widths[widths >= 0.48], atol=0.02)
        assert seen["sources"] == ["the", "red", "car", "end"]
        assert seen["whatIf"] == [f"{trace.text} {step}"]


@in_a_browser
def test_the_tree_has_the_pruned_branches(visit):
    nodes = visit["first"]["nodes"]
    assert (nodes.count("best"), nodes.count("pruned"), nodes.count("kept")) == (4, 8, 0)
    assert "“\u2068voiture1\u2069”" in visit["node"] and visit["node"].endswith("pruned.")


@in_a_browser
def test_keys_cells_slider_and_player_go_to_a_step(visit):
    assert [visit[key]["fragment"] for key in ("right", "end")] == ["1.1.3", "1.1.4"]
    assert [visit[key] for key in ("home", "clicked", "slid")] == ["1.1.1", "1.1.3", "1.1.2"]
    assert visit["playing"] == ["Stop", "true"] and visit["played"] == "1.1.2"
    assert visit["pointed"] == ["button", "path", "th", "tr"]
    assert visit["nowhere"] == "9.1.4" and visit["nonsense"] == "1.1.1"


@in_a_browser
def test_a_target_token_that_has_the_focus_shows_what_it_reads(trace, visit):
    widths = 16 * np.sort(trace.weights[3])[::-1]
    np.testing.assert_allclose(visit["peeked"], widths[widths >= 0.48], atol=0.02)


@in_a_browser
def test_two_sides_stand_beside_each_other(visit):
    assert visit["first"]["panels"] == ["output", "reference"]
    assert visit["second"]["fragment"] == "1.2.1" and len(visit["second"]["cells"]) == 2


@in_a_browser
def test_other_inputs_are_shown_as_what_they_are(visit):
    arabic, empty, wicked, picture, sound, _, _, grid = visit["others"]
    assert arabic["direction"] == ["ltr", "rtl"] and arabic["current"] == ["السيارة"]
    assert empty["cells"] == [] and "nothing to write" in empty["narration"]
    assert wicked["current"] == [WICKED.removeprefix("▁")]
    assert (picture["regions"], picture["cells"]) == (8, [8] * 4)
    assert picture["sources"][:2] == ["1, 1", "1, 2"]
    assert (
        "“\u2068la\u2069”" in picture["narration"]
        and "Column 1, row 1 (score" in picture["narration"]
    )
    assert (sound["regions"], sound["sources"][:2]) == (8, ["0.00 s", "0.08 s"])
    np.testing.assert_allclose(grid["map"][0][:2], [0.9 / 191 / 0.1, 1], atol=1e-3)


@in_a_browser
def test_a_measure_has_one_scale_for_all_steps_and_sides(trace, visit):
    seen = visit["others"][5]
    np.testing.assert_allclose(seen["importance"], EFFECTS / 4, atol=1e-3)  # the scale is 4
    assert seen["effects"] == ["+0.50", "−1.00", "0.00", "+0.25"]
    assert len({*seen["colors"]}) == 2, "above and below 0"
    assert seen["labels"][1] == "“\u2068la\u2069”, “\u2068red\u2069”: −1.00"
    assert "All steps: leave-one-out, attention" in seen["headings"]
    assert "Full colour is +4.00 and −4.00" in seen["hint"] and "log p of the token" in seen["hint"]
    assert [text.strip() for text in visit["measures"]] == [
        *("leave-one-out, attention", "gradient x input", "nothing")
    ]
    by_gradient = visit["gradient"]
    np.testing.assert_allclose(by_gradient["importance"], SLOPES / 0.4, atol=1e-3)
    first = trace.weights[
        1
    ].argmax()  # the word with the largest weight; its slope is 0.1, 0.2 or 0.3
    assert by_gradient["narration"].endswith(
        "According to gradient x input, the end token matters most (+0.400); "
        f"“\u2068{RED_CAR[first][1:]}\u2069”, which has the largest weight, has "
        f"+{SLOPES[1, first]:.3f}."
    )
    without = visit["without"]
    assert (without["importance"], without["effects"]) == ([], [])
    assert not [heading for heading in without["headings"] if "All steps: " in heading]


@in_a_browser
def test_arrays_of_any_model_have_weights_and_measures_alone(visit):
    seen = visit["arrays"]
    assert seen["headings"] == [
        *("positive", "Step 1: weights", "All weights", "All steps: gradient x input")
    ]
    np.testing.assert_allclose(seen["map"], [[0.2, 0.75, 0.05]], atol=1e-3)
    np.testing.assert_allclose(seen["importance"], [[1, -0.5, 0]], atol=1e-3)
    assert seen["sources"] == ["not", "bad", "."] and seen["effects"] == ["+1.50", "−0.75", "0.00"]
    assert seen["narration"] == (
        "Step 1 of 1. “\u2068bad\u2069” gets 75% of the attention, “\u2068not\u2069” 20%. The "
        "output is “\u2068positive\u2069”, with a probability of 90%. According to gradient x "
        "input, “\u2068not\u2069” matters most (+1.50); “\u2068bad\u2069”, which has the largest "
        "weight, has −0.75."
    )


@in_a_browser
def test_it_claims_a_sum_of_a_context_that_is_one_alone(visit):
    assert visit["first"]["sums"] == ["Add up: context c₂ = Σⱼ αᵢⱼ hⱼ"]
    assert visit["first"]["shares"] == len(RED_CAR)
    other = visit["others"][2]
    assert other["sums"] == ["Context c₁, what the decoder reads from the source"]
    assert other["shares"] == 0


@in_a_browser
def test_a_line_at_the_top_introduces_what_is_drawn(visit):
    assert visit["first"]["introduction"].startswith("The model reads the source tokens")
    _, empty, _, picture, *_ = visit["others"]
    assert "attention gives each part of the input a weight" in picture["introduction"]
    assert empty["introduction"] == ""


@in_a_browser
def test_a_small_probability_has_two_digits(visit):
    assert "“\u2068other\u2069” with 1.0e-6" in visit["others"][2]["narration"]


@in_a_browser
def test_a_keyboard_and_a_screen_reader_reach_all_of_it(visit):
    stops = " ".join(visit["stops"])
    for stop in ("inputs", "forward", "play", "slider", "link", "chip", "TD", "node"):
        assert stop in stops, stop
    assert visit["unnamed"] == []


@in_a_browser
def test_it_fits_its_window_tells_no_error_and_asks_no_network(visit):
    assert (visit["errors"], visit["requests"]) == ([], [])
    assert visit["wider"] == [0] * 36


@pytest.mark.skipif(node_packages.lacking() is not None, reason="needs node")
def test_branches_never_lie_upon_each_other():
    draw, trees = random.Random(0), []
    for size in [*range(8), 30, 100]:
        parents = [draw.randint(max(-1, node - 6), node - 1) for node in range(size)]
        path = [size - 1] if size else []
        while path and parents[path[0]] >= 0:
            path.insert(0, parents[path[0]])
        trees.append((parents, path))
    places = ran("branches.mjs", explorer.PAGE / "branches.mjs", given=json.dumps(trees))
    for (parents, path), place in zip(trees, places, strict=True):
        cells = [*zip(place["columns"], place["rows"], strict=True)]
        assert len({*cells}) == len(parents)
        for node, parent in enumerate(parents):
            assert place["columns"][node] == (0 if parent < 0 else place["columns"][parent] + 1)
            if parent >= 0:
                assert place["rows"][node] >= place["rows"][parent]
                assert node in place["children"][parent]
        assert [place["rows"][node] for node in path] == [0] * len(path)
        assert place["count"] == max(place["rows"], default=-1) + 1
