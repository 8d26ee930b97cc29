"""Convert one signature of a SavedModel to an ONNX model with tf2onnx."""

import contextlib
import logging
from pathlib import Path

from keras_bahdanau.exporters.onnx.operation_handlers import handlers

OUT = "_out"  # suffix for an output that has the name of an input
OPSET = 17  # ONNX Runtime 1.12 (2022), OpenVINO 2023, Triton 22.08 and later
DOMAINS = ("", "ai.onnx")  # domains of the operations that all runtimes support
_NO_STANDARD = {"Attention", "EmbedLayerNormalization", "LSTM"}  # not standard in 8 bits
_RECURRENT = {"GRU", "LSTM", "RNN"}
_LOGGERS = ("", "tf2onnx", "tensorflow")  # "" is the root logger, used by the quantizer
_PARTS_OF_NAMES = 2  # number of parts of an operation's path to show in an error


def convert(saved_model, signature, path=None, *, opset=OPSET, axes=None):
    """Convert a signature of a SavedModel to an ONNX model with only standard operations.

    Args:
        saved_model: Path of the directory of a SavedModel.
        signature: String, the name of the signature.
        path: Path of a file to write, or None.
        opset: Integer, the version of ONNX's operations.
        axes: Dictionary from the name of an input or output to its axes. Each axis is a name (for
            axes of unknown length) or a length: `{"ids": ("batch", 5, "time")}`.

    Returns:
        The `onnx.ModelProto`. Inputs and outputs keep their names in the signature; an output that
        has the name of an input gets the suffix `_out`.

    Raises:
        ImportError: If `tf2onnx` is not installed.
        ValueError: If an operation can't be converted.
    """
    tf2onnx = load_tf2onnx()
    from tf2onnx import tf_loader

    with quiet():
        graph, inputs, outputs, names = tf_loader.from_saved_model(
            str(saved_model),
            None,
            None,
            tag="serve",
            signatures=[signature],
            return_tensors_to_rename=True,
        )
        input_names = {names[tensor] for tensor in inputs}
        for tensor in outputs:
            if names[tensor] in input_names:  # tf2onnx drops one of two tensors with the same name
                names[tensor] = _unused(names[tensor] + OUT, names.values())
        model, _ = tf2onnx.convert.from_graph_def(
            graph,
            name=signature,
            input_names=inputs,
            output_names=outputs,
            opset=opset,
            custom_op_handlers=handlers(),
            tensors_to_rename=names,
        )
    _require_known(model, opset)
    hoist_invariants(model.graph)
    _allow_empty_shapes(model.graph)
    _drop_unused_domains(model)
    _name_axes(model.graph, axes or {})
    if path is not None:
        with open(path, "wb") as file:
            file.write(model.SerializeToString())
    return model


def quantized(model, directory):
    """Quantize the weights of matrix products to 8 bits with ONNX Runtime's dynamic quantizer."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.registry import IntegerOpsRegistry

    plain, smaller = Path(directory, "float32.onnx"), Path(directory, "int8.onnx")
    plain.write_bytes(model.SerializeToString())
    with quiet():
        quantize_dynamic(
            plain,
            smaller,
            op_types_to_quantize=sorted(IntegerOpsRegistry.keys() - _NO_STANDARD),
            weight_type=QuantType.QInt8,
            extra_options={"EnableSubgraph": True},
        )
    model = onnx.load(smaller)
    _round_recurrent_weights(model.graph)
    return model


def _round_recurrent_weights(graph):
    """Store the matrices of recurrent operations in 8 bits, with one scale per row.

    `DequantizeLinear` restores floats, since ONNX has no recurrent operation for integers.
    """
    import numpy as np
    from onnx import helper, numpy_helper

    stored = {tensor.name: tensor for tensor in graph.initializer}
    read = [name for node in nodes_of(graph) for name in node.input]
    for node in list(nodes_of(graph)):
        for name in node.input[1:3] if node.op_type in _RECURRENT else ():
            if name not in stored or read.count(name) > 1:
                continue
            matrix = numpy_helper.to_array(stored[name])  # (directions, gates * units, width)
            scale = np.maximum(np.abs(matrix).max(axis=(0, 2)), 1e-9) / np.float32(127)
            rounded = np.rint(matrix / scale[:, np.newaxis]).astype(np.int8)
            names = [f"{name}_int8", f"{name}_scale"]
            graph.initializer.remove(stored[name])
            graph.initializer.extend(map(numpy_helper.from_array, (rounded, scale), names))
            graph.node.insert(0, helper.make_node("DequantizeLinear", names, [name], axis=1))


def packed(model, files, card):
    """Return the bytes of a file with an `onnx.ModelProto`; its previous metadata is dropped."""
    from keras_bahdanau.exporters.onnx.onnx_file import pack

    del model.metadata_props[:]
    model.producer_name, model.producer_version = "keras_bahdanau", card["keras_bahdanau"]
    return pack(model.SerializeToString(deterministic=True), files, card)


def _unused(name, names):
    while name in names:
        name += OUT
    return name


def load_tf2onnx():
    """Return the module `tf2onnx`.

    Raises ImportError if it is missing, or if `onnxruntime`, which checks its results, is missing.
    """
    try:
        import onnxruntime  # noqa: F401
        import tf2onnx.convert
    except ImportError as error:
        raise ImportError(
            "An export to ONNX needs the packages tf2onnx, onnx and onnxruntime. Received: an "
            f"environment without {error.name}. Install them: pip install 'keras-bahdanau[onnx]'"
        ) from None
    return tf2onnx


def nodes_of(graph):
    """Yield the nodes of a graph, and of all graphs in their attributes."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
                yield from nodes_of(inner)


