"""The formulas experiment: its files, its drawings, and the score of a model file."""

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import keras_bahdanau as kb

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "experiments" / "formulas"
EXAMPLES = FOLDER.parents[1] / "examples"
TEXT = EXAMPLES / "dates" / "models" / "dates.keras"
IMAGE = EXAMPLES / "captions" / "models" / "captions.keras"
PLUS = [[0, 50, 50, 0, 50, 0], [50, 0, 0, 100]]  # a line to the right and a line downwards
ONE = [[0, 0, 0, 100]]


@pytest.fixture
def data(tmp_path):
    """Files of formulas in the format of the example."""
    lines = [{"latex": "1", "ink": ONE}, {"latex": "1 + 1", "ink": [*ONE, *PLUS, *ONE]}] * 4
    for name in ("train", "dev"):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def test_strokes_are_sums_of_their_moves(example, data):
    (ink, latex), *_ = example("formulas").read(data / "dev.jsonl.gz")
    assert latex == "1"
    np.testing.assert_array_equal(ink, [[[0, 0], [0, 100]]])


def test_a_drawing_is_dark_where_the_pen_was(example):
    drawing, formulas = example("drawing"), example("formulas")
    image = drawing.drawn(formulas.strokes_of(PLUS))
    assert image.dtype == np.uint8 and image.shape == (128, 36)  # 28 pixels, plus 4 on each side
    middle = image[64, 4:32]
    assert middle.max() < 128  # the line to the right
    assert image[:48].min() == 255 and image[:, :2].min() == 255  # blank above and on the left
    np.testing.assert_array_equal(drawing.drawn([]), np.zeros((0, 0)))


