"""The client and the load generator for TensorFlow Serving against a hostile server.

These are only a few answers, a line each: the tests of `export/tf_serving` have a hostile server
with answers of all kinds.
"""

import contextlib
import json
import socket
import threading

from fuzz.attack import attack, judged, nothing

GOOD = {"predictions": [{"translation": "eins", "score": -1.0}]}


def http(body, status="200 OK", length=None):
    """Return the bytes of a response whose body is bytes or an object to convert to JSON."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    size = len(body) if length is None else length
    header = f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n"
    return header.encode() + body


ANSWERS = {
    "closed at once": b"",
    "no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
    "half a header": b"HTTP/1.1 200 OK\r\nContent-Le",
    "fewer bytes than promised": http(GOOD, length=4096),
    "100 GB promised": http(GOOD, length=10**11),
    "HTML": http(b"<html>nothing here</html>"),
    "an error of HTML": http(b"<html>\n<h1>500</h1>\n</html>", "500 Internal Server Error"),
    "an empty body": http(b""),
    "half of a JSON": http(json.dumps(GOOD).encode()[:20]),
    "a list": http([1]),
    "a number": http(7),
    "null": http(None),
    "a deep list": http(b"[" * 100_000),
    "no predictions": http({}),
    "predictions: null": http({"predictions": None}),
    "predictions: a number": http({"predictions": 1}),
    "predictions: a string": http({"predictions": "x"}),
    "no rows": http({"predictions": []}),
    "a row more": http({"predictions": GOOD["predictions"] * 2}),
    "rows of null": http({"predictions": [None]}),
    "rows of strings": http({"predictions": ["eins"]}),
    "rows of other names": http({"predictions": [{"other": "eins"}]}),
    "a translation of null": http({"predictions": [{"translation": None, "score": 0}]}),
    "a translation that is a list": http({"predictions": [{"translation": ["x"], "score": 0}]}),
    "no UTF-8": http(b'{"predictions": [{"translation": "\xff", "score": 0}]}'),
    "an error that is a list": http({"error": [1, {"x": 2}]}, "400 Bad Request"),
    "a redirect": http({}, "302 Found\r\nLocation: http://127.0.0.1:9/"),
}
SHOWN = {  # text that must be printed safely on one line
    "control characters": http({"predictions": [{"translation": "\x1b[2J\x07a\r\nb", "score": 0}]}),
    "a lone surrogate": http(b'{"predictions": [{"translation": "\\ud800", "score": 0}]}'),
}


@contextlib.contextmanager
def server(content, endless=False):
    """Yield the address of a server that answers each request with the given bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_answer, args=(listener, content, endless), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def _answer(listener, content, endless):
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(2**16)
                connection.sendall(content)
                while endless:
                    connection.sendall(bytes(2**20))


def asked(world, program, address, *arguments):
    """Run a program in `export/tf_serving` with a server; return its `Answer`."""
    return world.light.call(
        *("fuzz.targets:client", program, "--server", address, "--timeout", "3", *arguments),
        directory=world.files,
        seconds=20,
        memory=2**30,
        patience=25,
    )


@attack(7, "client_rest.py: a server that lies", full=40, few=10)
def hostile_answers(world, count):
    for name, content in list(ANSWERS.items())[:count]:
        with server(content) as address:
            yield judged(name, asked(world, "client_rest.py", address, "one"), nothing)
    for name, content in SHOWN.items():
        with server(content) as address:
            answer = asked(world, "client_rest.py", address, "one")
        yield judged(name, answer, _is_shown)


def _is_shown(answer):
    """Return whether the output is one line of UTF-8 without control characters."""
    return answer.out.decode("utf-8").strip("\n").isprintable() and answer.out.endswith(b"\n")


@attack(7, "client_rest.py: an endless answer", full=1)
def endless_answers(world, count):
    header = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n"
    with server(header, endless=True) as address:
        yield judged("zeros without end", asked(world, "client_rest.py", address, "one"), nothing)


@attack(7, "load.py: no server, or one that lies", full=8)
def load_generator(world, count):
    short = ("--clients", "2", "--seconds", "1")
    names = ("closed at once", "null", "no rows", "a row more", "a deep list")
    for name in names[:count]:
        with server(ANSWERS[name]) as address:
            yield _load_case(name, asked(world, "load.py", address, *short))
    for address in ("http://127.0.0.1:1", "http://127.0.0.1:port", "http://127.0.0.1:99999"):
        yield _load_case(address, asked(world, "load.py", address, *short))


def _load_case(name, answer):
    """Return the `Case` for a run of load.py, which prints figures and up to three errors.

    If it only prints errors and its exit code isn't 0, the run counts as refused.
    """
    errors = [line for line in answer.err.splitlines() if line]
    if answer.code and errors and all(line.startswith("error: ") for line in errors):
        answer = answer._replace(err=errors[-1])
    return judged(name, answer, nothing)
