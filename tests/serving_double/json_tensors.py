"""Arrays as JSON and back, as the server's REST interface has them."""

import base64
import binascii
import json

import numpy as np

from serving_double.errors import Refused

_KINDS = {"O": str, "f": (int, float), "i": int, "b": bool}  # of a dtype: the values it takes


def parsed(body):
    """The JSON object of a request."""
    try:
        request = json.loads(body)
    except ValueError as error:  # of which wrong UTF-8 is one
        raise invalid(f"JSON Parse error: {error}") from None
    if not isinstance(request, dict):
        raise invalid(f"JSON Value: {request} Is not object")
    return request


def to_inputs(request, specs):
    """The arrays of a request, and whether it has rows and not columns."""
    if "instances" in request and "inputs" in request:
        raise invalid(
            "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist"
        )
    if "instances" in request:
        return _from_rows(request["instances"], specs), True
    if "inputs" in request:
        return _from_columns(request["inputs"], specs), False
    raise invalid("Missing 'inputs' or 'instances' key")


def _from_rows(rows, specs):
    if not isinstance(rows, list):
        raise invalid("Excepting 'instances' to be an list/array")
    if not rows:
        raise invalid("No values in 'instances' array")
    objects = [_is_object(row) for row in rows]
    if not any(objects) and len(specs) == 1:
        rows = [dict.fromkeys(specs, row) for row in rows]
    elif not all(objects):
        raise invalid("instances must be a list of objects, as multiple input tensors are required")
    for number, row in enumerate(rows):
        if row.keys() != specs.keys():
            raise invalid(
                f"Failed to process element: {number} of 'instances' list. JSON object: {row} "
                f"must only have keys: {','.join(sorted(specs))}"
            )
    return {name: _to_array([row[name] for row in rows], specs[name].dtype) for name in specs}


def _from_columns(columns, specs):
    if not _is_object(columns):
        if len(specs) > 1:
            raise invalid("inputs is a plain value/list, but expecting an object")
        columns = dict.fromkeys(specs, columns)
    for name in specs:
        if name not in columns:
            raise invalid(f"Missing named input: {name} in 'inputs' object.")
    return {name: _to_array(columns[name], spec.dtype) for name, spec in specs.items()}


def _is_object(value):
    return isinstance(value, dict) and value.keys() != {"b64"}


def _to_array(value, dtype):
    shape, first = [], value
    while isinstance(first, list):
        shape.append(len(first))
        first = first[0] if first else None
    items = [_to_item(item, dtype) for item in _items(value, shape)]
    array = np.empty(len(items), dtype)
    array[:] = items
    return array.reshape(shape)


def _items(value, shape):
    if not shape:
        if isinstance(value, list):
            raise invalid("Encountered list at unexpected level")
        yield value
        return
    if not isinstance(value, list) or len(value) != shape[0]:
        raise invalid(f"Encountered list at unexpected size. Expecting tensor size: {shape[0]}")
    for item in value:
        yield from _items(item, shape[1:])


def _to_item(value, dtype):
    if dtype.kind == "O" and isinstance(value, dict) and value.keys() == {"b64"}:
        try:
            return base64.b64decode(value["b64"], validate=True)
        except (TypeError, binascii.Error):
            raise invalid("Unable to base64 decode") from None
    strange = isinstance(value, bool) != (dtype.kind == "b")
    if strange or not isinstance(value, _KINDS[dtype.kind]):
        raise invalid(f"JSON Value: {json.dumps(value)} is not of expected type: {dtype}")
    if dtype.kind == "i" and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        raise invalid(f"JSON Value: {value} is not of expected type: {dtype}")
    return value.encode("utf-8", "surrogatepass") if dtype.kind == "O" else value


def to_rows(outputs):
    """An object for each row; a bare value where there is one output only."""
    columns = to_columns(outputs)
    if len(outputs) == 1:
        return columns
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def to_columns(outputs):
    """A list for each output; the bare list where there is one output only."""
    columns = {name: _to_json(name, array) for name, array in outputs.items()}
    return columns if len(columns) > 1 else next(iter(columns.values()))


def _to_json(name, array):
    if array.dtype.kind == "f":  # as many digits as tell a float from its neighbours
        return array.astype(str).astype(np.float64).tolist()
    if array.dtype.kind == "O":
        convert = _base64 if name.endswith("_bytes") else _text
        array = np.frompyfunc(convert, 1, 1)(array)
    return array.tolist()


def _base64(item):
    return {"b64": base64.b64encode(item).decode()}


def _text(item):
    return item.decode("utf-8", "surrogateescape")  # the server sends bytes as they are


def invalid(message):
    """An error in what a client has sent."""
    return Refused("INVALID_ARGUMENT", message)
