"""nginx, configured as in the kit, forwards only valid requests to the server."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from serving_double.kit import KIT, served

MODULE = Path("/usr/lib/nginx/modules/ngx_http_js_module.so")
MODEL = "/v1/models/translator"
PREDICT = f"{MODEL}:predict"
PAIR = {"text": "five", "target": "fünf"}
IDS = {"source": [5, 6, 7, 3], "source_length": 4}


def body_of(signature=None, **rows):
    return {**({} if signature is None else {"signature_name": signature}), **rows}


GOOD = {
    "a row": body_of(instances=[{"text": "one two"}]),
    "two rows": body_of(instances=[{"text": "five"}, {"text": 'q"\\ \t ☃ 👩‍👩‍👧 \u0000'}]),
    "64 rows of 16 kB": body_of(instances=[{"text": "two " * 4000}] * 64),
    "a bare row": body_of(instances=["five"]),
    "an empty text": body_of(instances=[{"text": ""}]),
    "base64": body_of(instances=[{"text": {"b64": "Zml2ZQ=="}}]),
    "a column": body_of(inputs={"text": ["five", "one two"]}),
    "a bare column": body_of(inputs=["five"]),
    "a signature without a name": body_of("", instances=["five"]),
    "alignments": body_of("translate_with_alignment", instances=[{"text": "five"}]),
    "a list": body_of("translate_nbest", instances=[{"text": "five"}]),
    "pairs": body_of("score_pair", instances=[PAIR, PAIR]),
    "pairs by columns": body_of("score_pair", inputs={"text": ["five"], "target": ["fünf"]}),
    "ids": body_of("decode_ids", instances=[IDS]),
    "ids outside of the vocabulary": body_of("decode_ids", instances=[{**IDS, "source": [-7] * 4}]),
    "an unknown signature": body_of("translate", instances=["five"]),
}
ATTACKS = {
    "no rows": body_of(inputs={"text": []}),
    "no bare rows": body_of(inputs=[]),
    "no instances": body_of(instances=[]),
    "no pairs": body_of("score_pair", inputs={"text": [], "target": []}),
    "no ids": body_of("decode_ids", inputs={"source": [], "source_length": []}),
    "no column, twice": b'{"inputs": {"text": [], "text": []}}',
    "65 rows": body_of(instances=["five"] * 65),
    "a text in a list": body_of(inputs={"text": [["x"]]}),
    "a row that is a list": body_of(instances=[["five"]]),
    "a row whose text is a list": body_of(instances=[{"text": ["five"]}]),
    "ids in a list too deep": body_of("decode_ids", instances=[{**IDS, "source": [[5, 3]]}]),
    "ids by columns, too deep": body_of(
        "decode_ids", inputs={"source": [[[5]]], "source_length": [1]}
    ),
    "ids that are one number": body_of("decode_ids", instances=[{**IDS, "source": 5}]),
    "ids without a column": body_of("decode_ids", instances=[{"source": [], "source_length": 0}]),
    "a length that is a list": body_of("decode_ids", instances=[{**IDS, "source_length": [4]}]),
    "rows of other names": body_of(instances=[{"text": "a"}, {"x": "b"}]),
    "a further input": body_of(instances=[{"text": "a", "constructor": "b"}]),
    "a row that is null": body_of(instances=[None]),
    "a number": body_of(instances=[{"text": 1}]),
    "rows and columns": body_of(instances=["a"], inputs=["a"]),
    "neither": {},
    "an unknown key": body_of(instances=["a"], context=[]),
    "a signature that is a number": body_of(1, instances=["a"]),
    "30,000 levels": b'{"instances": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
    "30,000 levels without an end": b'{"instances": ' + b"[" * 30_000,
    "100,000 objects": b'{"a":' * 100_000,
    "40 levels": b'{"instances": ' + b"[" * 40 + b"]" * 40 + b"}",
    "an empty body": b"",
    "half a JSON": b'{"instances": ["five"',
    "garbage behind the object": b'{"instances": ["five"]} garbage',
    "no object": b"[1]",
    "null": b"null",
    "no UTF-8": b'{"instances": ["\xff"]}',
    "3 MB": body_of(instances=["x" * 3_000_000]),
}


def free_port():
    with socket.create_server(("localhost", 0)) as listening:
        return listening.getsockname()[1]


@contextlib.contextmanager
def gateway(server, place):
    """Yield the port of an nginx gateway for the REST port of a server."""
    port, text = free_port(), (KIT / "nginx.conf").read_text(encoding="utf-8")
    files = "".join(
        f"{name}_temp_path {place}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    here = {
        "http {\n": f"http {{\naccess_log off;\n{files}",
        "/etc/nginx/;": f"{KIT}/;",
        "listen 8080": f"listen 127.0.0.1:{port}",
        "127.0.0.1:8501": f"127.0.0.1:{server}",
        "worker_processes auto": "worker_processes 1",
    }
    for written, meant in here.items():
        assert written in text
        text = text.replace(written, meant)
    (place / "nginx.conf").write_text(text, encoding="utf-8")
    settings = f"daemon off; pid {place}/pid; error_log {place}/errors;"
    settings += " user root;" if os.geteuid() == 0 else ""
    command = ["nginx", "-p", str(place), "-c", str(place / "nginx.conf"), "-g", settings]
    subprocess.run([*command, "-t"], check=True)
    with subprocess.Popen(command) as process:
        try:
            for _ in range(100):
                with contextlib.suppress(OSError):
                    socket.create_connection(("localhost", port)).close()
                    break
                time.sleep(0.05)
            yield port
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def ports(toy_saved_model, tmp_path_factory):
    """The ports of the double and of its gateway."""
    if shutil.which("nginx") is None or not MODULE.exists():
        pytest.skip("nginx with its JavaScript module: apt-get install nginx libnginx-mod-http-js")
    with served(toy_saved_model.parent, tmp_path_factory.mktemp("config")) as ports:
        with gateway(ports["rest"], tmp_path_factory.mktemp("nginx")) as port:
            yield ports["rest"], port


def ask(port, body=b"", path=PREDICT, method="POST", headers=None, timeout=20):
    """Send a request; return the status and content of the response."""
    connection = http.client.HTTPConnection("localhost", port, timeout=timeout)
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the body is too large
            connection.request(method, path, content, headers or {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", GOOD)
def test_a_good_request_gets_the_answer_of_the_server(ports, name):
    server, port = ports
    assert ask(port, GOOD[name]) == ask(server, GOOD[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_a_bad_request_is_refused_before_the_server(ports, name):
    status, content = ask(ports[1], ATTACKS[name])
    assert 400 <= status < 500, content
    if status == 400:
        error = json.loads(content)["error"]
        assert error.startswith("A request must have a form that the gateway supports. Received: ")
        assert error.count("\n") == 0 and len(error) < 300


@pytest.mark.slow
def test_of_a_name_that_comes_twice_server_and_gateway_count_the_same(ports):
    for body in (
        b'{"instances": [], "instances": ["five"]}',
        b'{"instances": [["x"]], "instances": ["five"]}',
        b'{"instances": [{"text": ["x"], "text": "five"}]}',
    ):
        status, content = ask(ports[1], body)
        assert status == 400 or [*json.loads(content)["predictions"]][0]["translation"] == "fünf"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        *(("GET", path, 200) for path in (MODEL, f"{MODEL}/versions/1", f"{MODEL}/metadata")),
        ("GET", f"{MODEL}/labels/stable/metadata", 200),
        ("POST", f"{MODEL}/labels/stable:predict", 200),
        ("POST", f"{MODEL}/versions/1:predict", 200),
        ("POST", f"{MODEL}/versions/7:predict", 404),
        ("POST", f"{MODEL}/versions/{'9' * 20}:predict", 404),
        ("POST", f"{MODEL}:classify", 404),
        ("POST", f"{PREDICT}?x=1", 400),
        ("POST", MODEL, 405),
        *((method, PREDICT, 405) for method in ("GET", "PUT", "DELETE", "HEAD", "OPTIONS")),
        *(("GET", path, 404) for path in ("/", "/v1/models", "/v2/x", "/serving_double/batches")),
        ("GET", "/monitoring/prometheus/metrics", 404),
        ("GET", f"{MODEL}/../translator", 200),
        ("GET", "/v1/models/%2e%2e/metadata", 404),
    ],
)
def test_only_some_methods_and_paths_reach_the_server(ports, method, path, status):
    body = {"instances": ["five"]} if method == "POST" else b""
    assert ask(ports[1], body, path, method)[0] == status


@pytest.mark.slow
def test_a_compressed_body_is_refused(ports):
    body = json.dumps({"instances": ["five"]}).encode()
    assert ask(ports[1], body, headers={"Content-Encoding": "gzip"})[0] == 200  # uncompressed
    assert ask(ports[1], b"\x1f\x8b\x08" + body, headers={"Content-Encoding": "gzip"})[0] == 400


@pytest.mark.slow
def test_attacks_by_many_clients_leave_the_server_answering(ports):
    bodies = [*ATTACKS.values()] * 4 + [{"instances": ["five"]}] * 40
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        statuses = [status for status, _ in pool.map(lambda body: ask(ports[1], body), bodies)]
    assert set(statuses[-40:]) == {200} and set(statuses[:-40]) <= {400, 413}
    assert ask(ports[0], {"instances": ["five"]})[0] == 200


@pytest.mark.slow
def test_a_thread_of_the_server_is_left_for_its_probes(ports, tmp_path):
    with (
        contextlib.ExitStack() as waiting,
        socket.create_server(("localhost", 0), backlog=200) as silent,
        gateway(silent.getsockname()[1], tmp_path) as port,
    ):
        head = f"GET {MODEL} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        for _ in range(100):
            client = waiting.enter_context(socket.create_connection(("localhost", port)))
            client.sendall(head)
        for _ in range(100):  # those that nginx forwards
            waiting.enter_context(silent.accept()[0])
        assert ask(port, {"instances": ["five"]})[0] == 503


@pytest.mark.slow
def test_a_client_that_sends_no_whole_request_is_cut_off(ports):
    with socket.create_connection(("localhost", ports[1]), timeout=20) as slow:
        slow.sendall(f"POST {PREDICT} HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{{".encode())
        start = time.monotonic()
        answer = slow.recv(2**16)
        assert time.monotonic() - start < 15 and (not answer or b" 408 " in answer)
