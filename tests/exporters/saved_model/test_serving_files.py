"""Both clients send image and sound files to a real artefact on the test double."""

import base64
import json
import re
import subprocess
import sys

import numpy as np
import pytest
import toy_sources
from serving_double.json_tensors import to_inputs
from serving_double.kit import CLIENTS, KIT, programs, served

from keras_bahdanau.data.readers.manifest import read_manifest
from keras_bahdanau.exporters.cpp_loader import TensorSpec
from keras_bahdanau.pipelines.tasks import load_pipeline

NUMBERS = [(0, 1), (3, 2), (1,), (2, 2)]


@pytest.fixture(scope="module")
def kit():
    """The kit's modules by name."""
    with programs() as modules:
        yield modules


@pytest.fixture(scope="module", params=["images", "audio"])
def case(request, toy_source, toy_artefact, tmp_path_factory):
    """(pipeline, name of its input, manifest, ports of the double that serves it)."""
    place = tmp_path_factory.mktemp(request.param)
    pipeline = load_pipeline(toy_source(request.param))
    manifest = toy_sources.write_manifest(request.param, NUMBERS, place / "files")
    (name,) = pipeline.source.inputs
    with served(toy_artefact(request.param, "saved-model").parent, place) as ports:
        yield pipeline, name, manifest, ports


@pytest.mark.slow
@pytest.mark.parametrize("program", CLIENTS)
def test_a_client_sends_files_and_prints_texts_and_scores(kit, case, program, tmp_path, capsys):
    pipeline, name, manifest, ports = case
    paths = [path for path, _ in read_manifest(manifest)]
    broken = tmp_path / "broken.png"
    broken.write_bytes(bytes(range(256)) + b"\0\0")
    empty = tmp_path / "empty.wav"
    empty.write_bytes(b"")
    paths += [broken, empty]
    expected = pipeline.decode(paths)
    assert [one.text for one in expected[:2]] == ["eins zwei", "vier drei"]
    flags = ["--server", CLIENTS[program].format(**ports), "--bytes", name, "--batch", "3"]
    assert kit[program].main([*flags, *map(str, paths)]) == 0
    lines = capsys.readouterr().out.splitlines()
    for line, one in zip(lines, expected, strict=True):
        text, score = line.split(" ||| ")
        assert text == one.text
        np.testing.assert_allclose(float(score), one.score, atol=1e-4)

    listed = tmp_path / "paths.txt"
    listed.write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
    signature = f"{pipeline.verb}_nbest"
    assert kit[program].main([*flags, "--signature", signature, "--file", str(listed)]) == 0
    first = [line.split(" ||| ") for line in capsys.readouterr().out.splitlines()]
    best = {int(number): text for number, text, _ in reversed(first)}
    assert best == {number: one.text for number, one in enumerate(expected)}

    pairs = [f"{path}\t{text}" for path, text in read_manifest(manifest)]
    assert kit[program].main([*flags, "--signature", "score_pair", *pairs]) == 0
    scored = [line.split(" ||| ")[0] for line in capsys.readouterr().out.splitlines()]
    given = pipeline.score(read_manifest(manifest))
    np.testing.assert_allclose([float(score) for score in scored], given, atol=1e-4)

    aligned = f"{pipeline.verb}_with_alignment"
    assert kit[program].main([*flags, "--signature", aligned, str(paths[0])]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["source_tokens"] == expected[0].source_tokens


@pytest.mark.slow
@pytest.mark.parametrize("program", CLIENTS)
def test_an_input_of_another_name_is_refused_in_one_line(kit, case, program, capsys):
    _, name, manifest, ports = case
    server = CLIENTS[program].format(**ports)
    assert kit[program].main(["--server", server, "--bytes", "other", str(manifest)]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and err.startswith("error: The server must ")


@pytest.mark.slow
def test_load_sends_files(kit, case, tmp_path, capsys):
    _, name, manifest, ports = case
    listed = tmp_path / "paths.txt"
    listed.write_text("".join(f"{path}\n" for path, _ in read_manifest(manifest)))
    server = f"http://localhost:{ports['rest']}"
    flags = ["--server", server, "--clients", "2", "--seconds", "0.5", "--bytes", name]
    assert kit["load"].main([*flags, "--file", str(listed)]) == 0
    assert json.loads(capsys.readouterr().out)["failures"] == 0


@pytest.mark.slow
def test_the_commands_of_the_readme_for_files_run(case, tmp_path):
    pipeline, name, manifest, ports = case
    one, _ = read_manifest(manifest)[0]
    (tmp_path / "paths.txt").write_text(f"{one}\n")
    (tmp_path / "export").symlink_to(KIT.parent)
    rest = f"localhost:{ports['rest']}"
    here = {
        "formula.png": str(one),
        "image_bytes": name,
        "read_nbest": f"{pipeline.verb}_nbest",
        "localhost:8501": rest,
        "client_rest.py": f"client_rest.py --server http://{rest}",
        "load.py": f"load.py --server http://{rest} --seconds 0.5",
        "python ": f"{sys.executable} ",
    }
    readme = (KIT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^(?:python|base64) .*_bytes.*", readme, re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        for written, meant in here.items():
            command = command.replace(written, meant)
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True)
        assert done.returncode == 0, (command, done.stderr.decode())
        assert b"eins zwei" in done.stdout or "load.py" in command


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n\0\0", bytes(range(256)), b"\0" * 3])
def test_the_bytes_of_a_file_reach_the_server_as_they_are(kit, tmp_path, content):
    import tensorflow as tf

    path = tmp_path / "file"
    path.write_bytes(content)
    rest = kit["client_rest"]
    rows = rest.to_rows("serving_default", [str(path), str(path)], "image_bytes")
    body = json.loads(json.dumps({"instances": rows}, default=rest._base64))
    assert body["instances"][0] == {"image_bytes": {"b64": base64.b64encode(content).decode()}}
    specs = {"image_bytes": TensorSpec("image_bytes:0", np.dtype(object), (None,))}
    inputs, _ = to_inputs(body, specs)
    assert inputs["image_bytes"].tolist() == [content, content]
    column = [kit["client_grpc"]._encoded(row["image_bytes"]) for row in rows]
    assert list(tf.make_tensor_proto(column).string_val) == [content, content]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("no/such.png", "must be the path of a file. Received: line='no/such.png', no such file"),
        ("", "Received: line='', no such file"),
        ("one\0two", "no such file"),
        (".", "Received: line='.', a directory"),
        ("/dev/zero", "no such file"),
    ],
)
@pytest.mark.parametrize("program", [*CLIENTS, "load"])
def test_what_is_no_file_is_refused_in_one_line(kit, program, tmp_path, capsys, line, message):
    listed = tmp_path / "paths.txt"
    listed.write_text(f"{line}\n")
    flags = ["--bytes", "image_bytes", "--file", str(listed)]
    assert kit[program].main(flags) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("error: ") and message in err


