"""The REST interface: predict, status and metadata."""

import http.server
import json
import re
import threading
import urllib.parse

from google.protobuf import json_format

from serving_double.errors import Refused
from serving_double.json_tensors import invalid, to_columns, to_inputs, to_rows
from serving_double.messages import get_model_metadata_pb2, get_model_status_pb2
from serving_double.models import DEFAULT_SIGNATURE
from serving_double.rapid_json import parsed
from serving_double.rpc import metadata

VERSION = r"(?:/versions/(?P<number>\d+)|/labels/(?P<label>[^/:]+))?"
NAME = r"/(?P<name>[^/:]+)"
PATHS = {
    "POST": re.compile(f"(?i)/v1/models{NAME}{VERSION}:(?P<method>predict|classify|regress)"),
    "GET": re.compile(f"(?i)/v1/models(?:{NAME})?{VERSION}(?:/(?P<metadata>metadata))?"),
}
ANY_PATH = re.compile(r"(?i)/v1/[^?]*")
LARGEST_VERSION = 2**63 - 1
NO_PAGE = b"<HTML><HEAD><TITLE>404 Not Found</TITLE></HEAD><BODY><H1>Not Found</H1></BODY></HTML>"
BATCHES = "/serving_double/batches"  # only in the double: sizes of the batches that have run


def serve(models, port, threads=None, timeout=None):
    """Listen on 127.0.0.1; return the server and its port.

    Args:
        models: `Models`.
        port: Integer. 0 selects a free port.
        threads: Integer. How many requests are processed at the same time, or None for no limit.
        timeout: Float. How many seconds a batch may wait and run, or None for no limit.
    """
    busy = threading.BoundedSemaphore(threads or 2**20)
    settings = {"models": models, "busy": busy, "run_timeout": timeout}
    server = _Server(("127.0.0.1", port), type("Handler", (_Handler,), settings))
    return server, server.server_address[1]


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.busy:
            self._answer(body)

    do_GET = do_HEAD = do_PUT = do_DELETE = do_OPTIONS = do_POST

    def log_message(self, *_):
        pass

    def _answer(self, body):
        if self.path == BATCHES:
            return self._send_json(200, self.models.batch_sizes())
        if not ANY_PATH.fullmatch(self.path):
            return self._send(404, NO_PAGE, "text/html")
        try:
            match = PATHS[self.command].fullmatch(self.path) if self.command in PATHS else None
            if match is None:
                raise invalid(f"Malformed request: {self.command} {self.path}")
            asked = match.groupdict()
            if asked["number"] and int(asked["number"]) > LARGEST_VERSION:
                return self._send(400, b"")
            names = {key: asked[key] and urllib.parse.unquote(asked[key]) for key in asked}
            asked = {**names, "number": asked["number"] and int(asked["number"])}
            answer = self._tell(asked) if self.command == "GET" else self._run(asked, body)
            self._send_json(200, answer)
        except Refused as error:
            self._send_json(error.http_status, {"error": str(error)})

    def _send_json(self, status, answer):
        text = json.dumps(answer, ensure_ascii=False, indent=4)
        self._send(status, text.encode("utf-8", "surrogateescape"))

    def _send(self, status, content, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _run(self, asked, body):
        request = parsed(body)
        name = request.get("signature_name", "")
        if not isinstance(name, str):
            raise invalid(
                "JSON Value: not formatted correctly. 'signature_name' key must be a string value."
            )
        if asked["method"].lower() != "predict":
            return self._classify(asked, request, name)
        name = name or DEFAULT_SIGNATURE
        _, version = self.models.find(asked["name"], asked["number"], asked["label"])
        if name not in version.signatures:
            raise invalid(f'Serving signature name: "{name}" not found in signature def')
        inputs, by_row = to_inputs(request, version.signatures[name].inputs)
        outputs = version.run(name, inputs, self.run_timeout)
        return {"predictions": to_rows(outputs)} if by_row else {"outputs": to_columns(outputs)}

    def _classify(self, asked, request, name):
        """Refuse classification and regression, which no signature of a translator supports."""
        if "examples" not in request:
            raise invalid("When method is classify, key 'examples' is expected and was not found")
        _, version = self.models.find(asked["name"], asked["number"], asked["label"])
        _, signature = version.signature(name)
        if asked["method"].lower() == "regress":
            raise invalid("Expected one output Tensor.")
        raise invalid(f"Expected one or two output Tensors, found {len(signature.outputs)}")

    def _tell(self, asked):
        if not asked["name"]:
            raise invalid("Missing model name in request.")
        if asked["metadata"]:
            found = self.models.find(asked["name"], asked["number"], asked["label"])
            return _metadata(metadata(asked["name"], *found))
        response = get_model_status_pb2.GetModelStatusResponse()
        for number in self.models.numbers(asked["name"], asked["number"]):
            status = response.model_version_status.add(version=number, state="AVAILABLE")
            status.status.SetInParent()
        return _fields(response)


def _metadata(response):
    signatures = get_model_metadata_pb2.SignatureDefMap()
    response.metadata["signature_def"].Unpack(signatures)
    return {
        "model_spec": _fields(response.model_spec),
        "metadata": {"signature_def": _fields(signatures)},
    }


def _fields(message):
    return json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