@contextlib.contextmanager
def quiet():
    """Suppress log messages from tf2onnx and TensorFlow, since failures raise errors."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    # otherwise the root logger's first message would add a handler for the whole process
    logging.getLogger().addHandler(handler := logging.NullHandler())
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _require_known(model, opset):
    """Raise ValueError if a TensorFlow operation remains."""
    from onnx import defs

    unknown = {
        f"{node.op_type} in {'/'.join(node.name.split('/')[-_PARTS_OF_NAMES:])!r}"
        for node in nodes_of(model.graph)
        if node.domain in DOMAINS and not defs.has(node.op_type, opset, "")
    }
    if unknown:
        raise ValueError(
            f"An ONNX file must contain only operations in ONNX's opset {opset}, to which tf2onnx "
            f"can't convert all operations of TensorFlow. Received: "
            f"{', '.join(sorted(unknown))}. Rewrite that step with other operations, or export to "
            "LiteRT or as a SavedModel."
        )


def _drop_unused_domains(model):
    domains = {node.domain for node in nodes_of(model.graph)} | {""}
    used = [entry for entry in model.opset_import if entry.domain in domains]
    del model.opset_import[:]
    model.opset_import.extend(used)


def hoist_invariants(graph):
    """Make loops read weights from outside, where tf2onnx would pass them from step to step.

    So a runtime does not copy weights at each step, and may prepack or quantize them.
    """
    kept = {value.name for value in graph.output}
    for node in graph.node:
        for attribute in node.attribute:
            if not attribute.HasField("g"):
                continue
            if node.op_type == "Loop":
                for last, outer in _hoist(node, attribute.g, kept):
                    _rename(graph, last, outer)
            hoist_invariants(attribute.g)


def _hoist(loop, body, kept):
    """Remove the values that a loop passes on unchanged, except for outputs of the outer graph.

    Yields (name after the loop, name before it) for each value; the body now reads the latter.
    """
    aliases = {node.output[0]: node.input[0] for node in body.node if node.op_type == "Identity"}
    inner = {name for node in nodes_of(body) for name in node.output}
    inner |= {value.name for value in body.input}
    for number in reversed(range(len(loop.input) - 2)):  # after steps and condition
        outer, inside = loop.input[2 + number], body.input[2 + number].name
        results = [value.name for value in body.output]
        last = results.pop(1 + number)
        while last in aliases:
            last = aliases[last]
        if last != inside or outer in inner or loop.output[number] in kept or inside in results:
            continue
        _rename(body, inside, outer)
        yield loop.output[number], outer
        del loop.input[2 + number], loop.output[number]
        del body.input[2 + number], body.output[1 + number]
    read = {name for node in nodes_of(body) for name in node.input}
    read |= {value.name for value in body.output}
    alive = [node for node in body.node if node.op_type != "Identity" or node.output[0] in read]
    del body.node[:]
    body.node.extend(alive)


def _rename(graph, name, other):
    """Make the nodes of a graph and its subgraphs read `other` instead of `name`."""
    for node in nodes_of(graph):
        for position, read in enumerate(node.input):
            if read == name:
                node.input[position] = other


def _allow_empty_shapes(graph):
    """Make 0 in a computed shape of `Reshape` mean an empty axis, not the previous size.

    Constants with 0 or -1 stay unchanged: tf2onnx creates them with ONNX's meaning.
    """
    from onnx import helper, numpy_helper

    nodes, makers, constants = [*nodes_of(graph)], {}, {}
    graphs = [graph, *(part.g for node in nodes for part in node.attribute if part.HasField("g"))]
    for tensor in (tensor for part in graphs for tensor in part.initializer):
        if tensor.dims in ([], [1]):
            constants[tensor.name] = [int(numpy_helper.to_array(tensor).item())]
    for node in nodes:
        makers |= dict.fromkeys(node.output, node)

    def sizes(name):
        """Return the sizes in a shape; None where unknown."""
        maker = makers.get(name)
        if name in constants or maker is None:
            return constants.get(name, [0])  # [0] leaves a constant of several sizes unchanged
        if maker.op_type in ("Cast", "Unsqueeze"):
            return sizes(maker.input[0])
        if maker.op_type == "Concat":
            return [size for part in maker.input for size in sizes(part)]
        return [None]

    for node in nodes:
        if node.op_type == "Reshape" and not {0, -1} & {*sizes(node.input[1])}:
            node.attribute.append(helper.make_attribute("allowzero", 1))


def _name_axes(graph, axes):
    """Name the axes of unknown length, or set their length. Names of other axes are removed."""
    for value in (*graph.input, *graph.output):
        names = axes.get(value.name, ())
        for number, axis in enumerate(value.type.tensor_type.shape.dim):
            name = names[number] if number < len(names) else ""
            if isinstance(name, int):
                axis.dim_value = name
            elif axis.dim_param:
                axis.dim_param = name
