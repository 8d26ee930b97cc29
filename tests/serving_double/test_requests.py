"""The double sends the server's status, and the body if it matters, for each kind of request.

The expected answers are from TensorFlow Serving 2.20, built from source.
"""

import http.client
import json
import re

import pytest

from serving_double.kit import served

MODEL = "/v1/models/translator"
PREDICT = f"{MODEL}:predict"
LATER = "99999999999999999999"
ONE = {"instances": [{"text": "one two"}]}
IDS = {"source": [5, 6, 7, 3], "source_length": 4}


def raw(text, *arguments, **options):
    """Return a row whose body isn't written by `json.dumps`."""
    body = text if isinstance(text, bytes) else text.encode()
    return row(body, *arguments, **options)


def row(body, status, expected=None, path=PREDICT, method="POST"):
    """Return a request and its answer.

    Args:
        body: Bytes, or an object to convert to JSON.
        status: Integer. The expected HTTP status.
        expected: List of the expected texts, integer for their number, string that the error
            message contains, or bytes with which a body that isn't JSON begins.
        path: String. The request's path.
        method: String. The HTTP method.
    """
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return method, path, content, status, expected


def asked(signature, *rows):
    return {"signature_name": signature, "instances": list(rows)}


def columns(signature, **inputs):
    return {"signature_name": signature, "inputs": inputs}


def nested(levels):
    return b'{"instances": ' + b"[" * levels + b'"a"' + b"]" * levels + b"}"


