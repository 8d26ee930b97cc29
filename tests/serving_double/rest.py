"""The REST interface: predict, status and metadata."""

import http.server
import json
import re
import urllib.parse

from google.protobuf import json_format

from serving_double.errors import Refused
from serving_double.json_tensors import invalid, parsed, to_columns, to_inputs, to_rows
from serving_double.messages import get_model_metadata_pb2, get_model_status_pb2
from serving_double.models import DEFAULT_SIGNATURE
from serving_double.rpc import metadata

MODEL = r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<number>\d+)|/labels/(?P<label>[^/:]+))?"
PREDICT = re.compile(MODEL + ":predict")
STATUS = re.compile(MODEL + "(?:/(?P<metadata>metadata))?")
BATCHES = "/serving_double/batches"  # the double's own: sizes of the batches that have run


def serve(models, port):
    """Listens on 127.0.0.1; gives the server, and its port."""
    handler = type("Handler", (_Handler,), {"models": models})
    server = _Server(("127.0.0.1", port), handler)
    return server, server.server_address[1]


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(PREDICT, lambda asked: self._predict(asked, body))

    def do_GET(self):
        if self.path == BATCHES:
            self._send(200, self.models.batch_sizes())
        else:
            self._answer(STATUS, self._tell)

    def log_message(self, *_):
        pass

    def _answer(self, pattern, function):
        try:
            match = pattern.fullmatch(self.path)
            if match is None:
                raise invalid(f"Malformed request: {self.command} {self.path}")
            asked = match.groupdict()
            number = asked["number"] and int(asked["number"])
            names = {key: asked[key] and urllib.parse.unquote(asked[key]) for key in asked}
            self._send(200, function({**names, "number": number}))
        except Refused as error:
            self._send(error.http_status, {"error": str(error)})

    def _send(self, status, answer):
        content = json.dumps(answer, ensure_ascii=False).encode("utf-8", "surrogateescape")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _predict(self, asked, body):
        request = parsed(body)
        name = request.get("signature_name", DEFAULT_SIGNATURE)
        if not isinstance(name, str):
            raise invalid("'signature_name' key must be a string value.")
        _, version = self.models.find(asked["name"], asked["number"], asked["label"])
        if name not in version.signatures:
            raise invalid(f'Serving signature name: "{name}" not found in signature def')
        inputs, by_row = to_inputs(request, version.signatures[name].inputs)
        outputs = version.run(name, inputs)
        return {"predictions": to_rows(outputs)} if by_row else {"outputs": to_columns(outputs)}

    def _tell(self, asked):
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