def test_the_second_of_two_formulas_stands_right_of_the_first(example):
    variations = example("variations")
    # The strokes have the sizes 4 and 2.
    tall = [np.array([[3.0, 10.0], [3.0, 14.0]]), np.array([[3.0, 12.0], [5.0, 12.0]])]
    wide = [np.array([[0.0, 0.0], [50.0, 0.0]])]
    first, bar, second = variations.beside(tall, wide, 0.5)
    # In units of the mean symbol size (3 and 50), from mid-height and the first's left edge.
    np.testing.assert_allclose(first, [[0, -2 / 3], [0, 2 / 3]])
    np.testing.assert_allclose(bar, [[0, 0], [2 / 3, 0]], atol=1e-12)
    np.testing.assert_allclose(second, [[2 / 3 + 0.5, 0], [2 / 3 + 1.5, 0]])
    pairs = [(tall, "t"), (wide, "w"), (wide, " ".join("x" * (variations.LONGEST // 2 + 1)))]
    texts = [text for _, text in variations.joined(pairs, 50)]
    assert set(texts) == {"t t", "t w", "w t", "w w"}
    assert texts == [text for _, text in variations.joined(pairs, 50)]
    assert texts != [text for _, text in variations.joined(pairs, 50, seed=1)]


@pytest.mark.parametrize("high", [1.0, 8.0], ids=["one line", "higher than the image"])
def test_the_ink_of_a_symbol_is_in_the_cells_linked_to_it(example, high):
    drawing = example("drawing")
    random = np.random.default_rng(0)
    strokes = [
        np.cumsum(random.normal(0, 0.3, (8, 2)), axis=0) + [2.0 * number, high * (number % 2)]
        for number in range(4)
    ]
    source = kb.sources.ImageSource(height=128, width=1024, cell=16)
    links = drawing.links(strokes, r"a _ 2 \pi", [0, 2, 2, 3], source)
    (pixels,), (length,) = source.batch([drawing.drawn(strokes)])
    # The darkest pixel of each cell.
    grid = pixels[..., 0].reshape(8, 16, -1, 16).min(axis=(1, 3)).T.ravel()
    assert links.shape == (5, length) and links.any(axis=1).tolist() == [1, 0, 1, 1, 0]
    cells = set(np.flatnonzero(links.any(axis=0)).tolist())
    dark = {int(cell) for cell in np.flatnonzero(grid < 100)}
    near = {one + step for one in cells for step in (-9, -8, -7, -1, 0, 1, 7, 8, 9)}
    assert cells <= set(np.flatnonzero(grid < 255).tolist())  # each of them contains ink
    assert dark <= near and len(dark - cells) <= len(dark) / 4  # except for the pen's width
    assert drawing.links(strokes, "a", None, source).size == 0


def test_each_formula_is_turned_in_its_own_way(example, monkeypatch):
    variations = example("variations")
    inks = [[np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 1.0]])]] * 3
    found = variations.turned(inks, 0.1)
    assert not np.allclose(found[0][0], found[1][0])
    for one, other in zip(found, variations.turned(inks, 0.1), strict=True):
        np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_array_equal(variations.turned(inks, 0.0)[0][0], np.eye(2))
    monkeypatch.setattr(variations, "WAVES", 0)  # without waves, the change is linear
    for lines, corner in variations.turned(inks, 0.1):  # `lines` are the rows of the matrix
        assert 0 < np.abs(lines - np.eye(2)).max() <= 0.5
        np.testing.assert_allclose(corner, lines.sum(axis=0, keepdims=True))


@pytest.mark.parametrize("unit", [1.0, 300.0])
def test_waves_change_a_small_piece_about_as_much_as_the_matrix(example, unit):
    random, variations = np.random.default_rng(0), example("variations")
    step = 1e-4 * unit
    changes = []
    for _ in range(4000):
        bend = variations.waves(unit, 0.1, random)
        begin, along_x, along_y = bend(np.array([[0.0, 0.0], [step, 0.0], [0.0, step]]))
        changes.append([(along_x - begin) / step, (along_y - begin) / step])
    np.testing.assert_allclose(np.std(changes, axis=0), 0.1 * np.sqrt(3 / 4), rtol=0.1)
    np.testing.assert_allclose(np.mean(changes, axis=0), 0.0, atol=0.01)


def test_each_frame_of_the_ink_has_the_cell_where_it_is_drawn(example):
    imitate = example("imitate")
    source = kb.sources.ImageSource(height=128, width=1024, cell=16)
    ink = [np.array([[0.0, 0.0], [50.0, 0.0]]), np.array([[80.0, -20.0], [80.0, 50.0]])]
    # Scale: 28 pixels for 60 units. First stroke: x = 4, 7.9 ... 27.3 and y = 56.3, in columns of 8
    # cells. Second stroke: x = 41.3 and y = 47, 51.1 ... 79.7.
    expected = [3, 3, 3, 3, 11, 11, 11, 18, 19, 19, 19, 19, 20, 20, 20, 20]
    np.testing.assert_array_equal(imitate.cells_of_frames(ink, source), expected)


def test_an_encoder_of_images_imitates_that_of_ink(example, data, capsys):
    train, imitate = example("train"), example("imitate")
    formulas, drawing = example("formulas"), example("drawing")
    train.BEAM_WIDTHS, train.EXPONENTS = (2,), (0.0,)
    imitate.SAID = 1
    places = ["--data", str(data), "--epochs", "1"]
    train.main([*places, "--out", str(data / "ink")])
    file, ink = str(data / "train.jsonl.gz"), data / "ink" / "formulas.keras"
    capsys.readouterr()
    start = ["--out", str(data / "start"), "--epochs", "60", "--learning-rate", "0.003"]
    imitate.main([file, "--model", str(ink), *start])
    lines = [line for line in capsys.readouterr().out.splitlines() if "variance" in line]
    first, last = (float(lines[one].split()[-4]) for one in (0, -1))
    assert last < first / 2
    old, new = kb.load_pipeline(ink), kb.load_pipeline(data / "start")
    pairs = zip(old.model.decoder.weights, new.model.decoder.weights, strict=True)
    same = [np.array_equal(one, other) for one, other in pairs if one.shape == other.shape]
    assert all(same) and len(same) == len(old.model.decoder.weights) - 1  # all but the coverage's Q

    image = [*places, "--source", "image", "--turned", "0.1", "--from", str(data / "start")]
    train.main([*image, "--out", str(data / "image")])
    pairs = [(drawing.drawn(one), text) for one, text in formulas.read(data / "dev.jsonl.gz")]
    assert np.isfinite(kb.load_pipeline(data / "image" / "formulas.keras").score(pairs[:2])).all()


def test_points_along_a_stroke_are_near_each_other(example):
    drawing = example("drawing")
    points = drawing.along(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]]), 0.5)
    assert np.hypot(*np.diff(points, axis=0).T).max() <= 0.5
    np.testing.assert_allclose(points[[0, -1]], [[0, 0], [3, 4]])
    np.testing.assert_array_equal(drawing.along(np.array([[1.0, 2.0]]), 0.5), [[1, 2]] * 2)


