"""Both clients, with a real artefact, against the test double of TensorFlow's model server.

The double runs with the flags in the kit's Dockerfile and with the kit's configuration files. The
expected values are the answers of the artefact in a clean process.
"""

import concurrent.futures
import functools
import io
import json
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import text_format
from serving_double import configuration
from serving_double.kit import CLIENTS, CONFIGURATIONS, KIT, programs, served

from keras_bahdanau.exporters import run_in_clean_process
from keras_bahdanau.text.alignments import format_pharaoh, word_links

TEXT = ["one two", "three five four", "", "five", 'q"\\ \t ☃ 👩‍👩‍👧', "two " * 30, " "]
LINES = {
    "serving_default": TEXT,
    "translate_with_alignment": TEXT,
    "translate_nbest": TEXT,
    "decode_ids": ["5 6 7 3", "4", "", "9999 -1 3", "6 3"],
    "score_pair": ["one two\teins zwei", "one\tfünf", "\t", "three five four\tdrei vier"],
}
LENGTHS = {  # lengths, by output, of the padded axes other than the batch
    "source_tokens": ["source_length"],
    "alignment": ["target_length", "source_length"],
    "ids": ["length"],
}
OF_TOKENS = ("token_log_probs", "token_entropies", "token_words")  # as long as the ids or tokens
TOLERANCE = {
    "alignment": 1e-5,
    **dict.fromkeys(("score", "scores", "confidence", "confidences", *OF_TOKENS), 1e-4),
}


@pytest.fixture(scope="module")
def kit():
    """The kit's modules by name."""
    with programs() as modules:
        yield modules


@pytest.fixture(scope="module")
def model(toy_saved_model):
    """The directory of an exported model with one version."""
    return toy_saved_model.parent


@pytest.fixture(scope="module")
def ports(model, tmp_path_factory):
    """The ports of a double that serves the model as in the Dockerfile."""
    with served(model, tmp_path_factory.mktemp("config")) as ports:
        yield ports


@pytest.fixture(scope="module")
def offline(kit, model):
    """Function that returns a signature's answers to its lines, from a clean process."""

    @functools.cache
    def answers(name):
        columns = _columns(kit["client_rest"].to_rows(name, LINES[name]))
        (answer,) = run_in_clean_process(model / "1", [(name, columns)])
        return _rows(answer)

    return answers


@pytest.fixture(params=CLIENTS)
def client(request, kit, ports):
    """Function that runs one of the clients and returns its exit code."""
    server = CLIENTS[request.param].format(**ports)
    return lambda *arguments: kit[request.param].main(["--server", server, *arguments])


def _columns(rows):
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return {
        name: np.array(column, object if isinstance(np.ravel(column)[0], str) else np.int32)
        for name, column in columns.items()
    }


def _rows(columns):
    decode = np.frompyfunc(lambda text: text.decode(), 1, 1)
    lists = {
        name: (decode(column) if column.dtype == object else column).tolist()
        for name, column in columns.items()
    }
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def _cut(value, lengths):
    if not lengths:
        return value
    return [_cut(item, lengths[1:]) for item in value[: lengths[0]]]


def assert_same(answer, expected):
    """Assert equal texts, ids and lengths, and nearly equal floats, ignoring padding."""
    assert answer.keys() == expected.keys()
    of_tokens = ["target_length" if "target_length" in expected else "length"]
    lengths = {**LENGTHS, **dict.fromkeys(("target_tokens", *OF_TOKENS), of_tokens)}
    for name in expected:
        one, other = (
            _cut(row[name], [row[length] for length in lengths.get(name, [])])
            for row in (answer, expected)
        )
        if name in TOLERANCE:
            np.testing.assert_allclose(one, other, rtol=0, atol=TOLERANCE[name], err_msg=name)
        else:
            assert one == other, name


def get(ports, path, body=None):
    """Return the status and the JSON answer of the REST port."""
    url = f"http://localhost:{ports['rest']}{path}"
    try:
        with urllib.request.urlopen(url, body) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def line_of(signature, answer, number):
    """Return the text that a client prints, built with the library's functions."""
    match signature:
        case "serving_default":
            return answer["translation"]
        case "translate_nbest":
            best = [*zip(answer["translations"], answer["scores"], strict=True)]
            best = best[:1] + [one for one in best[1:] if one[1] > -1e8]  # without the empty places
            return "\n".join(f"{number} ||| {text} ||| {score:.4f}" for text, score in best)
        case "decode_ids":
            return " ".join(str(number) for number in answer["ids"][: answer["length"]])
        case "score_pair":
            return f"{answer['score']:.4f} ||| {answer['length']}"
    targets, sources = answer["target_length"], answer["source_length"]
    links = word_links(
        answer["source_tokens"][:sources],
        answer["target_tokens"][:targets],
        np.array(answer["alignment"])[:targets, :sources],
    )
    return f"{answer['translation']} ||| {format_pharaoh(links)}"


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_configuration_is_what_the_server_reads(name):
    assert configuration.read(KIT / name, CONFIGURATIONS[name]).ByteSize()