def test_a_file_that_is_too_large_is_refused(kit, tmp_path, monkeypatch):
    rest = kit["client_rest"]
    path = tmp_path / "large"
    path.write_bytes(b"12345678")
    monkeypatch.setattr(rest, "FILE_LIMIT", 8)
    assert rest.content_of(str(path)) == b"12345678"
    monkeypatch.setattr(rest, "FILE_LIMIT", 7)
    with pytest.raises(rest.InputError, match="at most 7 bytes"):
        rest.content_of(str(path))


def test_load_needs_a_list_of_files(kit):
    with pytest.raises(SystemExit) as stopped:
        kit["load"].main(["--bytes", "image_bytes"])
    assert stopped.value.code == 2


@pytest.mark.parametrize(
    ("signature", "answer", "wrong"),
    [
        ("serving_default", {"text": None, "score": 0}, "text=None"),
        ("serving_default", {"text": "a", "score": "b"}, "score='b'"),
        ("serving_default", {"text": "a"}, "no score"),
        ("serving_default", {"score": 0}, "no translation"),
        ("read_nbest", {"texts": ["a"], "scores": []}, "1 texts with 0 scores"),
        ("transcribe_nbest", {"texts": "a", "scores": [0]}, "texts='a'"),
        ("read_with_alignment", {"text": "a"}, "no source_tokens"),
    ],
)
def test_an_answer_of_another_form_is_refused(kit, signature, answer, wrong):
    rest = kit["client_rest"]
    with pytest.raises(rest.ServerError, match="Received: ") as refused:
        rest.checked(signature, 1, [answer], "a server")
    assert f"Received: {wrong} in answer 1" in str(refused.value)