def test_a_model_of_images_is_shown_where_the_symbols_are(example, data, capsys):
    train, symbols, formulas = example("train"), example("symbols"), example("formulas")
    train.BEAM_WIDTHS, train.EXPONENTS = (2,), (0.0,)
    places = ["--data", str(data), "--epochs", "1"]
    train.main([*places, "--out", str(data / "ink")])
    known, model = data / "known.jsonl.gz", data / "ink" / "formulas.keras"
    symbols.main([str(data / "train.jsonl.gz"), "--model", str(model), "--out", str(known)])
    texts = [text for _, text, _ in formulas.read_owned(known)]
    assert texts == [text for _, text in formulas.read(data / "train.jsonl.gz")]
    image = [*places, "--source", "image", "--train", str(known), "--out", str(data / "image")]
    train.main([*image, "--guided", "0.5"])
    options = json.loads((data / "image" / "run.json").read_text())["options"]
    assert options["guided_alignment"] == 0.5
    assert (data / "image" / "formulas.keras").is_file()


def test_ink_has_no_cells_to_guide_the_attention_to(example, capsys):
    with pytest.raises(SystemExit) as ended:
        example("train").main(["--data", ".", "--out", "o", "--guided", "0.5"])
    assert ended.value.code == 2
    assert "--guided is for --source image" in capsys.readouterr().err


def test_a_model_is_trained_exported_and_scored(example, data, capsys):
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert runs the file")
    train, score = example("train"), example("score")
    train.BEAM_WIDTHS, train.EXPONENTS = (2,), (0.0,)
    train.main(["--data", str(data), "--out", str(data / "run"), "--epochs", "1"])
    model = data / "run" / "formulas.keras"
    pipeline = kb.load_pipeline(model)
    kb.export_litert(pipeline, data / "ink.tflite", max_source_length=64, max_target_length=8)
    found = []
    for path in (model, data / "ink.tflite"):
        files = ["--json", str(data / "scores.json"), "--plot", str(data / "maps.png")]
        score.main([str(data / "dev.jsonl.gz"), "--model", str(path), *files, "--formula", "2"])
        assert "ExpRate" in capsys.readouterr().out
        found.append(json.loads((data / "scores.json").read_text())["exprate"])
    assert found[0] == found[1]
    assert (data / "maps.png").read_bytes().startswith(b"\x89PNG")


def test_a_model_of_surroundings_begins_as_the_model_of_ink(example, data):
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert runs the file")
    train, surroundings = example("train"), example("surroundings")
    train.BEAM_WIDTHS, train.EXPONENTS = (2,), (0.0,)
    places = ["--data", str(data), "--epochs", "1"]
    train.main([*places, "--out", str(data / "ink")])
    surroundings.main(["--from", str(data / "ink"), "--out", str(data / "start")])
    inks = [strokes for strokes, _ in example("formulas").read(data / "dev.jsonl.gz")][:2]
    ink, start = (kb.load_pipeline(data / name) for name in ("ink", "start"))
    assert not ink.source.surroundings and start.source.surroundings
    pairs = [(one, "1 + 1") for one in inks]
    np.testing.assert_array_equal(ink.score(pairs), start.score(pairs))

    train.main([*places, "--from", str(data / "start"), "--out", str(data / "both")])
    both = kb.load_pipeline(data / "both" / "formulas.keras")
    kernel = both.model.encoder.front_end.context.output_layer.kernel
    # A single training step changes too little.
    kernel.assign(np.random.default_rng(0).normal(size=kernel.shape))
    assert not np.allclose(both.score(pairs), ink.score(pairs))
    sizes = {"max_source_length": 64, "max_target_length": 8}
    kb.export_litert(both, data / "both.tflite", **sizes)
    # Raises an error if the answers differ.
    kb.export_saved_model(both, data / "saved", sentences=inks)
    device = kb.exporters.LiteRTPipeline(data / "both.tflite")
    for one, result in zip(both.decode(inks), device.decode(inks), strict=True):
        assert result.text == one.text
        np.testing.assert_allclose(result.score, one.score, atol=1e-4)


@pytest.mark.parametrize(
    ("files", "out", "told"),
    [
        ([], "new", "--from must be the directory of a training run. Received: "),
        (["run.json"], "", "--out already exists: choose another directory. Received: "),
    ],
    ids=["no training", "no new directory"],
)
def test_no_model_of_surroundings_is_begun(example, tmp_path, capsys, files, out, told):
    for name in files:
        (tmp_path / name).touch()
    with pytest.raises(SystemExit) as ended:
        example("surroundings").main(["--from", str(tmp_path), "--out", str(tmp_path / out)])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("share", "chosen"), [(0.0, "a"), (0.4, "a"), (0.5, "b"), (1.0, "b")], ids=str
)
def test_the_sum_of_both_scores_chooses(example, share, chosen):
    # The sums are -1, -2.6, -3 and -5 for a, and -2.5 to -3 for b.
    first, second = [-1.0, -2.5, -9.0], [-5.0, -3.0, -4.0]
    assert example("together").best(["a", "b", "c"], share, first, second) == chosen


