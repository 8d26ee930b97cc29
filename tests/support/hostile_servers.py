"""Misbehaving model servers, for tests of the clients in `export`."""

import contextlib
import gzip
import itertools
import json
import socket
import struct
import threading
import time

GOOD = {"translation": "eins", "score": -0.5}
ESCAPE = "\x1b[2J\x1b]0;title\x07"


def answer(body, status="200 OK", **headers):
    """Return the bytes of an HTTP response; `headers` override the default headers."""
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    headers = {"Content_Length": len(body), **headers}
    lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items()]
    return f"HTTP/1.1 {status}\r\n{''.join(lines)}\r\n".encode() + body


def predictions(*rows):
    return answer({"predictions": list(rows)})


def with_score(text):
    """Return a response with `text` as its score."""
    return answer(b'{"predictions": [{"translation": "eins", "score": %s}]}' % text.encode())


def slowly(data):
    """Yield one byte at a time, each soon enough that a client's read timeout doesn't expire."""
    for byte in data:
        yield bytes([byte])
        time.sleep(0.05)


def endlessly(first, part):
    return itertools.chain([first], itertools.repeat(part))


ANSWERS = {  # bytes, or a function that returns parts of them
    "closes at once": b"",
    "never answers": lambda: [time.sleep(1.5)],
    "is no HTTP": b"SSH-2.0-OpenSSH_9.9\r\n",
    "is binary": bytes(range(256)),
    "has no such status": b"HTTP/1.1 99999 \xff\r\n\r\n",
    "drips its status": lambda: slowly(b"HTTP/1.1 200 OK"),
    "drips its headers": lambda: slowly(answer(GOOD)),
    "drips its body": lambda: itertools.chain([answer(b"", Content_Length=99)], slowly(b"x" * 99)),
    "sends a body without end": lambda: endlessly(b"HTTP/1.1 200 OK\r\n\r\n", b" " * 2**16),
    "sends headers without end": lambda: endlessly(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 9),
    "sends one long header": lambda: endlessly(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 2**16),
    "says continue without end": lambda: endlessly(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "sends chunks without end": lambda: endlessly(
        answer(b"", Transfer_Encoding="chunked"), b"10\r\n" + b" " * 16 + b"\r\n"
    ),
    "sends no chunk": answer(b"zz\r\n", Transfer_Encoding="chunked"),
    "sends a chunk of -5 bytes": answer(b"-5\r\n[]\r\n0\r\n\r\n", Transfer_Encoding="chunked"),
    "has a huge length": answer({"predictions": [GOOD]}, Content_Length=10**15),
    "has a length too short": answer({"predictions": [GOOD]}, Content_Length=9),
    "has a length too long": answer({"predictions": [GOOD]}, Content_Length=999),
    "sends elsewhere": answer(b"", "302 Found", Location="http://localhost:1/"),
    "has nothing": answer(b"", "204 No Content"),
    "fails with a page": answer(b"<html>\n<h1>500</h1>\n</html>", "500 Internal Server Error"),
    "fails with an error": answer({"error": f"no\n{ESCAPE}"}, "404 Not Found"),
    "fails with a list": answer([1], "400 Bad Request"),
    "fails at length": answer({"error": "x" * 10**6}, "400 Bad Request"),
    "has an empty body": answer(b""),
    "is a page": answer(b"<html></html>"),
    "has half of its JSON": answer(b'{"predictions": [{"transl'),
    "has no UTF-8": answer(b'{"predictions": [{"translation": "\xff", "score": 0}]}'),
    "has JSON too deep": answer(b"[" * 10**5),
    "has predictions too deep": answer(b'{"predictions": ' + b'{"a":' * 10**5),
    "has an integer too long": with_score("9" * 5000),
    "has NaN": with_score("NaN"),
    "has infinity": with_score("-Infinity"),
    "is compressed": answer(gzip.compress(b'{"predictions": []}'), Content_Encoding="gzip"),
    "is a bomb": answer(gzip.compress(b" " * 10**7), Content_Encoding="gzip"),
    "is null": answer(None),
    "is a number": answer(1),
    "is a string": answer("predictions"),
    "is a list": answer([{"predictions": [GOOD]}]),
    "has no predictions": answer({"outputs": [GOOD]}),
    "has null predictions": answer({"predictions": None}),
    "has an object of predictions": answer({"predictions": {"0": GOOD}}),
    "has a string of predictions": answer({"predictions": "x"}),
    "answers no row": predictions(),
    "answers more rows": predictions(GOOD, GOOD),
    "answers null": predictions(None),
    "answers a list": predictions(["eins", -0.5]),
    "answers a string": predictions("eins"),
    "answers another signature": predictions({"ids": [3], "length": 1}),
    "has a number as text": predictions({**GOOD, "translation": 1}),
    "has null as text": predictions({**GOOD, "translation": None}),
    "has a list as text": predictions({**GOOD, "translation": ["eins"]}),
    "has a text as truncated": predictions({**GOOD, "truncated": "no"}),
}
# These look valid at first: only the type or the size of a part is wrong.
ALIGNED = {
    "translation": "eins",
    "source_tokens": ["▁one", "</s>"],
    "source_length": 2,
    "target_tokens": ["▁eins", "</s>"],
    "target_length": 2,
    "alignment": [[1, 0], [0.25, 0.75]],
}
LISTED = {
    **ALIGNED,
    "translations": ["eins", ""],
    "scores": [-0.5, -1e9],
    "target_tokens": [["▁eins", "</s>"], ["", ""]],
    "target_lengths": [2, 0],
    "alignment": [[[1, 0], [0.25, 0.75]], [[0, 0], [0, 0]]],
}
LIST = "translate_nbest_with_alignment"
WRONG = [
    *((LIST, {name: None}) for name in LISTED if name not in ("translation", "target_length")),
    (LIST, {"target_lengths": [2]}),
    (LIST, {"target_lengths": [3, 0]}),
    (LIST, {"target_lengths": [2, -1]}),
    (LIST, {"source_length": 3}),
    (LIST, {"target_tokens": [["▁eins", "</s>"]]}),
    (LIST, {"target_tokens": ["▁eins", ""]}),
    (LIST, {"alignment": [[[1, 0], [0.25, 0.75]]]}),
    (LIST, {"alignment": [[[1, 0]], []]}),
    (LIST, {"token_words": [[0, -1]]}),
    (LIST, {"token_words": [[0], []]}),
    (LIST, {"alignment": [[[1], [0]], []]}),
    ("translate_prefix_with_alignment", {"alignment": [[1, 0], [0.25, 0.75]]}),
    *(("translate_with_alignment", {name: None}) for name in ALIGNED),
    ("translate_with_alignment", {"source_length": 3}),
    ("translate_with_alignment", {"target_length": 3}),
    ("translate_with_alignment", {"target_length": -1}),
    ("translate_with_alignment", {"target_length": True}),
    ("translate_with_alignment", {"source_length": 2.0}),
    ("translate_with_alignment", {"alignment": [[1, 0]]}),
    ("translate_with_alignment", {"token_words": [0]}),
    ("translate_with_alignment", {"token_words": ["0", "-1"]}),
    ("translate_with_alignment", {"alignment": [[1], [0]]}),
    ("translate_with_alignment", {"alignment": [["1", "0"], ["0", "1"]]}),
    ("translate_with_alignment", {"alignment": [1, 0]}),
    ("translate_with_alignment", {"source_tokens": "ab"}),
    ("translate_with_alignment", {"source_tokens": [1, 2]}),
    ("translate_nbest", {"translations": ["a", "b"], "scores": [0.0]}),
    ("translate_nbest", {"translations": "ab", "scores": [0.0, 1.0]}),
    ("translate_nbest", {"translations": ["a"], "scores": ["0.5"]}),
    ("translate_nbest", {"translations": ["a"], "scores": [10**400]}),
    ("translate_nbest", {"translations": ["a"]}),
    ("translate_prefix", {"translations": ["a", "b"], "scores": [0.0]}),
    ("decode_ids", {"ids": [5], "length": 2}),
    ("decode_ids", {"ids": [5.5], "length": 1}),
    ("decode_ids", {"ids": "5", "length": 1}),
    ("score_pair", {"score": "0", "length": 1}),
    ("score_pair", {"score": float("nan"), "length": 1}),
    ("score_pair", {"score": 0.0, "length": 2**31}),
]


@contextlib.contextmanager
def hostile_server(reply):
    """Yield the port of a server that sends `reply` to every request and closes the connection."""
    with socket.create_server(("localhost", 0)) as listening:
        threading.Thread(target=_serve, args=(listening, reply), daemon=True).start()
        yield listening.getsockname()[1]


def _serve(listening, reply):
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:  # the test has ended
            return
        with connection, contextlib.suppress(OSError):
            if reply:
                _read_request(connection)
            for part in reply() if callable(reply) else [reply]:
                connection.sendall(part or b"")
            if not reply:  # resets the connection instead of closing it
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


def _read_request(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(2**16)
    headers, _, body = data.partition(b"\r\n\r\n")
    lines = headers.lower().split(b"\r\n")
    lengths = [int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length")]
    while len(body) < sum(lengths):
        body += connection.recv(2**16)
