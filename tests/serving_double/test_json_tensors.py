"""The double converts between arrays and JSON in the same way as the server."""

import json

import numpy as np
import pytest

from keras_bahdanau.exporters.cpp_loader import TensorSpec
from serving_double.errors import Refused
from serving_double.json_tensors import to_columns, to_inputs, to_rows
from serving_double.rapid_json import parsed

TEXT = {"text": TensorSpec("text:0", np.dtype(object), (None,))}
IDS = {
    "ids": TensorSpec("ids:0", np.dtype(np.int32), (None, None)),
    "length": TensorSpec("length:0", np.dtype(np.int32), (None,)),
}


def strings(*items):
    return np.array(items, object)


@pytest.mark.parametrize(
    "request_",
    [
        {"instances": ["a", {"b64": "/wA="}]},
        {"instances": [{"text": "a"}, {"text": {"b64": "/wA="}}]},
        {"inputs": ["a", {"b64": "/wA="}]},
        {"inputs": {"text": ["a", {"b64": "/wA="}], "unknown": 1}},
    ],
)
def test_one_input_may_be_named_or_not(request_):
    inputs, by_row = to_inputs(request_, TEXT)
    assert inputs["text"].tolist() == [b"a", b"\xff\x00"]
    assert by_row == ("instances" in request_)


def test_two_inputs_are_named():
    rows = [{"ids": [1, 2], "length": 2}, {"ids": [3, 0], "length": 1}]
    inputs, _ = to_inputs({"instances": rows}, IDS)
    assert inputs["ids"].tolist() == [[1, 2], [3, 0]]
    assert inputs["ids"].dtype == np.int32
    assert inputs["length"].tolist() == [2, 1]


@pytest.mark.parametrize(
    ("request_", "specs", "message"),
    [
        ({}, TEXT, "Missing 'inputs' or 'instances' key"),
        ({"instances": "a"}, TEXT, "to be an list"),
        ({"instances": []}, TEXT, "No values"),
        ({"instances": ["a", ["b"]]}, TEXT, r"Expecting shape \[\] but got: \[1\]"),
        ({"instances": ["a", ["b", "c"]]}, TEXT, "Expecting tensor size: 1 but got: 2"),
        ({"inputs": {"text": ["a", ["b"]]}}, TEXT, "list at unexpected level: 1 expected < 1"),
        ({"inputs": {"text": [["a"], "b"]}}, TEXT, "at incorrect level: 2 in the JSON DOM"),
        ({"instances": ["a", {"text": "b"}]}, TEXT, "Expecting value/list but got object"),
        ({"instances": [{"text": "a"}, "b"]}, TEXT, "Expecting object but got list at item 1"),
        ({"instances": [{"b64": 1}]}, TEXT, "does not have named input: b64"),
        ({"instances": [{"b64": "?"}]}, TEXT, "base64"),
        ({"instances": [{"txt": "a"}]}, TEXT, "does not have named input: txt"),
        ({"instances": [[1]]}, IDS, "list of objects"),
        ({"inputs": [[1]]}, IDS, "expecting an object"),
        ({"inputs": {"ids": [[1]]}}, IDS, "Missing named input: length"),
        ({"inputs": {"ids": [[1], [1, 2]], "length": [1, 2]}}, IDS, "unexpected size"),
        ({"inputs": {"ids": [[1.5]], "length": [1]}}, IDS, "not of expected type: int32"),
        ({"inputs": {"ids": [[True]], "length": [1]}}, IDS, "not of expected type: int32"),
        ({"inputs": {"ids": [[2**31]], "length": [1]}}, IDS, "not of expected type: int32"),
    ],
)
def test_what_is_not_understood_is_refused(request_, specs, message):
    with pytest.raises(Refused, match=message) as refused:
        to_inputs(request_, specs)
    assert refused.value.http_status == 400


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"1"])
def test_a_body_that_is_no_object_is_refused(body):
    with pytest.raises(Refused, match="JSON"):
        parsed(body)


def test_several_outputs_are_objects_and_one_is_bare():
    outputs = {"text": strings(b"a", "ü".encode()), "ok": np.array([True, False])}
    assert to_rows(outputs) == [{"text": "a", "ok": True}, {"text": "ü", "ok": False}]
    assert to_columns(outputs) == {"text": ["a", "ü"], "ok": [True, False]}
    assert to_rows({"ids": np.array([[1, 2]])}) == [[1, 2]]
    assert to_columns({"ids": np.array([[1, 2]])}) == [[1, 2]]


def test_bytes_are_told_from_text_by_their_name():
    assert to_rows({"raw_bytes": strings(b"\xff\x00")}) == [{"b64": "/wA="}]


def test_a_number_is_as_short_as_its_precision_allows():
    assert json.dumps(to_rows({"x": np.array([0.1, np.nan, 3], np.float32)})) == "[0.1, NaN, 3.0]"