def test_a_misspelt_configuration_is_an_error():
    with pytest.raises(text_format.ParseError, match="max_batch_sizes"):
        text_format.Parse("max_batch_sizes { value: 1 }", configuration.BatchingParameters())


def test_the_version_brings_its_own_batching(model):
    own = configuration.read(
        model / "1" / "batching_params.pbtxt", configuration.BatchingParameters
    )
    assert own.max_batch_size.value >= 32  # the number of rows in a client's request
    # With padding, requests of different rank would crash the server.
    assert not own.pad_variable_length_inputs
    assert not own.HasField("enable_large_batch_splitting")  # the parts would differ in width


@pytest.mark.slow
def test_both_labels_are_served_from_the_start(ports):
    for label in ("stable", "canary"):
        status, answer = get(ports, f"/v1/models/translator/labels/{label}/metadata")
        assert (status, answer["model_spec"]["version"]) == (200, "1")


def test_the_probes_ask_for_what_there_is(ports):
    manifest = (KIT / "kubernetes" / "deployment.yaml").read_text(encoding="utf-8")
    paths = re.findall(r"path: (/v1/\S+)", manifest)
    # The startup, readiness and liveness probes all use REST.
    assert len(paths) == 3 and "tcpSocket" not in manifest
    assert [get(ports, path)[0] for path in set(paths)] == [200, 200]


def test_the_health_check_runs_where_there_is_only_bash(ports):
    compose = (KIT / "compose.yaml").read_text(encoding="utf-8")
    folded = re.search(r">-\n(.*?)\n      interval", compose, re.DOTALL)[1]
    command = re.sub(r"\s*\n\s*", " ", folded.strip())
    for port, code in ((ports["rest"], 0), (_free_port(), 1)):
        here = command.replace("/8501", f"/{port}")
        assert subprocess.run(["bash", "-c", here], stderr=subprocess.DEVNULL).returncode == code


def test_the_status_is_told(ports):
    status, answer = get(ports, "/v1/models/translator")
    ok = {"error_code": "OK", "error_message": ""}
    assert status == 200
    assert answer == {
        "model_version_status": [{"version": "1", "state": "AVAILABLE", "status": ok}]
    }


def test_the_metadata_has_every_signature(ports):
    import grpc
    from tensorflow_serving.apis import get_model_metadata_pb2, prediction_service_pb2_grpc

    _, answer = get(ports, "/v1/models/translator/metadata")
    signatures = answer["metadata"]["signature_def"]["signature_def"]
    assert set(LINES) <= set(signatures)
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = "translator"
    with grpc.insecure_channel(f"localhost:{ports['grpc']}") as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        response = stub.GetModelMetadata(request)
    told = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(told)
    assert set(told.signature_def) == set(signatures)


@pytest.mark.slow
def test_the_warm_up_is_answered(ports, model):
    import grpc
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2, prediction_service_pb2_grpc

    file = model / "1" / "assets.extra" / "tf_serving_warmup_requests"
    requests = [
        prediction_log_pb2.PredictionLog.FromString(record.numpy()).predict_log.request
        for record in tf.data.TFRecordDataset(str(file))
    ]
    assert {request.model_spec.signature_name for request in requests} == set(LINES)
    with grpc.insecure_channel(f"localhost:{ports['grpc']}") as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        for request in requests:
            assert stub.Predict(request).outputs


@pytest.mark.few(1)
@pytest.mark.parametrize("signature", LINES)
def test_a_client_prints_what_the_model_answers(client, offline, signature, tmp_path, capsys):
    file = tmp_path / "lines"
    file.write_text("".join(line + "\n" for line in LINES[signature]), encoding="utf-8")
    flags = ["--signature", signature, "--file", str(file), "--batch", "3"]
    assert client(*flags) == 0
    expected = [
        line_of(signature, answer, number) for number, answer in enumerate(offline(signature))
    ]
    assert capsys.readouterr().out == "".join(line + "\n" for line in expected)
    assert client(*flags, "--json") == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for answer, wanted in zip(answers, offline(signature), strict=True):
        assert_same(answer, wanted)


def test_a_client_takes_sentences_from_anywhere(client, monkeypatch, capsys):
    assert client("one two", "five", "--label", "canary") == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"one two\r\nfive"), "ascii"))
    assert client("--version", "1") == 0
    assert client("one two", "--label", "canary", "--", "five") == 0
    assert capsys.readouterr().out == "eins zwei\nfünf\n" * 3