REQUESTS = {
    # rows and columns
    "a row": row(ONE, 200, ["eins zwei"]),
    "two rows": row(
        {"instances": [{"text": "one two"}, {"text": "five"}]}, 200, ["eins zwei", "fünf"]
    ),
    "a bare row": row({"instances": ["one two"]}, 200, ["eins zwei"]),
    "a column": row({"inputs": {"text": ["one two", "five"]}}, 200, ["eins zwei", "fünf"]),
    "a bare column": row({"inputs": ["five"]}, 200, ["fünf"]),
    "a column beside an unknown one": row({"inputs": {"text": ["five"], "x": 1}}, 200, ["fünf"]),
    "an empty text": row({"instances": [""]}, 200, [""]),
    "64 rows": row({"instances": ["five"] * 64}, 200, ["fünf"] * 64),
    "65 rows": row({"instances": ["five"] * 65}, 400, "Task size 65 is larger than maximum"),
    "an unknown key": row({"x": 1, **ONE}, 200, ["eins zwei"]),
    "rows and columns": row({"instances": ["a"], "inputs": ["a"]}, 400, "expecting only one of"),
    "neither rows nor columns": row({}, 400, "Missing 'inputs' or 'instances' key"),
    "no row": row({"instances": []}, 400, "No values in 'instances' array"),
    "a text in place of rows": row({"instances": "a"}, 400, "Expecting 'instances' to be an list"),
    "an object in place of rows": row(
        {"instances": {}}, 400, "Expecting 'instances' to be an list"
    ),
    "null in place of rows": row({"instances": None}, 400, "Expecting 'instances' to be an list"),
    "a text in place of a column": row({"inputs": "a"}, 400, "at least one dimension"),
    "null in place of columns": row({"inputs": None}, 400, "Type: Null is not of expected type"),
    "no column": row({"inputs": {}}, 400, "Missing named input: text in 'inputs' object."),
    "another column": row({"inputs": {"txt": ["a"]}}, 400, "Missing named input: text"),
    "a column that is no list": row({"inputs": {"text": "a"}}, 400, "at least one dimension"),
    # values in rows
    "a number as text": row(
        {"instances": [{"text": 1}]},
        400,
        "Failed to process element: 0 key: text of 'instances' list. Error: INVALID_ARGUMENT: JSON "
        "Value: 1 Type: Number is not of expected type: string",
    ),
    "null as text": row(
        {"instances": [None]}, 400, "JSON Value: null Type: Null is not of expected"
    ),
    "true as text": row(
        {"instances": [True]}, 400, "JSON Value: true Type: True is not of expected"
    ),
    "NaN as text": raw('{"instances": [NaN]}', 400, "JSON Value: NaN Type: Number is not of"),
    "an empty object as a row": row({"instances": [{}]}, 400, "keys must be equal to: text"),
    "another name": row({"instances": [{"txt": "a"}]}, 400, "does not have named input: txt"),
    "a further name": row({"instances": [{"text": "a", "x": 1}]}, 400, "not have named input: x"),
    "a row that is a list": row({"instances": [["a"]]}, 400),
    "a row that is an empty list": row({"instances": [[]]}, 400),
    "a text and a list": row({"instances": ["a", ["b"]]}, 400, "Expecting shape [] but got: [1]"),
    "a text and two": row({"instances": ["a", ["b", "c"]]}, 400, "size: 1 but got: 2"),
    "a text and an object": row(
        {"instances": ["a", {"text": "b"}]}, 400, "but got object at item 1"
    ),
    "an object and a text": row({"instances": [{"text": "a"}, "b"]}, 400, "but got list at item 1"),
    "lists of two lengths": row({"inputs": [["a"], ["b", "c"]]}, 400, "list at unexpected size: 2"),
    "a list below texts": row({"inputs": ["a", ["b"]]}, 400, "list at unexpected level: 1"),
    "a text beside lists": row({"inputs": [["a"], "b"]}, 400, "found at incorrect level: 2"),
    # bytes
    "base64": row({"instances": [{"b64": "Zml2ZQ=="}]}, 200, ["fünf"]),
    "base64 by name": row({"instances": [{"text": {"b64": "Zml2ZQ=="}}]}, 200, ["fünf"]),
    "base64 without its end": row({"instances": [{"b64": "Zml2ZQ"}]}, 200, ["fünf"]),
    "what is no base64": row({"instances": [{"b64": "?"}]}, 400, "Unable to base64 decode"),
    "a number as base64": row({"instances": [{"b64": 1}]}, 400, "not have named input: b64"),
    "an object below a name": row(
        {"instances": [{"text": {"x": "a"}}]}, 400, "not formatted correctly for base64 data"
    ),
    "base64 in place of columns": row({"inputs": {"b64": "Zml2ZQ=="}}, 400, "one dimension"),
    # signatures
    "the default signature": row(asked("serving_default", {"text": "five"}), 200, ["fünf"]),
    "a signature without a name": row(asked("", {"text": "five"}), 200, ["fünf"]),
    "an unknown signature": row(
        asked("translate", {"text": "a"}), 400, 'name: "translate" not found in signature def'
    ),
    "a number as signature": row(asked(1, {"text": "a"}), 400, "key must be a string value"),
    "null as signature": row(asked(None, {"text": "a"}), 400, "key must be a string value"),
    "alignments": row(asked("translate_with_alignment", {"text": "five"}), 200, ["fünf"]),
    "a list of texts": row(asked("translate_nbest", {"text": "five"}), 200, 1),
    "a pair": row(asked("score_pair", {"text": "five", "target": "fünf"}), 200, 1),
    "a pair by columns": row(columns("score_pair", text=["five"], target=["fünf"]), 200, 1),
    "half a pair": row(asked("score_pair", {"text": "a"}), 400, "must be equal to: target,text"),
    "a bare row of a pair": row(asked("score_pair", "a"), 400, "instances is a plain list, but"),
    "a bare column of a pair": row(
        {"signature_name": "score_pair", "inputs": ["a"]}, 400, "inputs is a plain value/list, but"
    ),
    "a pair of one and two": row(
        columns("score_pair", text=["a"], target=["b", "c"]), 400, "equal 0th-dimension size"
    ),
    "ids": row(asked("decode_ids", IDS), 200, 1),
    "ids by columns": row(columns("decode_ids", source=[[5, 3]], source_length=[2]), 200, 1),
    "ids outside of the vocabulary": row(
        asked("decode_ids", {**IDS, "source": [-7, 9999]}), 200, 1
    ),
    "ids that are one number": row(asked("decode_ids", {**IDS, "source": 5}), 400),
    "ids in a list too deep": row(asked("decode_ids", {**IDS, "source": [[[17, 3]]]}), 400),
    "ids that are texts": row(
        asked("decode_ids", {**IDS, "source": ["5"]}), 400, "Type: String is not of expected type"
    ),
    "ids that are fractions": row(
        asked("decode_ids", {**IDS, "source": [5.0]}), 400, "Type: Number is not of expected type"
    ),
    "ids that are truths": row(
        asked("decode_ids", {**IDS, "source": [True]}), 400, "Type: True is not of expected type"
    ),
    "ids of 33 bits": row(
        asked("decode_ids", {**IDS, "source": [2**31]}), 400, "is not of expected type: int32"
    ),
    # JSON syntax
    "an empty body": raw("", 400, "JSON Parse error: The document is empty"),
    "white space": raw(" \n", 400, "JSON Parse error: The document is empty."),
    "a list": raw("[]", 400, "Is not object"),
    "a number": raw("1", 400, "Is not object"),
    "null": raw("null", 400, "Is not object"),
    "a byte order mark": raw('\ufeff{"instances": ["five"]}', 200, ["fünf"]),
    "white space around": raw(' \n{ "instances" : [ "five" ] } ', 200, ["fünf"]),
    "garbage behind the object": raw('{"instances": ["five"]} garbage', 200, ["fünf"]),
    "another object behind it": raw('{"instances": ["five"]}{"x"', 200, ["fünf"]),
    "no end": raw("{", 400, "Missing a name for object member."),
    "half a request": raw('{"instances": ["five"', 400, "Missing a comma or ] after an array"),
    "no value": raw('{"instances":}', 400, "JSON Parse error: Invalid value."),
    "no colon": raw('{"instances" ["five"]}', 400, "Missing a colon after a name of object"),
    "no comma": raw('{"instances": ["five"] "x": 1}', 400, "Missing a comma or } after an object"),
    "a comma too many": raw('{"instances": ["five",]}', 400, "Invalid value."),
    "a comma behind a member": raw('{"instances": ["five"],}', 400, "Missing a name for object"),
    "single quotes": raw("{'instances': []}", 400, "Missing a name for object member."),
    "no closing quote": raw('{"instances": ["five', 400, "Missing a closing quotation mark"),
    "a control character": raw('{"instances": ["a\nb"]}', 400, "Invalid encoding in string."),
    "an unknown escape": raw(
        r'{"instances": ["\x41"]}', 400, "Invalid escape character in string."
    ),
    "half an escape": raw(r'{"instances": ["\u12"]}', 400, "Incorrect hex digit after"),
    "a number without a fraction": raw('{"instances": [1.]}', 400, "Miss fraction part in number."),
    "a number too large": raw(
        '{"instances": [1e400]}', 400, "Number too big to be stored in double."
    ),
    "escaped characters": raw(r'{"instances": ["\u0066ive"]}', 200, ["fünf"]),
    "an escaped pair": raw(r'{"instances": ["\ud83d\ude00"]}', 200, 1),
    "a high surrogate alone": raw(
        r'{"instances": ["\ud800"]}', 400, "The surrogate pair in string"
    ),
    "a high surrogate and a letter": raw(r'{"instances": ["\ud800x"]}', 400, "The surrogate pair"),
    "bytes that are no UTF-8": raw(b'{"instances": ["\xff\xfe"]}', 200, 1),
    "a character cut short": raw(b'{"instances": ["five \xe2\x98"]}', 200, 1),
    # repeated names: the first one counts
    "rows twice": raw('{"instances": ["five"], "instances": ["one"]}', 200, ["fünf"]),
    "rows twice, first none": raw('{"instances": [], "instances": ["one"]}', 400, "No values in"),
    "a text twice": raw('{"instances": [{"text": "five", "text": "one"}]}', 200, ["fünf"]),
    "a signature twice": raw(
        '{"signature_name": "", "signature_name": "x", "instances": ["five"]}', 200, ["fünf"]
    ),
    "a column twice": raw('{"inputs": {"text": ["five"], "text": ["one"]}}', 200, ["fünf"]),
    # nesting depth
    "lists of 7 levels": raw(nested(7), 400),
    "lists of 60 levels": raw(nested(60), 400),
    "lists of 200 levels": raw(nested(200), 400),
    "lists of 300 levels": raw(nested(300), 400, "tensor parsing error"),
    "lists of 20,000 levels": raw(nested(20_000), 400, "tensor parsing error"),
    # models and versions
    "a version": row(ONE, 200, ["eins zwei"], f"{MODEL}/versions/1:predict"),
    "a label": row(ONE, 200, ["eins zwei"], f"{MODEL}/labels/stable:predict"),
    "an unknown model": row(ONE, 404, "Latest(nobody)", "/v1/models/nobody:predict"),
    "an unknown version": row(ONE, 404, "Specific(translator, 7)", f"{MODEL}/versions/7:predict"),
    "an unknown label": row(ONE, 400, "label: newest", f"{MODEL}/labels/newest:predict"),
    "a version that is no number": row(ONE, 400, "Malformed", f"{MODEL}/versions/x:predict"),
    "a version too large": row(ONE, 400, b"", f"{MODEL}/versions/{LATER}:predict"),
    "the state of a version too large": row(b"", 400, b"", f"{MODEL}/versions/{LATER}", "GET"),
    "the state of a model": row(b"", 200, None, MODEL, "GET"),
    "the state of a version": row(b"", 200, None, f"{MODEL}/versions/1", "GET"),
    "the state of no model": row(b"", 400, "Missing model name", "/v1/models", "GET"),
    "the state of an unknown model": row(b"", 404, "nobody", "/v1/models/nobody", "GET"),
    "the state of an unknown version": row(b"", 404, "version 7", f"{MODEL}/versions/7", "GET"),
    "metadata": row(b"", 200, None, f"{MODEL}/metadata", "GET"),
    "metadata of a label": row(b"", 200, None, f"{MODEL}/labels/stable/metadata", "GET"),
    "metadata of an unknown version": row(
        b"", 404, "Specific(translator, 7)", f"{MODEL}/versions/7/metadata", "GET"
    ),
    # methods and paths
    "classify": row(
        {"examples": [{"text": "a"}]}, 400, "two output Tensors, found 4", f"{MODEL}:classify"
    ),
    "regress": row(
        {"examples": [{"text": "a"}]}, 400, "Expected one output Tensor.", f"{MODEL}:regress"
    ),
    "another verb": row(ONE, 400, "Malformed request: POST", f"{MODEL}:translate"),
    "GET of an answer": row(b"", 400, "Malformed request: GET", PREDICT, "GET"),
    "POST to a model": row(ONE, 400, "Malformed request: POST", MODEL),
    **{
        f"{method} of an answer": row(b"{}", 400, f"Malformed request: {method}", PREDICT, method)
        for method in ("PUT", "DELETE", "OPTIONS")
    },
    "HEAD of a model": row(b"", 400, b"", MODEL, "HEAD"),
    "no path": row(b"", 404, b"<HTML>", "/", "GET"),
    "another path": row(b"", 404, b"<HTML>", "/v2/x", "GET"),
    "a query": row(b"", 404, b"<HTML>", f"{MODEL}?x=1", "GET"),
}


