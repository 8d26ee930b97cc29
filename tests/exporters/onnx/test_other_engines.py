"""The same ONNX file in OpenVINO, and in ONNX Runtime for Node and for browsers."""

import json
import os
import subprocess

import node_packages
import numpy as np
import pytest
from toy_sources import CASES, toy_pairs_of

import keras_bahdanau as kb
from keras_bahdanau.exporters import OnnxTranslator
from keras_bahdanau.exporters.onnx.onnx_runner import OnnxRunner

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "..", "export", "onnx")
SENTENCES = ["three one two", "", "five", "one one four", "qqq ☃"]
PACKAGES = ("onnxruntime-node", "onnxruntime-web")


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_openvino_gives_all_outputs_of_onnx_runtime(name, toy_source, tmp_path):
    openvino = pytest.importorskip("openvino")
    pipeline = kb.load_pipeline(toy_source(name))
    path = kb.export_onnx(pipeline, tmp_path / "model.onnx", max_source_length=48)
    source = pipeline.source
    inputs = [*source.edge_cases, *(one for one, _ in toy_pairs_of(name)[:4])]
    request = source.feature_requests(source.batch(inputs, 48))
    expected = OnnxRunner(path).run(request)
    settings = {"INFERENCE_PRECISION_HINT": "f32"}  # some processors default to bfloat16
    model = openvino.Core().compile_model(path, "CPU", settings)
    results = model(request)
    for output in model.outputs:
        right = expected[output.get_any_name()]
        if np.issubdtype(right.dtype, np.floating):
            np.testing.assert_allclose(results[output], right, atol=1e-4)
        else:
            np.testing.assert_array_equal(results[output], right)


def node(package, *arguments):
    missing = node_packages.lacking(package)
    if missing:
        pytest.skip(f"needs {missing}")
    done = subprocess.run(
        ["node", os.path.join(FOLDER, "translate.mjs"), *map(str, arguments)],
        capture_output=True,
        env={**os.environ, "ONNXRUNTIME": package},
    )
    return done.returncode, done.stdout.decode().splitlines(), done.stderr.decode()


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_node_gives_the_answers_of_python(package, toy_onnx):
    python = OnnxTranslator(toy_onnx)
    code, lines, error = node(package, "--json", "--nbest", 3, toy_onnx, *SENTENCES)
    assert code == 0, error
    for line, expected in zip(lines, python.translate_nbest(SENTENCES, 3), strict=True):
        hypotheses = json.loads(line)["hypotheses"]
        assert [row["text"] for row in hypotheses] == [result.text for result in expected]
        for row, result in zip(hypotheses, expected, strict=True):
            assert row["score"] == pytest.approx(result.score, abs=1e-4)
            assert row["confidence"] == pytest.approx(result.confidence, abs=1e-4)
            assert row["tokens"] == result.target_tokens
            assert row["token_log_probs"] == pytest.approx(
                result.token_log_probs.tolist(), abs=1e-4
            )
    code, lines, error = node(package, "--prefix", "zwei", toy_onnx, *SENTENCES)
    expected = python.translate_nbest(SENTENCES, 1, prefixes=["zwei"] * len(SENTENCES))
    assert (code, lines) == (0, [best.text for (best,) in expected]), error


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.write])
def test_node_reads_the_files_of_python(package, name, toy_source, tmp_path):
    pipeline = kb.load_pipeline(toy_source(name))
    path = kb.export_onnx(pipeline, tmp_path / "model.onnx")
    pairs = toy_pairs_of(name)[:5]
    files = [
        CASES[name].write(source, tmp_path / str(number))
        for number, (source, _) in enumerate(pairs)
    ]
    code, lines, error = node(package, path, *files)
    assert (code, lines) == (0, [text for _, text in pairs]), error


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_node_refuses_a_damaged_file_in_one_line(package, toy_onnx, tmp_path):
    whole = toy_onnx.read_bytes()
    path = tmp_path / "bad.onnx"
    random = np.random.default_rng(0)
    for content in (whole[:5000], b"", b"one\n", *(flipped(whole, random) for _ in range(3))):
        path.write_bytes(content)
        code, lines, error = node(package, path, "one")
        assert (code, lines) == (2, []) and error.count("\n") == 1, error
    code, lines, error = node(package, "--greedy", toy_onnx, "one")
    assert (code, lines) == (2, []) and "_greedy" in error


def flipped(content, random):
    changed = bytearray(content)
    changed[random.integers(len(content))] ^= 1 << random.integers(8)
    return bytes(changed)
