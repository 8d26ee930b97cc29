"""The explorer's HTML file: its content, its size and its security policy."""

import base64
import hashlib
import html.parser
import io
import json
import re

import matplotlib
import numpy as np
import PIL.Image
import pytest
from traces import RED_CAR, VOITURE, explored_trace, trace_of

from keras_bahdanau.pipelines.step_probe import MEASURES
from keras_bahdanau.plotting import AttentionSteps, explorer, forming, write_explorer
from keras_bahdanau.plotting.trace_data import VECTORS, packed, trace_data, unpacked
from keras_bahdanau.sources import Picture

WICKED = "</script><script>alert(1)</script><!--"


class Page(html.parser.HTMLParser):
    """Parser that collects the elements of a page as lists [name, attributes, text]."""

    def __init__(self, path):
        super().__init__()
        self.elements = [["", {}, ""]]
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, name, attributes):
        self.elements.append([name, dict(attributes), ""])

    def handle_endtag(self, name):
        self.elements.append(["", {}, ""])  # for the text that follows

    def handle_data(self, text):
        self.elements[-1][2] += text

    def all(self, name):
        return [element for element in self.elements if element[0] == name]

    @property
    def data(self):
        (data,) = (text for _, attributes, text in self.all("script") if "id" in attributes)
        return json.loads(data)


@pytest.fixture
def page(tmp_path):
    """Function `page(traces, **settings)` that writes an explorer and returns its `Page`."""

    def write(traces, **settings):
        write_explorer(traces, tmp_path / "page.html", **settings)
        return Page(tmp_path / "page.html")

    return write


def test_its_numbers_and_tokens_are_those_of_the_trace(page):
    trace = explored_trace(RED_CAR, VOITURE)
    ((data,),) = page([trace]).data["inputs"]
    for name, expected in (
        *((vectors, getattr(trace, vectors)[:, :48]) for vectors in VECTORS),
        ("initialState", trace.initial_state[:48]),
        *(("scores", trace.scores), ("weights", trace.weights)),
        *(("logProbs", trace.log_probs), ("topLogProbs", np.log(trace.top_probabilities))),
    ):
        found = unpacked(data[name])
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=data[name]["scale"] * 0.5001)
        largest = 127 if name in (*VECTORS, "initialState") else 32767
        assert data[name]["scale"] == pytest.approx(np.abs(expected).max() / largest)
    assert np.abs(unpacked(data["weights"]) - trace.weights).max() < 2e-5
    for name, tokens in (("source", RED_CAR), ("target", VOITURE), ("topTokens", trace.top_tokens)):
        assert data[name] == tokens
    tree = data["tree"]
    assert tree["tokens"] == trace.tree.tokens and tree["parents"] == [*trace.tree.parents]
    assert tree["kept"] == tree["path"] == [0, 3, 6, 9]
    assert [other["text"][-1] for other in data["alternatives"]] == ["0", "1", "2", "3"]


def test_importance_is_there_by_name(page):
    effects = np.random.default_rng(4).normal(size=(2, 4, 4))
    importance = dict(zip(MEASURES, effects, strict=False))
    ((data,),) = page([trace_of(RED_CAR, VOITURE, importance=importance)]).data["inputs"]
    assert [measure["name"] for measure in data["importance"]] == [*importance]
    for measure, expected in zip(data["importance"], effects, strict=True):
        np.testing.assert_allclose(unpacked(measure["values"]), expected, atol=1e-4)
    ((data,),) = page([trace_of(RED_CAR, VOITURE)]).data["inputs"]
    assert data["importance"] == []


def test_the_page_says_what_each_measure_of_a_trace_means():
    wording = (explorer.PAGE / "wording.mjs").read_text(encoding="utf-8")
    assert all(f'"{name}": "' in wording for name in MEASURES)


ARRAYS = {
    "source_tokens": ["not", "bad", "</s>"],
    "target_tokens": ["▁very", "▁pos", "itive"],
    "weights": np.eye(3) / 2,
}


