"""Convert between arrays and JSON, as the server's REST interface does."""

import base64
import binascii
import json
import re

import numpy as np

from serving_double.errors import Refused

_TYPES = {"O": "string", "f": "float", "i": "int32", "u": "uint8", "b": "bool"}
_LARGEST_FLOAT = float(np.finfo(np.float32).max)
_MOST_EXACT = 2**24 - 1  # largest integer that a float represents exactly
MOST_DIMENSIONS = 254
_NUMPY_DIMENSIONS = 64
_BASE64 = re.compile(r"[A-Za-z0-9+/]*")


def to_inputs(request, specs):
    """Return the arrays of a request, and whether it is in row format (not columns)."""
    if "instances" in request and "inputs" in request:
        raise _format_error(
            request,
            "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist ",
        )
    if "instances" in request:
        return _from_rows(request, specs), True
    if "inputs" in request:
        return _from_columns(request["inputs"], specs), False
    raise invalid("Missing 'inputs' or 'instances' key")


def _from_rows(request, specs):
    rows = request["instances"]
    if not isinstance(rows, list):
        raise _format_error(request, "Expecting 'instances' to be an list/array")
    if not rows:
        raise _format_error(request, "No values in 'instances' array")
    if not isinstance(rows[0], dict) and len(specs) > 1:
        raise invalid(
            "instances is a plain list, but expecting list of objects as multiple input tensors "
            "required as per tensorinfo_map"
        )
    named, columns = _is_object(rows[0]), {}
    for number, row in enumerate(rows):
        if named != _is_object(row):
            kinds = ("object", "list") if named else ("value/list", "object")
            raise invalid(f"Expecting {kinds[0]} but got {kinds[1]} at item {number} of input list")
        for name, value in _members(row) if named else [(next(iter(specs)), row)]:
            try:
                _add_row(columns, name, value, specs)
            except Refused as error:
                key = f" key: {name}" if named else ""
                raise invalid(
                    f"Failed to process element: {number}{key} of 'instances' list. "
                    f"Error: {error.code}: {error}"
                ) from None
        if named and row.keys() != specs.keys():
            raise invalid(
                f"Failed to process element: {number} of 'instances' list. JSON object: "
                f"{_text_of(row)} keys must be equal to: {','.join(sorted(specs))}"
            )
    return {
        name: _array(items, [len(rows), *shape], specs[name].dtype)
        for name, (shape, items) in columns.items()
    }


def _members(row):
    return getattr(row, "pairs", None) or list(row.items())


def _add_row(columns, name, value, specs):
    """Add a row to a column. A name that occurs twice in a row adds two and shifts later rows."""
    if name not in specs:
        raise invalid(f"JSON object: does not have named input: {name}")
    shape = _shape_of(value)
    items = list(_items(value, shape, 0, specs[name].dtype))
    first, column = columns.setdefault(name, (shape, []))
    if np.prod(first, dtype=int) != len(items):
        raise invalid(f"Expecting tensor size: {np.prod(first, dtype=int)} but got: {len(items)}")
    if first != shape:
        raise invalid(f"Expecting shape {_shown(first)} but got: {_shown(shape)}")
    column += items


def _from_columns(columns, specs):
    if not _is_object(columns):
        if len(specs) > 1:
            raise invalid(
                "inputs is a plain value/list, but expecting an object as multiple input tensors "
                "required as per tensorinfo_map"
            )
        columns = dict.fromkeys(specs, columns)
    for name in specs:
        if name not in columns:
            raise invalid(f"Missing named input: {name} in 'inputs' object.")
    return {name: _to_array(columns[name], spec.dtype) for name, spec in specs.items()}


def _to_array(value, dtype):
    shape = _shape_of(value)
    return _array(list(_items(value, shape, 0, dtype)), shape, dtype)


def _is_object(value):
    return isinstance(value, dict) and not _is_base64(value)


def _is_base64(value):
    return value.keys() == {"b64"} and isinstance(value["b64"], str) and len(_members(value)) == 1


def _shape_of(value):
    """Return the length of lists at each level, following the first item of each list."""
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        value = value[0] if value else None
    if len(shape) > MOST_DIMENSIONS:
        raise invalid("tensor parsing error: inputs")
    return shape


