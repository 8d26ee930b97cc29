"""Runners for Keras models in C++, Node, Chromium and on a JVM share one conformance file."""

import json
import subprocess
import sys
from pathlib import Path

import array_conformance
import kotlin_programs
import native_programs
import node_packages
import pytest
from native_programs import LIBRARY, answer, answer_of_full

from keras_bahdanau.runners import ArrayModel

ROOT = Path(__file__).parents[2]
KIT = ROOT / "export" / "on_device"
NODE_PROGRAM = KIT / "run_arrays.mjs"
PIPELINE = ROOT / "examples" / "dates" / "models" / "dates.tflite"
CHROMIUM = ("@litertjs/core", "onnxruntime-web", "@sparticuz/chromium", "puppeteer-core")
ONNX_PACKAGES = ("onnxruntime-node", "onnxruntime-web")
LACKING = {
    "C++": native_programs.LACKING,
    "Node": node_packages.lacking("@litertjs/core"),
    "JVM": kotlin_programs.lacking("java", "javac", "g++", "cmake", "pkg-config", "kotlin")
    or (None if LIBRARY.is_file() else LIBRARY.name),
}
LACKING_CHROMIUM = node_packages.lacking(*CHROMIUM)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Directory of exported models, and of files that aren't valid models."""
    folder = tmp_path_factory.mktemp("arrays")
    array_conformance.write(folder)
    for form in ("tflite", "onnx"):
        content = (folder / f"mood.{form}").read_bytes()
        changed = bytearray(content)
        changed[len(content) // 3] ^= 1
        (folder / f"damaged.{form}").write_bytes(changed)
        (folder / f"half.{form}").write_bytes(content[: len(content) // 2])
    (folder / "nothing.tflite").write_bytes(b"")
    (folder / "pipeline.tflite").write_bytes(PIPELINE.read_bytes())
    return folder


@pytest.fixture(scope="module")
def cases(folder):
    return json.loads((folder / "arrays.json").read_text())


@pytest.fixture(scope="module", params=LACKING)
def runner(request, tmp_path_factory):
    """The language of a runner, and the words of its command."""
    language = request.param
    if LACKING[language]:
        pytest.skip(f"needs {LACKING[language]}")
    if language == "Node":
        return language, ["node", NODE_PROGRAM]
    build = tmp_path_factory.mktemp("build")
    if language == "C++":
        native_programs.build(build, "run_arrays")
        return language, [build / "run_arrays"]
    classes, kit = tmp_path_factory.mktemp("classes"), kotlin_programs.KIT
    kotlin_programs.compile_kotlin([*kit.glob("*.kt")], classes)
    subprocess.run(["cmake", "-S", kit, "-B", build, f"-DLITERT={LIBRARY}"], check=True)
    subprocess.run(["cmake", "--build", build, "--target", "translation_litert"], check=True)
    main = "translation.RunArraysKt"
    return language, kotlin_programs.command(classes, main, libraries=build)


def options_of(case):
    if case["streams"]:
        return ["--stream"]
    return [] if case["signature"] is None else ["--signature", case["signature"]]


def ask(command, *words, requests=(), data=None):
    """Run a program; return its exit code, its answers, and its last line of standard error."""
    text = "".join(f"{json.dumps(request)}\n" for request in requests).encode()
    code, lines, complaints = answer([*command, *words], text if data is None else data)
    assert not any(line.startswith(("Traceback", "\tat ")) for line in complaints)
    return code, [json.loads(line) for line in lines[:-1]], complaints[-1] if complaints else ""


def test_python_answers_as_keras(cases, folder):
    for case in cases:
        model = ArrayModel(folder / case["file"])
        run = (
            model.stream()
            if case["streams"]
            else lambda one, m=model, c=case: m(one, c["signature"])
        )
        received = array_conformance.lists(map(run, case["requests"]))
        array_conformance.assert_alike(received, case["answers"], case["tolerance"])


def test_a_runner_answers_as_keras(runner, cases, folder):
    language, command = runner
    for case in cases:
        if case["file"].endswith(".onnx"):  # tested below, in Node
            continue
        words = [*options_of(case), folder / case["file"]]
        code, received, error = ask(command, *words, requests=case["requests"])
        if language == "Node" and case["open_length"]:
            assert (code, received) == (2, []) and "with a fixed length" in error
            continue
        assert code == 0, error
        tolerance = case["tolerance_of_wasm" if language == "Node" else "tolerance"]
        array_conformance.assert_alike(received, case["answers"], tolerance)


OBJECT = "A request must be a JSON object"
REFUSED_REQUESTS = {
    '{"id": [[1]]}': "must be ids. Received: id",
    "{}": "must be ids. Received: none",
    '{"ids": [[1]], "__proto__": 1}': "must be ids. Received: ",
    '{"ids": 3}': "must be int32 (1, 2). Received: shape ()",
    '{"ids": [1, 2]}': "must be int32 (1, 2). Received: shape (2)",
    '{"ids": [[1]]}': "must be int32 (1, 2). Received: shape (1, 1)",
    '{"ids": [[1, 1], [2, 2]]}': "Received: shape (2, 2)",
    '{"ids": [[[1]]]}': "Received: shape (1, 1, 1)",
    '{"ids": [[]]}': "Received: shape (1, 0)",
    '{"ids": []}': "Received: shape (0)",
    '{"ids": [[1, 0.5]]}': "must contain integer int32 values. Received: 0.5",
    '{"ids": [["a", 1]]}': "must contain integer int32 values. Received: no number",
    '{"ids": [[1, null]]}': "must contain integer int32 values. Received: no number",
    '{"ids": [[1, [2]]]}': "must contain integer int32 values. Received: no number",
    '{"ids": [[1, NaN]]}': "Received: ",
    '{"ids": [[1, 2]': OBJECT,
    "[1]": OBJECT,
    "null": OBJECT,
    "": OBJECT,
    "[" * 5000: OBJECT,
    '{"ids": [[' + "1," * 2_100_000: "at most 4,194,304 bytes. Received: line 2",
}
REFUSED_VECTORS = {
    '{"sample": [[1, 2, 3, 1e39]]}': "must contain finite float32 values. Received: 1e+39",
    '{"sample": [[1, 2, 3, 1e999]]}': "must contain finite float32 values",
    '{"sample": [[1, 2, 3]]}': "must be float32 (1, 4). Received: shape (1, 3)",
    '{"sample": [[1, 2, 3, 4], [1]]}': "Received: shape (2, 4)",
    '{"sample": [[1, 2, 3, 4]], "gru_state_0": [[0]]}': "must be sample. Received: ",
}


def assert_refused(outcome, answers, message):
    code, received, error = outcome
    assert (code, len(received)) == (2, answers), error
    assert error.startswith("error: ") and len(error) < 600
    assert message.lower() in error.lower().replace("1.0e39", "1e+39")


def test_a_wrong_request_ends_it_in_one_line_behind_the_answers_before(runner, folder):
    _, command = runner
    good = b'{"ids": [[1, 2]]}\n'
    for request, message in REFUSED_REQUESTS.items():
        data = good + request.encode() + b"\n"
        assert_refused(ask(command, folder / "two.tflite", data=data), 1, message)
    data = good + b'{"ids": [[1, 2\xff]]}\n'
    assert_refused(ask(command, folder / "two.tflite", data=data), 1, "")
    for request, message in REFUSED_VECTORS.items():
        data = request.encode() + b"\n"
        assert_refused(ask(command, "--stream", folder / "hear.tflite", data=data), 0, message)
    ragged = json.dumps({"ids": [[1] * 7], "sample": [[[1.0] * 4] * 6 + [[1.0]]]}).encode()
    message = "must have equal lengths. Received: 4 and 1."
    assert_refused(ask(command, folder / "both.tflite", data=ragged), 0, message)


def test_a_wrong_file_or_command_line_is_refused_in_one_line(runner, folder):
    _, command = runner
    model = folder / "two.tflite"
    of_keras = "must be from a Keras model, and unchanged since its export"
    for words, message in (
        ([folder / "damaged.tflite"], "its last 64 bytes are not its sha256"),
        ([folder / "half.tflite"], of_keras),
        ([folder / "nothing.tflite"], of_keras),
        ([folder / "pipeline.tflite"], "its card.json does not describe a Keras model"),
        ([folder / "none.tflite"], "A file must be readable"),
        ([folder], "A file must be readable"),
        ([], "must name "),
        ([model, model], "one model"),
        (["--none", model], "--none"),
        (["--stream", model], "must have the signature 'step'"),
        (
            ["--signature", "toString", model],
            "must be one of serving_default. Received: 'toString'",
        ),
        (["--signature", "step", "--stream", folder / "hear.tflite"], "--stream"),
    ):
        assert_refused(ask(command, *words, data=b'{"ids": [[1, 2]]}\n'), 0, message)
    assert ask(command, model, data=b"") == (0, [], "") or runner[0] == "Node"
    code, complaint = answer_of_full([*command, model], b'{"ids": [[1, 2]]}\n')
    assert code == 2 and "tandard output must accept all lines" in complaint


@pytest.fixture(params=ONNX_PACKAGES)
def onnx_runner(request, monkeypatch):
    """The words of the command that runs .onnx files in Node, with each runtime."""
    if missing := node_packages.lacking(request.param):
        pytest.skip(f"needs {missing}")
    monkeypatch.setenv("ONNXRUNTIME", request.param)
    return ["node", NODE_PROGRAM]


def test_node_answers_as_keras_with_onnx_files(onnx_runner, cases, folder):
    for case in cases:
        if case["file"].endswith(".onnx"):
            words = [*options_of(case), folder / case["file"]]
            code, received, error = ask(onnx_runner, *words, requests=case["requests"])
            assert (code, error) == (0, "")
            array_conformance.assert_alike(received, case["answers"], case["tolerance_of_wasm"])


REFUSED_ONNX_REQUESTS = {
    '{"id": [[1]]}': "must be ids. Received: id",
    '{"ids": [1, 2]}': "must be int32 (any, any). Received: shape (2)",
    '{"ids": [[[1]]]}': "must be int32 (any, any). Received: shape (1, 1, 1)",
    '{"ids": [[]]}': "Received: shape (1, 0)",
    '{"ids": [[1, 1], [2]]}': "must have equal lengths. Received: 2 and 1.",
    '{"ids": [[1, 0.5]]}': "must contain integer int32 values. Received: 0.5",
    '{"ids": [["a", 1]]}': "must contain integer int32 values. Received: no number",
    '{"ids": [[1, NaN]]}': OBJECT,
    '{"ids": [[1, 2]': OBJECT,
}


def test_node_refuses_wrong_requests_and_files_of_onnx_in_one_line(onnx_runner, folder, toy_onnx):
    good = b'{"ids": [[1, 2], [3, 4]]}\n'
    for request, message in REFUSED_ONNX_REQUESTS.items():
        data = good + request.encode() + b"\n"
        assert_refused(ask(onnx_runner, folder / "mood.onnx", data=data), 1, message)
    rows = json.dumps({"ids": [[1], [2]], "sample": [[[1.0] * 4]]}).encode()
    message = "must have equally many rows. Received: ids (2, 1), sample (1, 1, 4)."
    assert_refused(ask(onnx_runner, folder / "both.onnx", data=rows), 0, message)
    for words, message in (
        ([folder / "damaged.onnx"], "its last 64 bytes are not its sha256"),
        ([folder / "half.onnx"], "its last 64 bytes are not its sha256"),
        ([toy_onnx], "its card.json does not describe a Keras model"),
        (["--stream", folder / "mood.onnx"], "must have the signature 'step'"),
        (["--signature", "step", folder / "mood.onnx"], "must be one of serving_default"),
    ):
        assert_refused(ask(onnx_runner, *words, data=good), 0, message)


def test_odd_requests_have_the_answers_of_python(runner, folder):
    language, command = runner
    file = folder / ("two.tflite" if language == "Node" else "mood.tflite")
    model = ArrayModel(file)
    requests = [
        {"ids": [[2**40, -(2**40)]]},  # clipped to the nearest ids
        {"ids": [[True, False]]},
        {"ids": [[0, 0]]},
        {"ids": [[9, 9]]},
        *([] if language == "Node" else [{"ids": [[5] * 3_000]}, {"ids": [[7]]}]),
    ]
    expected = array_conformance.lists(map(model, requests))
    data = "\ufeff" + "".join(f"{json.dumps(request)}\r\n" for request in requests)
    data = data.replace("9, 9]]", "9.0, 9e0]]")
    code, received, error = ask(command, file, data=data.encode())
    assert code == 0, error
    array_conformance.assert_alike(received, expected, 1e-5)


@pytest.mark.skipif(bool(LACKING_CHROMIUM), reason=f"needs {LACKING_CHROMIUM}")
def test_a_page_answers_as_keras_in_chromium(cases, folder):
    for name in ("export", "keras_bahdanau"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "node_modules").mkdir()
    for name in ("@litertjs", "onnxruntime-web"):
        package = {"@litertjs": "@litertjs/core"}.get(name, name)
        installed = node_packages.directory_of(package) / "node_modules"
        (folder / "node_modules" / name).symlink_to(installed / name)
    program = Path(array_conformance.__file__).with_name("arrays_page.mjs")
    done = subprocess.run(
        ["node", program, sys.executable, folder],
        capture_output=True,
        encoding="utf-8",
        cwd=node_packages.directory_of("puppeteer-core"),
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["errors"] == []
    for case, received in zip(cases, seen["answers"], strict=True):
        if case["open_length"]:
            assert "with a fixed length" in received[0]
            continue
        if case["streams"]:  # the page also returns states
            received = [{"alarm": one["alarm"]} for one in received]
        array_conformance.assert_alike(received, case["answers"], case["tolerance_of_wasm"])
    assert seen["labels"] == ["bad", "so so", "good"]
    for text, problem in seen["problems"].items():
        assert isinstance(problem, str) and ". Received: " in problem, (text, problem)
        assert "\n" not in problem