def test_ink_and_image_are_read_together(example, data, capsys):
    train, together = example("train"), example("together")
    train.BEAM_WIDTHS, train.EXPONENTS = (2,), (0.0,)
    models = []
    for source in ("ink", "image"):
        out = data / source
        train.main(["--data", str(data), "--source", source, "--out", str(out), "--epochs", "1"])
        models.append(str(out / "formulas.keras"))
    file = str(data / "dev.jsonl.gz")
    together.main(
        [file, "--models", *models, "--nbest", "2", "--shares", "0", "0.5", "--turns", "1"]
    )
    *_, first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("share 0: ExpRate") and second.startswith("share 0.5: ExpRate")
    inks = [strokes for strokes, _ in example("formulas").read(file)][:3]
    copies, candidates = (
        [inks, example("variations").turned(inks, 0.1)],
        [["1"], ["1 + 1", "x"], []],
    )
    pipeline = kb.load_pipeline(models[0])
    reader = together.Reader(pipeline, copies, 2)
    for known in reader.known:
        candidates[0] = [*candidates[0], *known[0]]  # texts that the search found, and other texts
    for place, (texts, found) in enumerate(zip(candidates, reader.scores(candidates), strict=True)):
        of_copies = [pipeline.score([(copy[place], text) for text in texts]) for copy in copies]
        np.testing.assert_allclose(found, np.mean(of_copies, axis=0), rtol=1e-3, atol=1e-3)


def test_formulas_without_strokes_pass(example):
    drawing, variations = example("drawing"), example("variations")
    source = kb.sources.ImageSource(height=128, width=256, cell=16)
    none, line = [], [np.zeros((0, 2)), np.array([[0.0, 0.0], [3.0, 4.0]])]
    still, moved = variations.turned([none, line], 0.1)
    assert still == [] and [len(stroke) for stroke in moved] == [0, 2]
    assert drawing.mean_size(none) == 1.0 and drawing.mean_size(line) == 4.0
    assert drawing.links(none, "", [], source).size == 0
    assert drawing.links(line, "a b", [0, 1], source).any(axis=1).tolist() == [False, True, False]
    assert [text for _, text in variations.joined([(none, "a"), (line, "b")], 2)] == ["b b"] * 2
    with pytest.raises(ValueError, match="Received: 1 formulas, none"):
        variations.joined([(none, "a")], 2)
    assert variations.joined([], 0) == []


@pytest.mark.parametrize("name", ["score", "symbols", "recombine", "together", "imitate"])
def test_what_is_absent_is_named(example, tmp_path, capsys, name):
    absent = str(tmp_path / "dev.jsonl.gz")
    with pytest.raises(SystemExit) as ended:
        example(name).main([absent, "--model", absent, "--out", "none"])
    assert ended.value.code == 2
    assert f"there is no '{absent}': check the spelling" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--json", "--plot"])
def test_a_directory_that_is_absent_is_named_before_the_work(example, data, capsys, option):
    absent, given = data / "absent", str(data / "train.jsonl.gz")
    with pytest.raises(SystemExit) as ended:
        example("score").main([given, "--model", given, option, str(absent / "file")])
    assert ended.value.code == 2
    assert f"there is no directory '{absent}': make it first" in capsys.readouterr().err


def ended(example, name, *arguments):
    """Return the message with which a script exits."""
    with pytest.raises(SystemExit) as ended:
        example(name).main([*map(str, arguments)])
    # The exit code is a text: Python prints it and exits with 1.
    assert "\n" not in ended.value.code
    return ended.value.code