def _array(items, shape, dtype):
    if len(shape) > _NUMPY_DIMENSIONS:
        raise invalid("Only tensors with rank from 1 to 6 can be padded.")
    array = np.empty(np.prod(shape, dtype=int), dtype)
    array[:] = items[: array.size]
    return array.reshape(shape)


def _items(value, shape, level, dtype):
    if not isinstance(value, list):
        if level != len(shape):
            raise invalid(
                f"JSON Value: {_text_of(value)} found at incorrect level: {level + 1} in the JSON "
                f"DOM. Expected at level: {len(shape)}"
            )
        yield _item(value, dtype)
        return
    if level >= len(shape):
        raise invalid(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
    if len(value) != shape[level]:
        raise invalid(
            f"Encountered list at unexpected size: {len(value)} at level: {level} "
            f"expected size: {shape[level]}"
        )
    for item in value:
        yield from _items(item, shape, level + 1, dtype)


def _item(value, dtype):
    kind = dtype.kind
    if kind == "O" and isinstance(value, dict):
        return _from_base64(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = {
        "O": isinstance(value, str),
        "b": isinstance(value, bool),
        "f": is_number,
        "i": is_number and isinstance(value, int) and -(2**31) <= value < 2**31,
    }
    if not fits["i" if kind == "u" else kind]:
        raise invalid(
            f"JSON Value: {_text_of(value)} Type: {_type_of(value)} is not of expected type: "
            f"{_TYPES[kind]}"
        )
    if kind == "f" and np.isfinite(value):
        limit = _MOST_EXACT if isinstance(value, int) else _LARGEST_FLOAT
        if abs(value) > limit:
            raise invalid(
                f"Cannot convert JSON value: {_text_of(value)} to float without loss of precision."
            )
    return value.encode("utf-8", "surrogateescape") if kind == "O" else value


def _from_base64(value):
    if not _is_base64(value):
        raise invalid(f"JSON Value: {_text_of(value)} not formatted correctly for base64 data")
    content = "".join(value["b64"].split())
    bare = content.rstrip("=")
    missing = -len(bare) % 4
    if missing == 3 or len(content) - len(bare) not in (0, missing) or not _BASE64.fullmatch(bare):
        raise invalid("Unable to base64 decode")
    try:
        return base64.b64decode(bare + "=" * missing, validate=True)
    except binascii.Error:
        raise invalid("Unable to base64 decode") from None


def _type_of(value):
    if value is None or isinstance(value, bool):
        return {None: "Null", True: "True", False: "False"}[value]
    kinds = {dict: "Object", list: "Array", str: "String"}
    return next((kinds[kind] for kind in kinds if isinstance(value, kind)), "Number")


def _shown(shape):
    return f"[{','.join(map(str, shape))}]"


def _text_of(value):
    try:
        return json.dumps(value, ensure_ascii=False, indent=4)
    except RecursionError:
        return "..."


def _format_error(request, message):
    return invalid(f"JSON Value: {_text_of(request)} {message}")


def to_rows(outputs):
    """Return an object for each row, or a bare value if there is only one output."""
    columns = to_columns(outputs)
    if len(outputs) == 1:
        return columns
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def to_columns(outputs):
    """Return a list for each output, or the bare list if there is only one output."""
    columns = {name: _to_json(name, array) for name, array in outputs.items()}
    return columns if len(columns) > 1 else next(iter(columns.values()))


def _to_json(name, array):
    if array.dtype.kind == "f":  # the fewest digits that identify a float
        return array.astype(str).astype(np.float64).tolist()
    if array.dtype.kind == "O":
        convert = _base64 if name.endswith("_bytes") else _text
        array = np.frompyfunc(convert, 1, 1)(array)
    return array.tolist()


def _base64(item):
    return {"b64": base64.b64encode(item).decode()}


def _text(item):
    return item.decode("utf-8", "surrogateescape")  # the server doesn't validate UTF-8


def invalid(message):
    """Return the error for an invalid request."""
    return Refused("INVALID_ARGUMENT", message)
