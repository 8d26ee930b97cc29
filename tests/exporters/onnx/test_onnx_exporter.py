"""An ONNX file gives Keras' answers in Python, on the command line and for hostile requests."""

import io
import json
import sys

import numpy as np
import pytest

import keras_bahdanau as kb
from keras_bahdanau import cli
from keras_bahdanau.exporters import OnnxExporter, OnnxPipeline, OnnxTranslator, check, describe
from keras_bahdanau.exporters.onnx.onnx_file import pack, unpack
from keras_bahdanau.exporters.onnx.onnx_runner import OnnxRunner, dtype_of

SENTENCES = ["three one two", "", "five", "one one four", "qqq ☃"]


@pytest.fixture(scope="module")
def translator(toy_onnx):
    return OnnxTranslator(toy_onnx)


@pytest.fixture
def command(monkeypatch, capsys):
    """`command(*arguments, stdin="")`: exit code, standard output and error, in this process."""

    def run(*arguments, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as ended:
            cli.main([str(argument) for argument in arguments])
        return ended.value.code, *capsys.readouterr()

    return run


def assert_equal(results, expected):
    """Assert equal texts, with scores and alignments equal to 1e-4."""
    assert [result.text for result in results] == [result.text for result in expected]
    for result, right in zip(results, expected, strict=True):
        assert (result.source_tokens, result.target_tokens) == (
            right.source_tokens,
            right.target_tokens,
        )
        assert result.finished == right.finished
        assert result.score == pytest.approx(right.score, abs=1e-4)
        assert result.confidence == pytest.approx(right.confidence, abs=1e-4)
        np.testing.assert_allclose(result.alignment, right.alignment, atol=1e-4)
        np.testing.assert_allclose(result.token_log_probs, right.token_log_probs, atol=1e-4)


def test_an_onnx_file_gives_the_translations_of_keras(translator, toy_translator):
    assert_equal(translator.translate(SENTENCES), toy_translator.translate(SENTENCES))


def test_an_onnx_file_gives_the_lists_of_keras_with_and_without_a_prefix(
    translator, toy_translator
):
    prefixes = ["", "", "v", "eins", "zwei"]
    for beginnings in (None, prefixes):
        lists = translator.translate_nbest(SENTENCES, 3, prefixes=beginnings)
        expected = toy_translator.translate_nbest(SENTENCES, 3, prefixes=beginnings)
        for results, right in zip(lists, expected, strict=True):
            assert_equal(results, right)


def test_the_check_is_clean_and_lists_opset_and_operations(toy_onnx):
    assert check(toy_onnx) == []
    lines = describe(toy_onnx).splitlines()
    assert lines[0].startswith("ONNX, float32, by keras_bahdanau")
    assert any(line.startswith("opset ONNX 17; IR version ") for line in lines)
    assert any(line.startswith("operations: Add ") and " Loop 4," in line for line in lines)
    assert "input source int32 (batch, source_time)" in lines
    assert "output alignment float32 (batch, 5, target_time, alignment_time)" in lines
    assert any(line.startswith("ONNX float32 ") and "100.00%" in line for line in lines)


def test_a_batch_of_hostile_numbers_gets_well_formed_answers(toy_onnx):
    runner = OnnxRunner(toy_onnx)
    source = np.array([[-5, 2**31 - 1, 3], [0, 0, 0], [-(2**31), 2, 7]], np.int32)
    for rows, lengths in (
        (3, [3, 3, 3]),
        (3, [2**31 - 1, 0, -(2**31)]),
        (3, [0, 0, 0]),
        (0, []),
    ):
        counts = np.array(lengths, np.int32)
        prefix = {"prefix": source[:rows, :2], "prefix_length": counts}
        outputs = runner.run({"source": source[:rows], "source_length": counts, **prefix})
        assert outputs["ids"].shape[:2] == (rows, 5)
        for name in ("scores", "confidences", "alignment", "token_log_probs"):
            assert np.isfinite(outputs[name]).all(), name
        assert ((outputs["ids"] >= 0) & (outputs["ids"] < len(runner.vocabulary("target")))).all()


def test_lengths_of_fewer_rows_are_an_error(toy_onnx):
    runner = OnnxRunner(toy_onnx)
    source, one = np.full((3, 2), 4, np.int32), np.ones(1, np.int32)
    prefix = {"prefix": source, "prefix_length": np.zeros(3, np.int32)}
    with pytest.raises(ValueError, match="ONNX Runtime"):
        runner.run({"source": source, "source_length": one, **prefix})


def test_a_source_that_is_too_long_is_cut_and_marked(toy_onnx):
    runner = OnnxRunner(toy_onnx)
    source = np.full((2, 5000), 4, np.int32)
    lengths = np.array([5000, 24], np.int32)
    prefix = {"prefix": np.zeros((2, 1), np.int32), "prefix_length": np.zeros(2, np.int32)}
    outputs = runner.run({"source": source, "source_length": lengths, **prefix})
    assert outputs["truncated"].tolist() == [True, False]
    assert outputs["alignment_length"].tolist() == [24, 24]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"source": np.zeros((2, 3), np.int32)}, r"the shape \(source_time\).*shape \(2, 3\)"),
        ({"source": np.array([0.5])}, "must contain values that fit int32. Received: float64"),
        ({"source": ["a"]}, "must contain values that fit int32. Received: <U1"),
        ({"source": [4], "source_length": [1]}, r"`source_length` must have the shape \(\)"),
    ],
)
def test_a_request_of_another_form_is_refused_in_one_line(toy_onnx, features, message):
    with pytest.raises(ValueError, match=message) as raised:
        OnnxRunner(toy_onnx).decode(features, [])
    assert "\n" not in str(raised.value)