def line_of(latex="1", ink=ONE, **more):
    return json.dumps({"latex": latex, "ink": ink, **more})


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "no JSON: ''"),
        ("1 + 1", "no JSON: '1 + 1'"),
        ("[" * 10_000, "no JSON: '[[["),
        ("[1]", "no latex"),
        ('{"ink": []}', "no latex"),
        ('{"latex": "1"}', "no ink"),
        (line_of(latex=["1"]), "latex=['1']"),
        (line_of(ink="1"), "ink='1'"),
        (line_of(ink=[[0, 0], [0, 1, 2]]), "ink[1]=[0, 1, 2]"),
        (line_of(ink=[[[0, 1], [2, 3]]]), "ink[0]=[[0, 1], [2, 3]]"),
        (line_of(ink=[["0", "1"]]), "ink[0]=['0', '1']"),
        (line_of(ink=[[0, True]]), "ink[0]=[0, True]"),
        (line_of(ink=[[0, float("nan")]]), "ink[0]=[0, nan]"),
        (line_of(ink=[[0, float("-inf")]]), "ink[0]=[0, -inf]"),
        (line_of(ink=[[0, 1e300]]), "ink[0]=[0, 1e+300]"),
        (line_of(owners=[0, 0]), "owners=[0, 0]"),
        (line_of(owners=[1]), "owners=[1]"),
        (line_of(owners=[0.0]), "owners=[0.0]"),
        (line_of(owners=0), "owners=0"),
    ],
    ids=lambda value: value[:40],
)
def test_a_line_that_is_no_formula_is_named(example, tmp_path, line, told):
    file = tmp_path / "dev.jsonl"
    lines = [line_of(), line_of(ink=[], owners=[]), line, *[line_of()] * 3]
    file.write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(ValueError) as raised:
        example("formulas").read_owned(file)
    assert f"Received: path='{file}', whose line 3 has {told}" in str(raised.value)
    assert str(raised.value).endswith(" Correct or remove it.")


@pytest.mark.parametrize(
    ("content", "told"),
    [(gzip.compress(b""), "must contain at least one line"), (b"{}", "complete gzip file")],
    ids=["empty", "not packed"],
)
def test_a_file_without_lines_is_named(example, tmp_path, content, told):
    file = tmp_path / "dev.jsonl.gz"
    file.write_bytes(content)
    line = ended(example, "score", file, "--model", IMAGE)
    assert told in line and f"Received: path='{file}'" in line


def call(name, file, model, out):
    """Return the arguments of a script that would write its results to a new directory `out`."""
    return {
        "train": ["--data", file.parent, "--source", "image", "--from", model, "--out", out],
        "imitate": [file, "--model", model, "--out", out],
        "symbols": [file, "--model", model, "--out", out.with_name("known.jsonl.gz")],
        "recombine": [file, "--model", model, "--out", out.with_name("new.jsonl.gz")],
        "score": [file, "--model", model, "--json", out.parent / "scores.json"],
        "together": [file, "--models", model, IMAGE],
    }[name]


SCRIPTS = ("train", "imitate", "symbols", "recombine", "score", "together")


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name != "imitate"])
def test_no_script_goes_on_with_a_bad_file(example, data, name):
    file, model = data / "train.jsonl.gz", IMAGE
    file.write_bytes(gzip.compress(b'{"latex": "1"}\n'))
    line = ended(example, name, *call(name, file, model, data / "out"))
    assert f"Received: path='{file}', whose line 1 has no ink." in line
    assert sorted(path.name for path in data.iterdir()) == ["dev.jsonl.gz", "train.jsonl.gz"]


@pytest.mark.few(3)
@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_goes_on_with_another_model(example, data, name):
    damaged = data / "model.keras"
    damaged.write_bytes(b"no model")
    told = {damaged: "Received: ", data: "a directory without translator.keras"}
    told[TEXT] = "whose source is TextSource"
    if name in ("imitate", "symbols", "recombine"):  # scripts that need ink
        told[IMAGE] = "whose source is ImageSource"
    for model, words in told.items():
        line = ended(example, name, *call(name, data / "dev.jsonl.gz", model, data / "out"))
        assert words in line and str(model) in line
    assert not (data / "out").exists()


def test_surroundings_need_a_model_that_can_be_read(example, tmp_path):
    (tmp_path / "run.json").touch()
    start = ["--from", tmp_path, "--out", tmp_path / "start"]
    assert "without translator.keras" in ended(example, "surroundings", *start)
    shutil.copy(TEXT, tmp_path / "translator.keras")
    with pytest.raises(SystemExit):
        example("surroundings").main([*map(str, start)])
    assert not (tmp_path / "start").exists()


@pytest.mark.parametrize(
    ("error", "kind"),
    [(ValueError("a bug"), ValueError), (KeyError("Received"), KeyError)],
    ids=["no value named", "another kind"],
)
def test_a_bug_keeps_its_traceback(example, error, kind):
    @example("formulas").ends_well()
    def main():
        raise error

    with pytest.raises(kind):
        main()