def test_arrays_of_any_model_have_a_page(page):
    importance = {"mine": np.array([[1, -2, 0]] * 3)}
    steps = AttentionSteps(**ARRAYS, importance=importance, log_probs=[-1, -2, 0])
    ((data,), (other,)) = page([steps, trace_of(RED_CAR, VOITURE)]).data["inputs"]
    assert data["source"] == ["▁not", "▁bad", "</s>"] and data["target"] == steps.target_tokens
    assert data["text"] == "very positive" and len(other["target"]) == 4
    for name, expected in (("weights", np.eye(3) / 2), ("logProbs", [-1, -2, 0])):
        np.testing.assert_allclose(unpacked(data[name]), expected, atol=1e-4)
    (measure,) = data["importance"]
    np.testing.assert_allclose(unpacked(measure["values"]), importance["mine"], atol=1e-4)
    assert measure["name"] == "mine"
    empty = {"source_tokens": [], "target_tokens": [], "weights": np.zeros((0, 0))}
    steps = AttentionSteps(**empty, text="nothing")
    ((data,),) = page([steps]).data["inputs"]
    assert data["text"] == "nothing" and "logProbs" not in data


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"source_tokens": "not bad"}, TypeError, "must be a list of strings. Received: a str. "),
        ({"target_tokens": ["a", "b", 3]}, TypeError, "`target_tokens.2.` must be a string. "),
        ({"weights": "much"}, TypeError, "`weights` must be an array of numbers. Received: a str"),
        ({"weights": np.ones((1, 3, 3))}, ValueError, "must have 2 axes. Received: weights.shape="),
        (
            {"weights": np.ones((3, 5))},
            ValueError,
            r"`weights` must have the shape \(3, 3\): target tokens x source tokens. Received: "
            r"weights.shape=\(3, 5\). Remove padding.",
        ),
        ({"weights": 2 * np.eye(3)}, ValueError, "must be from 0 to 1. Received: 2 in weights. "),
        ({"weights": np.full((3, 3), np.nan)}, ValueError, "`weights` must be finite. Received: "),
        ({"importance": np.eye(3)}, TypeError, "`importance` must be a dictionary of arrays. "),
        (
            {"importance": {"mine": np.ones((2, 3))}},
            ValueError,
            r"`importance\['mine'\]` must have the shape \(3, 3\)",
        ),
        ({"log_probs": [-1, -2]}, ValueError, r"`log_probs` must have the shape \(3,\): target to"),
        ({"log_probs": [-1, -2, 0.5]}, ValueError, "`log_probs` must be at most 0. Received: 0.5"),
        ({"text": 3}, TypeError, "`text` must be a string. Received: int. "),
    ],
)
def test_arrays_that_do_not_fit_are_refused_in_one_line(arguments, error, message):
    with pytest.raises(error, match=message) as raised:
        AttentionSteps(**{**ARRAYS, **arguments})
    assert "\n" not in str(raised.value)


def test_packed_numbers_keep_zero_and_the_largest():
    array = np.array([[-2.0, 0.0, 1.0], [0.5, 0.0, 2.0]])
    for bits in (8, 16):
        found = unpacked(packed(array, bits))
        np.testing.assert_allclose(found, array, atol=2 / (2 ** (bits - 1) - 1))
        np.testing.assert_allclose(found[[0, 1], [0, 2]], [-2, 2], rtol=1e-8)
        assert not found[:, 1].any()
    assert unpacked(packed(np.zeros((0, 3)), 8)).shape == (0, 3)


def test_a_sentence_of_twenty_tokens_takes_less_than_40_kilobytes(tmp_path):
    tokens = [f"▁token{number}" for number in range(19)] + ["</s>"]
    wide = {name: np.random.default_rng(2).normal(size=(20, 512)) for name in VECTORS}
    trace = explored_trace(tokens, tokens, beam=5, **wide)
    sizes = []
    for count in (1, 2):
        write_explorer([trace] * count, tmp_path / "page.html")
        sizes.append((tmp_path / "page.html").stat().st_size)
    assert sizes[1] - sizes[0] < 40_000