def test_commands_take_an_onnx_file(command, toy_onnx, toy_translator):
    text = "\n".join(SENTENCES[:4])
    code, out, err = command("translate", "--model", toy_onnx, "--nbest", "2", stdin=text)
    expected = toy_translator.translate_nbest(SENTENCES[:4], 2)
    assert (code, err) == (0, "")
    assert [line.split(" ||| ")[1] for line in out.splitlines()] == [
        result.text for results in expected for result in results
    ]
    code, out, err = command("translate", "--model", toy_onnx, "--beam-width", "2", stdin="one")
    assert (code, out) == (2, "") and "An .onnx file has a fixed search" in err
    code, out, err = command("check", toy_onnx)
    assert (code, err) == (0, "") and "opset ONNX 17" in out


@pytest.mark.slow
def test_an_onnx_file_is_evaluated_as_its_model(command, toy_onnx, toy_translator, tmp_path):
    toy_translator.save(tmp_path / "toy.keras")
    pairs = "one two\teins zwei\nfive three\tfünf vier\none one four\teins eins vier\n"
    (tmp_path / "pairs.tsv").write_text(pairs, encoding="utf-8")
    scores = []
    for model in (tmp_path / "toy.keras", toy_onnx):
        report = tmp_path / f"{model.name}.json"
        options = ("--json", report, "--metrics", "chrf,exact,top3")
        code, out, err = command("evaluate", tmp_path / "pairs.tsv", "--model", model, *options)
        assert (code, err) == (0, "")
        scores.append(json.loads(report.read_text()))
    for name in ("chrf", "exact", "top3"):
        assert scores[1][name] == scores[0][name]
    assert scores[1]["attention_entropy"] == pytest.approx(scores[0]["attention_entropy"], rel=1e-4)
    assert scores[0]["perplexity"] is not None and scores[1]["perplexity"] is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["features", "images", "ink", "audio"])
def test_no_row_of_any_source_gets_no_answer(toy_artefact, name):
    runner = OnnxRunner(toy_artefact(name, "onnx"))
    for length in (0, 1, 16):
        request = {
            value.name: np.zeros(
                [0, *(size if isinstance(size, int) else length for size in value.shape[1:])],
                dtype_of(value),
            )
            for value in runner._inputs.values()
        }
        outputs = runner.run(request)
        assert {len(array) for array in outputs.values()} == {0}


@pytest.mark.parametrize("cut", ["half", "text", "flip", "no card", "another pipeline's card"])
def test_a_damaged_onnx_file_is_refused_in_one_line(command, toy_onnx, tmp_path, cut):
    path, whole = tmp_path / "bad.onnx", toy_onnx.read_bytes()
    contents = unpack(whole)
    flipped = bytearray(whole)
    flipped[len(whole) // 3] ^= 4
    files = {name: part for name, part in contents.files.items() if name != "card.json"}
    content = {
        "half": whole[: len(whole) // 2],
        "text": b"one\n",
        "flip": flipped,
        "no card": contents.model,
        "another pipeline's card": pack(contents.model, files, {"verb": "read"}),
    }
    path.write_bytes(content[cut])
    code, out, err = command("translate", "--model", path, stdin="one\n")
    assert (code, out) == (2, "") and err.count("\n") == 1, err
    assert f"Received: path={str(path)!r}" in err


def test_without_onnxruntime_one_line_names_the_package(command, toy_onnx, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    code, _, err = command("translate", "--model", toy_onnx)
    assert code == 2 and err.count("\n") == 1
    assert "pip install 'keras-bahdanau[onnx]'" in err


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"quantization": "int4"}, "`quantization` of an ONNX file must be None or 'int8'"),
        ({"signatures": ("nbest",)}, "may only be .*Received: signatures="),
        ({"max_source_length": 0}, "max_source_length"),
    ],
)
def test_a_setting_that_the_format_lacks_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        OnnxExporter(**settings)


def test_the_name_of_an_onnx_file_ends_as_it_must(toy_translator, tmp_path):
    with pytest.raises(ValueError, match="must end in .onnx"):
        kb.export_onnx(toy_translator, tmp_path / "model.tflite")
    assert not list(tmp_path.iterdir())


def test_a_file_of_texts_names_the_class_that_opens_it(toy_onnx):
    with pytest.raises(ValueError, match="must not read text.*Open it as a translator"):
        OnnxPipeline(toy_onnx)


@pytest.mark.slow
def test_the_command_exports_a_greedy_file_and_one_of_8_bits(command, toy_translator, tmp_path):
    model = tmp_path / "toy.keras"
    toy_translator.save(model)
    greedy = toy_translator.searching(kb.SearchOptions(beam_width=1, max_length=24))
    for option in (["--greedy"], ["--quantization", "int8"]):
        out = tmp_path / f"{option[-1].strip('-')}.onnx"
        code, printed, err = command(
            "export", "--model", model, "--format", "onnx", "--out", out, *option
        )
        assert (code, printed.strip()) == (0, str(out)), err
        assert check(out) == []
        texts = [result.text for result in OnnxTranslator(out).translate(SENTENCES[:4])]
        assert texts == [result.text for result in greedy.translate(SENTENCES[:4])]
    card = unpack(out.read_bytes()).card
    assert card["quantization"] == "int8" and json.dumps(card["parity"])
    assert "MatMulInteger" in describe(out)
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "greedy.onnx",
        "int8.onnx",
        "toy.keras",
    ]