@pytest.fixture(scope="module")
def port(toy_saved_model, tmp_path_factory):
    """The REST port of a double with the kit's configuration."""
    with served(toy_saved_model.parent, tmp_path_factory.mktemp("config")) as ports:
        yield ports["rest"]


def texts_of(answer):
    """Return the texts of an answer, or the rows of another output if there is no text."""
    if "predictions" in answer:
        return [row.get("translation") for row in answer["predictions"]]
    outputs = answer["outputs"]
    return outputs.get("translation", next(iter(outputs.values())))


def each_request():
    """Yield names of requests; those that run signatures other than the default are slow."""
    for name, (*_, body, status, _) in REQUESTS.items():
        runs = status == 200 and re.search(rb'"signature_name": "[a-z]+_(?!default)', body)
        yield pytest.param(name, marks=pytest.mark.slow if runs else ())


@pytest.mark.parametrize("name", [*each_request()])
def test_the_double_answers_as_the_server_does(port, name):
    method, path, body, status, expected = REQUESTS[name]
    connection = http.client.HTTPConnection("localhost", port, timeout=30)
    connection.request(method, path, body)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    assert (response.status, name) == (status, name), content
    if isinstance(expected, bytes):
        assert content.startswith(expected) and bool(content) == bool(expected)
        assert response.headers.get_content_type() == "text/html" or not content
        return
    answer = json.loads(content.decode("utf-8", "surrogateescape"))
    if status != 200:
        assert (expected or "") in answer["error"]
    elif isinstance(expected, list):
        assert texts_of(answer) == expected
    elif expected is not None:
        assert len(texts_of(answer)) == expected


def test_the_table_has_what_was_asked_of_the_server():
    assert len(REQUESTS) >= 92
