"""Handlers that replace conversions of tf2onnx whose results differ from TensorFlow's.

In tf2onnx, `Select` multiplies by a mask, which lets NaN through; `FloorDiv` and `FloorMod` round
integers towards zero; `Pad` gives an invalid graph for bytes; `RFFT` lacks the real and imaginary
parts; and `Bucketize` and `Erfc` are missing.
"""


def handlers():
    """Return handlers for operations that tf2onnx converts incorrectly or not at all."""
    return {
        "Bucketize": (_bucketize, []),
        "Erfc": (_erfc, []),
        "FloorDiv": (_floor_div, []),
        "FloorMod": (_floor_mod, []),
        "Imag": (_part_of_complex(1), []),
        "PadV2": (_pad, ["Pad"]),
        "RFFT": (_rfft, []),
        "Real": (_part_of_complex(0), []),
        "Select": (_select, []),
        "SelectV2": (_select, []),
    }


def _is_integer(context, tensor):
    from onnx import TensorProto

    floats = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE
    return context.get_dtype(tensor) not in floats


def _replace(context, node, kind, inputs, **settings):
    """Replace a node by a new one with the same output."""
    shapes, dtypes = node.output_shapes, node.output_dtypes
    name, outputs = node.name, node.output
    context.remove_node(name)
    return context.make_node(
        kind, inputs, name=name, outputs=outputs, shapes=shapes, dtypes=dtypes, **settings
    )


def _bucketize(context, node, name, arguments):
    """Count the boundaries that are at most x."""
    import numpy as np
    from onnx import TensorProto

    boundaries = np.array(node.get_attr("boundaries").floats, np.float32)
    boundaries = context.make_const(f"{name}__boundaries", boundaries).output[0]
    last = context.make_const(f"{name}__last", _integers([-1])).output[0]
    values = context.make_node("Cast", [node.input[0]], attr={"to": TensorProto.FLOAT}).output[0]
    values = context.make_node("Unsqueeze", [values, last]).output[0]
    reached = context.make_node("GreaterOrEqual", [values, boundaries]).output[0]
    reached = context.make_node("Cast", [reached], attr={"to": TensorProto.INT32}).output[0]
    _replace(context, node, "ReduceSum", [reached, last], attr={"keepdims": 0})


def _erfc(context, node, name, arguments):
    """Compute 1 - erf(x), for float32."""
    import numpy as np

    one = context.make_const(f"{name}__one", np.array(1, np.float32)).output[0]
    erf = context.make_node("Erf", [node.input[0]]).output[0]
    _replace(context, node, "Sub", [one, erf])


def _floor_mod(context, node, name, arguments):
    """Compute x mod y, with the sign of y."""
    from tf2onnx.onnx_opset.math import FloorMod

    if _is_integer(context, node.input[0]):
        node.type = "Mod"
    else:
        FloorMod.version_7(context, node)


def _floor_div(context, node, name, arguments):
    """Compute floor(x / y).

    For integers it is (x - x mod y) / y in 64 bits, since `Div` rounds towards zero.
    """
    from onnx import TensorProto
    from tf2onnx.onnx_opset.math import FloorDiv

    if not _is_integer(context, node.input[0]):
        FloorDiv.version_6(context, node)
        return
    dtype, wide = context.get_dtype(node.output[0]), {"to": TensorProto.INT64}
    dividend, divisor = (
        context.make_node("Cast", [tensor], attr=wide, op_name_scope=name).output[0]
        for tensor in node.input
    )
    remainder = context.make_node("Mod", [dividend, divisor], op_name_scope=name).output[0]
    multiple = context.make_node("Sub", [dividend, remainder], op_name_scope=name).output[0]
    quotient = context.make_node("Div", [multiple, divisor], op_name_scope=name).output[0]
    _replace(context, node, "Cast", [quotient], attr={"to": dtype})


def _select(context, node, name, arguments):
    """Use `Where` for the dtypes that it supports.

    The other dtypes can't be NaN, so they keep tf2onnx's sum of products.
    """
    from onnx import TensorProto
    from tf2onnx.onnx_opset.controlflow import Select

    narrow = TensorProto.BOOL, TensorProto.INT8, TensorProto.INT16, TensorProto.UINT16
    if context.get_dtype(node.output[0]) in narrow:
        Select.version_7(context, node)
        return
    node.set_attr("handles_nan", True)  # makes tf2onnx create a `Where`
    Select.version_9(context, node)
    del node.attr["handles_nan"]


def _pad(context, node, name, arguments):
    """Use `Pad`, with the value cast to the dtype to which tf2onnx casts the padded tensor."""
    from onnx import TensorProto
    from tf2onnx.onnx_opset.nn import Pad

    Pad.version_11(context, node)
    dtype = context.get_dtype(node.input[0])
    if len(node.input) > 2 and context.get_dtype(node.input[2]) != dtype == TensorProto.FLOAT:
        context.insert_new_node_on_input(node, "Cast", node.input[2], to=dtype)


def _rfft(context, node, name, arguments):
    """Use `DFT` on the last axis: `(..., n)` -> `(..., n // 2 + 1, 2)`.

    The last axis of the result contains the real and the imaginary part.
    """
    from onnx import TensorProto
    from tf2onnx.onnx_opset.signal import RFFTOp

    consumers = {consumer.type for consumer in context.find_output_consumers(node.output[0])}
    if not consumers <= {"Real", "Imag"}:
        RFFTOp.version_13(context, node)
        return
    values, points = node.input
    shape = context.get_shape(values)
    bins = context.get_shape(node.output[0])
    last = context.make_const(f"{name}__last", _integers([-1])).output[0]
    scalar = context.make_const(f"{name}__scalar", _integers([])).output[0]
    points = context.make_node("Cast", [points], attr={"to": TensorProto.INT64}).output[0]
    points = context.make_node("Reshape", [points, scalar]).output[0]
    values = context.make_node("Unsqueeze", [values, last]).output[0]
    outputs = node.output
    context.remove_node(name)
    context.make_node(
        "DFT",
        [values, points],
        attr={"axis": len(shape) - 1, "onesided": 1},
        name=name,
        outputs=outputs,
        shapes=[[*bins, 2]],
        dtypes=[TensorProto.FLOAT],
    )


def _part_of_complex(index):
    """Return a handler for `Real` (0) or `Imag` (1) after `_rfft`: `(..., 2)` -> `(...)`."""

    def handler(context, node, name, arguments):
        part = context.make_const(f"{name}__part", _integers(index)).output[0]
        _replace(context, node, "Gather", [node.input[0], part], attr={"axis": -1})

    return handler


def _integers(value):
    import numpy as np

    return np.array(value, np.int64)
