"""The double runs from the repository root, as the README of the kit shows."""

import concurrent.futures
import http.client
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from serving_double.kit import served

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "tests.serving_double"]


@pytest.mark.slow
def test_it_answers_without_a_standard_input_until_it_is_terminated(toy_saved_model, tmp_path):
    text = (ROOT / "export" / "tf_serving" / "models.config").read_text(encoding="utf-8")
    config = tmp_path / "models.config"
    config.write_text(text.replace("/models/translator", str(toy_saved_model.parent)), "utf-8")
    flags = ["--port=0", "--rest_api_port=0", f"--model_config_file={config}"]
    with subprocess.Popen(
        [*COMMAND, *flags], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as double:
        ports = json.loads(double.stdout.readline())
        time.sleep(0.5)  # in which an earlier version exited
        url = f"http://localhost:{ports['rest']}/v1/models/translator/labels/stable/metadata"
        assert urllib.request.urlopen(url).status == 200
        double.send_signal(signal.SIGTERM)
        assert double.wait(timeout=30) == 0


@pytest.mark.slow
def test_its_help_describes_each_flag():
    done = subprocess.run([*COMMAND, "--help"], cwd=ROOT, capture_output=True, text=True)
    flags = [part for part in done.stdout.split("options:")[1].split("\n  --") if part][1:]
    assert done.returncode == 0 and len(flags) > 10
    assert [flag for flag in flags if len(flag.split()) < 4] == []


def ask(port, body=None, path="/v1/models/translator:predict", timeout=2):
    """Return the status of the response, or None after `timeout` seconds.

    Raises:
        OSError: If there is no server.
    """
    connection = http.client.HTTPConnection("localhost", port, timeout=timeout)
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        connection.connect()
        connection.request("GET" if body is None else "POST", path, content)
        return connection.getresponse().status
    except TimeoutError:
        return None
    except http.client.RemoteDisconnected as error:
        raise ConnectionResetError from error
    finally:
        connection.close()


def is_alive(port):
    """Return whether a server still accepts connections after about a second."""
    for _ in range(20):
        try:
            socket.create_connection(("localhost", port)).close()
        except OSError:
            return False
        time.sleep(0.05)
    return True


STATUS = "/v1/models/translator"
TEXT = {"instances": ["five"]}
NO_ROWS = {"inputs": {"text": []}}


@pytest.mark.slow
def test_requests_without_rows_block_all_threads_until_one_with_rows_comes(
    toy_saved_model, tmp_path
):
    with served(toy_saved_model.parent, tmp_path, ["--rest_api_num_threads=2"]) as ports:
        rest = ports["rest"]
        assert ask(rest, NO_ROWS, timeout=0.5) is None  # and its thread stays blocked
        assert ask(rest, path=STATUS) == 200
        assert ask(rest, NO_ROWS, timeout=0.5) is None
        assert ask(rest, path=STATUS, timeout=0.5) is None
        assert ask(rest, TEXT, timeout=0.5) is None


@pytest.mark.slow
def test_a_request_without_rows_is_answered_with_the_next(toy_saved_model, tmp_path):
    with served(toy_saved_model.parent, tmp_path) as ports:
        pool = concurrent.futures.ThreadPoolExecutor(1)
        parked = pool.submit(ask, ports["rest"], NO_ROWS, timeout=30)
        with pytest.raises(concurrent.futures.TimeoutError):
            parked.result(timeout=0.5)
        assert ask(ports["rest"], TEXT, timeout=30) == 200
        assert parked.result(timeout=5) == 200


@pytest.mark.slow
@pytest.mark.parametrize("levels", [30_000, 100_000])
def test_lists_nested_too_deep_end_the_server(toy_saved_model, tmp_path, levels):
    with served(toy_saved_model.parent, tmp_path) as ports:
        with pytest.raises(OSError):
            ask(ports["rest"], b'{"instances": ' + b"[" * levels + b"]" * levels + b"}")
        assert not is_alive(ports["rest"])


def together(port, bodies):
    """Send requests at the same time; return their statuses, or errors if disconnected."""
    pool = concurrent.futures.ThreadPoolExecutor(len(bodies))
    calls = [pool.submit(ask, port, body, timeout=30) for body in bodies]
    return [call.exception() or call.result() for call in calls]


RANKS = [
    ({"instances": ["five"]}, {"inputs": {"text": [["x"]]}}),
    (
        {"signature_name": "score_pair", "instances": [{"text": "a", "target": "b"}]},
        {"signature_name": "score_pair", "inputs": {"text": [["a"]], "target": [["b"]]}},
    ),
    (
        {"signature_name": "decode_ids", "inputs": {"source": [[5, 3]], "source_length": [2]}},
        {"signature_name": "decode_ids", "inputs": {"source": [[[17, 3]]], "source_length": [2]}},
    ),
]


@pytest.mark.slow
def test_requests_of_different_rank_leave_a_server_of_texts_alive(toy_saved_model, tmp_path):
    with served(toy_saved_model.parent, tmp_path) as ports:
        for pair in [*RANKS, *(pair[::-1] for pair in RANKS)] * 3:
            assert together(ports["rest"], pair) in ([400, 400], [200, 400], [400, 200])
        assert ask(ports["rest"], TEXT, timeout=30) == 200


@pytest.mark.slow
def test_requests_of_different_rank_end_a_server_of_ids(toy_ids_model, tmp_path):
    ids = [{key: body[key] for key in ("inputs",)} for body in RANKS[2]]
    with served(toy_ids_model.parent, tmp_path) as ports:
        for _ in range(10):
            if any(isinstance(answer, OSError) for answer in together(ports["rest"], ids)):
                break
        assert not is_alive(ports["rest"])