def test_a_sentence_may_look_like_an_option(kit):
    options = kit["client_rest"].parse("", "localhost:1", ["--json", "--", "-x", "--nbest"])
    assert (options.text, options.json, options.nbest) == (["-x", "--nbest"], True, False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "nobody"], "Servable not found for request: Latest(nobody)"),
        (["--version", "7"], "Servable not found for request: Specific(translator, 7)"),
        (["--label", "newest"], "Unrecognized servable version label: newest"),
        (["--signature", "translate"], "not found"),
        (["--batch", "65", *["one"] * 65], "Task size 65 is larger than maximum input batch size"),
    ],
)
def test_a_client_says_why_it_is_refused(client, capsys, arguments, message):
    assert client("one", *arguments) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("error: The server must ") and message in err


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_says_that_there_is_no_server(kit, capsys, name):
    server = CLIENTS[name].format(rest=_free_port(), grpc=_free_port())
    assert kit[name].main(["one", "--server", server]) == 1
    assert "error: The server must " in (said := capsys.readouterr().err)
    assert server in said


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_waits_no_longer_than_it_was_told(kit, capsys, name):
    with socket.create_server(("localhost", 0)) as silent:
        port = silent.getsockname()[1]
        server = CLIENTS[name].format(rest=port, grpc=port)
        assert kit[name].main(["one", "--server", server, "--timeout", "0.2"]) == 1
    said = capsys.readouterr().err
    assert "no answer in 0.2 s" in said or "DEADLINE_EXCEEDED" in said


def test_rest_takes_nothing_but_a_url(kit, capsys):
    assert kit["client_rest"].main(["one", "--server", "localhost:8501"]) == 2
    assert "must be a URL such as http://localhost:8501" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--signature", "decode_ids", "5 six"], "must consist of 32-bit ids"),
        (["--signature", "score_pair", "one"], "must consist of a source and a target"),
        (["--file", "no/such/file"], "No such file or directory"),
        (["--file", ""], "No such file or directory"),
        (["--file", str(Path(sys.executable).resolve())], "must be UTF-8. Received: line 1"),
    ],
)
def test_a_client_says_what_is_wrong_with_its_input(client, capsys, arguments, message):
    assert client(*arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        *(["--batch", "0"], ["--timeout", "x"], ["--file", "f", "one"]),
        ["--nbest", "--signature", "score_pair"],
        *(["caf\udce9"], ["--", "caf\udce9"], ["--prefix", "\udce9", "one"]),
    ],
)
def test_a_wrong_command_line_ends_with_2(client, arguments):
    with pytest.raises(SystemExit) as stopped:
        client(*arguments)
    assert stopped.value.code == 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "JSON Parse error"),
        (b"[]", "Is not object"),
        (b'{"instances": ["one"], "inputs": ["one"]}', "only one of"),
        (b'{"instances": [1]}', "not of expected type"),
        (b'{"signature_name": "score_pair", "instances": [{"text": "a"}]}', "keys must be equal"),
    ],
)
def test_a_malformed_request_is_refused(ports, body, message):
    status, answer = get(ports, "/v1/models/translator:predict", body)
    assert status == 400
    assert message in answer["error"]


@pytest.mark.parametrize("path", ["/v1/models/nobody", "/v1/models/nobody/metadata"])
def test_an_unknown_model_is_not_found(ports, path):
    status, answer = get(ports, path)
    assert status == 404
    assert "nobody" in answer["error"]


@pytest.mark.slow
def test_many_clients_at_once_get_their_own_answers(kit, ports, offline):
    rest, grpc = (
        kit[name].from_options(kit["client_rest"].parse("", CLIENTS[name].format(**ports), []))
        for name in CLIENTS
    )
    rows = {name: kit["client_rest"].to_rows(name, lines) for name, lines in LINES.items()}
    asked = [
        (server, name, row, expected)
        for server in (rest, grpc)
        for name in LINES
        for row, expected in zip(rows[name], offline(name), strict=True)
    ] * 3
    before = _merged(ports)
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda task: task[0].predict(task[1], [task[2]]), asked))
    for (answer,), (*_, expected) in zip(answers, asked, strict=True):
        assert_same(answer, expected)
    assert _merged(ports) > before
    grpc.close()


@pytest.mark.parametrize(("size", "width"), [(0, 512), (512, 512), (513, 1024)])
def test_rows_of_ids_have_one_width_whatever_they_hold(kit, size, width):
    (row,) = kit["client_rest"].to_rows("decode_ids", ["5 " * size])
    assert (len(row["source"]), row["source_length"]) == (width, size)