def test_its_policy_allows_no_request_and_no_other_program(page):
    found = page([trace_of(RED_CAR, VOITURE)])
    (policy,) = (
        attributes["content"]
        for _, attributes, _ in found.all("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    (program,) = (text for _, attributes, text in found.all("script") if "id" not in attributes)
    ((_, _, style),) = found.all("style")
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in (program, style)
    ]
    assert rules == {
        "default-src": "'none'",
        "script-src": hashes[0],
        "style-src": hashes[1],
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    links = [attributes.get(key) for _, attributes, _ in found.elements for key in ("src", "href")]
    assert {*links} == {None, "#1.1.1"}
    assert not re.search(r"\bimport\b *[({]|\bfetch\(|url\(", program + style)


def test_no_text_ends_the_data_or_begins_a_program(page):
    trace = explored_trace([WICKED, "\u2028", "</s>"], [f"▁{WICKED}", "&amp;", "{{DATA}}"])
    found = page([trace], title=f"<{WICKED}>", labels=[WICKED])
    assert len(found.all("script")) == 2
    ((data,),) = found.data["inputs"]
    assert data["source"] == trace.source_tokens and data["target"] == trace.target_tokens
    assert found.data["labels"] == [WICKED]
    assert found.all("title")[0][2] == found.all("h1")[0][2] == f"<{WICKED}>"


def test_sides_of_an_input_stand_together(page):
    one, other = trace_of(RED_CAR, VOITURE), trace_of(RED_CAR, VOITURE[:2])
    found = page([[one, other], one], labels=["output", "reference"]).data
    assert [[len(side["target"]) for side in sides] for sides in found["inputs"]] == [[4, 2], [4]]
    assert found["labels"] == ["output", "reference"]
    assert page([[one, other]]).data["labels"] == ["1", "2"]


@pytest.mark.parametrize(("source", "target"), [([], []), (RED_CAR, []), ([], VOITURE)])
def test_an_empty_sentence_has_a_page(page, source, target):
    ((data,),) = page([explored_trace(source, target)]).data["inputs"]
    assert unpacked(data["weights"]).shape == (len(target), len(source))


def pixels_of(data):
    encoded = data["picture"]["image"].removeprefix("data:image/png;base64,")
    with PIL.Image.open(io.BytesIO(base64.b64decode(encoded))) as image:
        return np.asarray(image.convert("RGB"), float) / 255


def test_a_picture_is_there_with_its_cells():
    random = np.random.default_rng(3)
    weights = np.full((4, 4), 0.25)
    grey, colored = random.random((8, 16)), random.random((8, 16, 3))
    frames = Picture(grey, 8, axis="seconds", scale=0.04, colors="magma", reduction=2)
    data = trace_data(trace_of(RED_CAR, VOITURE, weights=weights, picture=frames))
    expected = matplotlib.colormaps["magma"](np.rint(255 * grey).astype(int))[..., :3]
    np.testing.assert_allclose(pixels_of(data), expected, atol=0.51 / 255)
    kept = {key: data["picture"][key] for key in ("rows", "columns", "reduction", "axis", "scale")}
    assert kept == {"rows": 1, "columns": 8, "reduction": 2, "axis": "seconds", "scale": 0.04}
    grid = Picture(colored, 4, rows=2, cells=np.array([3, 2, 1, 0]))
    data = trace_data(trace_of(RED_CAR, VOITURE, weights=weights, picture=grid))
    np.testing.assert_allclose(pixels_of(data), colored, atol=0.51 / 255)
    assert data["picture"]["places"] == [3, 2, 1, 0]
    large = Picture(np.ones((1000, 2000)), 4)
    data = trace_data(trace_of(RED_CAR, VOITURE, weights=weights, picture=large))
    assert pixels_of(data).shape == (320, 640, 3)
    long = Picture(np.ones((80, 3000)), 4, axis="seconds", scale=0.04, colors="magma")
    data = trace_data(trace_of(RED_CAR, VOITURE, weights=weights, picture=long))
    assert pixels_of(data).shape == (80, 640, 3)  # the page stretches a sequence


def test_every_module_is_inlined_somewhere():
    files = {path.stem for path in explorer.PAGE.glob("*.mjs")}
    assert files == {*explorer.MODULES, *forming.MODULES}


@pytest.mark.parametrize("modules", [explorer.MODULES, forming.MODULES], ids=["steps", "training"])
def test_a_module_is_inlined_before_those_that_import_it(modules):
    for place, name in enumerate(modules):
        source = (explorer.PAGE / f"{name}.mjs").read_text(encoding="utf-8")
        imports = re.findall(r'from "./(\w+).mjs"', source)
        assert {*imports} <= {*modules[:place]}, name
        assert len(imports) == len(explorer._IMPORT.findall(source)), name


@pytest.mark.parametrize(
    ("traces", "error", "message"),
    [
        (trace_of([], []), TypeError, "must be a list .* Received: one Trace"),
        (AttentionSteps(**ARRAYS), TypeError, "must be a list .* Received: one AttentionSteps"),
        (["text"], TypeError, "a Trace or a list of Traces. Received: an item of type str"),
        ([["text"]], TypeError, "Received: an item of type list"),
        ([], ValueError, "`number of inputs` must be an integer in .1, 1000."),
        ([[]], ValueError, "`number of traces of an input` must be an integer in .1, 4."),
    ],
)
def test_what_is_no_list_of_traces_is_refused(tmp_path, traces, error, message):
    with pytest.raises(error, match=message):
        write_explorer(traces, tmp_path / "page.html")
    assert [*tmp_path.iterdir()] == []


def test_a_page_has_the_name_of_a_page(tmp_path):
    path = tmp_path / "page.txt"
    with pytest.raises(ValueError, match="must end in .html. Received: path='.*page.txt'. Rename"):
        write_explorer([trace_of(RED_CAR, VOITURE)], path)
    assert not path.exists()


@pytest.mark.parametrize("settings", [{"labels": ["one"]}, {"labels": [1, 2]}, {"title": ""}])
def test_settings_out_of_range_are_refused(tmp_path, settings):
    trace = trace_of(RED_CAR, VOITURE)
    with pytest.raises(ValueError, match=f"`{[*settings][0]}` must be .*Received: "):
        write_explorer([[trace, trace]], tmp_path / "page.html", **settings)