@pytest.mark.slow
def test_ids_of_any_width_can_share_a_batch(kit, ports, offline):
    server = kit["client_rest"].RestServer(f"http://localhost:{ports['rest']}", "translator")
    rows = [kit["client_rest"].to_rows("decode_ids", [line])[0] for line in LINES["decode_ids"]]
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda row: server.predict("decode_ids", [row]), rows * 4))
    for (answer,), expected in zip(answers, offline("decode_ids") * 4, strict=True):
        assert_same(answer, expected)


@pytest.mark.slow
def test_load_is_measured(kit, ports, tmp_path, capsys):
    file = tmp_path / "lines"
    file.write_text("one two\nfive\n", encoding="utf-8")
    server = f"http://localhost:{ports['rest']}"
    flags = ["--server", server, "--clients", "4", "--seconds", "0.5"]
    assert kit["load"].main([*flags, "--file", str(file)]) == 0
    measured = json.loads(capsys.readouterr().out)
    assert measured["failures"] == 0
    assert measured["requests"] >= 4
    assert 0 < measured["p50_ms"] <= measured["p95_ms"] <= measured["p99_ms"]
    assert kit["load"].main([*flags, "--model", "nobody"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["failures"] >= 4
    assert "Latest(nobody)" in err


@pytest.mark.parametrize("host", ["192.0.2.1", "[2001:db8::1]", "host.invalid"])
def test_load_asks_this_machine_only(kit, capsys, host):
    with pytest.raises(SystemExit) as stopped:
        kit["load"].main(["--server", f"http://{host}:8501"])
    assert stopped.value.code == 2
    assert "--i-own-this-server" in capsys.readouterr().err


@pytest.mark.parametrize(("percent", "value"), [(50, 2), (75, 3), (95, 4), (99, 4), (1, 1)])
def test_percentiles_are_values_that_were_measured(kit, percent, value):
    assert kit["load"].percentile([4, 2, 1, 3], percent) == value


@pytest.mark.slow
@pytest.mark.parametrize("signature", ["serving_default", "translate_with_alignment"])
def test_200_clients_for_30_seconds_get_their_own_answers(kit, ports, offline, signature):
    rest = kit["client_rest"]
    rows = rest.to_rows(signature, LINES[signature])
    expected = {row["text"]: answer for row, answer in zip(rows, offline(signature), strict=True)}

    class Checked(rest.RestServer):
        def predict(self, signature, rows, connection=None):
            (answer,) = super().predict(signature, rows, connection)
            try:
                assert_same(answer, expected[rows[0]["text"]])
            except AssertionError as error:
                raise rest.ServerError(f"another answer to {rows}: {error}") from error

    server = Checked(f"http://localhost:{ports['rest']}", "translator")
    start = time.monotonic()
    latencies, failures = kit["load"].load(server, rows, 200, 30, signature)
    print(kit["load"].report(latencies, failures, time.monotonic() - start), _sizes(ports))
    assert failures == []
    assert len(latencies) >= 200


@pytest.mark.slow
def test_the_commands_of_the_readme_run(ports, tmp_path):
    readme = (KIT / "README.md").read_text(encoding="utf-8")
    lines = "".join(re.findall(r"```sh\n(.*?)```", readme, re.DOTALL)).splitlines()
    commands = [line for line in lines if re.search(r"\b(client_rest|client_grpc|load)\.py", line)]
    commands += [line for line in lines if "curl" in line and "/monitoring/" not in line]
    (tmp_path / "export").symlink_to(KIT.parent)
    (tmp_path / "sentences.txt").write_text("one two\nfive\n", encoding="utf-8")
    rest = f"http://localhost:{ports['rest']}"
    servers = {
        "client_rest.py": f"client_rest.py --server {rest}",
        "client_grpc.py": f"client_grpc.py --server localhost:{ports['grpc']}",
        "load.py": f"load.py --server {rest}",
        "curl": "curl --fail",
        "localhost:8501": f"localhost:{ports['rest']}",
        "localhost:8080": f"localhost:{ports['rest']}",  # the address of the gateway
        "python ": f"{sys.executable} ",
    }
    # Without the commands for models that read files.
    commands = [line for line in commands if "_bytes" not in line]
    assert len(commands) > 10
    for command in commands:
        for written, here in servers.items():
            command = command.replace(written, here)
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True
        )
        assert done.returncode == 0, (command, done.stderr.decode())


def _sizes(ports):
    """Return, by signature, the number of batches of each size that have run."""
    return get(ports, "/serving_double/batches")[1]["translator"]["1"]


def _merged(ports):
    """Return the number of batches with more than one row."""
    counts = [count for sizes in _sizes(ports).values() for count in sizes.items()]
    return sum(count for size, count in counts if size != "1")


def _free_port():
    with socket.create_server(("localhost", 0)) as listening:
        return listening.getsockname()[1]
