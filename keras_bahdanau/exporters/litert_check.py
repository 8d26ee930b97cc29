"""Checks a LiteRT file for what a phone would refuse."""

import io
import json
import zipfile
from pathlib import Path

from keras_bahdanau.exporters.findings import Finding

LITERT = "LiteRT"
COMPILED_MODEL = "LiteRT's CompiledModel"
HOST = "OnDeviceTranslator"
EXPORT_AGAIN = "Export the translator again."

_RANDOM = {"MULTINOMIAL", "RANDOM_STANDARD_NORMAL", "RANDOM_UNIFORM"}
_DTYPES = {"BOOL", "FLOAT32", "INT8", "INT32", "INT64"}  # that Android's buffers carry


def check_litert(path):
    """The findings in a LiteRT file: a list of `Finding`.

    Args:
        path: Path of the file.

    Raises:
        ImportError: If `ai-edge-litert` is not installed.
    """
    try:
        from ai_edge_litert import schema_py_generated as schema
        from ai_edge_litert.interpreter import Interpreter
    except ImportError:
        raise ImportError(
            "Checking a .tflite file needs the package ai-edge-litert. "
            "Install it: pip install 'keras-bahdanau[litert]'"
        ) from None
    content = Path(path).read_bytes()
    try:
        Interpreter(model_content=content)
    except ValueError as error:  # a damaged file, or an operation newer than the runtime
        return [Finding(LITERT, "the file", f"does not load ({error})", EXPORT_AGAIN)]
    model = schema.Model.GetRootAs(content)
    return [
        *_archive_findings(content),
        *_operation_findings(model, schema),
        *_signature_findings(model, schema),
    ]


def _archive_findings(content):
    """What is wrong with the zip archive behind the model."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        card = json.loads(files.get("card.json", b"{}"))
    except (zipfile.BadZipFile, json.JSONDecodeError):
        files, card = {}, {}
    needed = ["card.json", "source.spm"]
    if not card.get("joint_vocabulary", True):
        needed.append("target.spm")
    missing = [name for name in needed if name not in files]
    if missing:
        yield Finding(
            HOST,
            "the file",
            f"has no {' and no '.join(missing)} packed behind the model, or they are cut off",
            EXPORT_AGAIN,
        )


def _operation_findings(model, schema):
    for name in sorted(_operations(model, schema)):
        if name in _RANDOM:
            yield Finding(
                LITERT,
                name,
                "draws random numbers: the same sentence gets another answer each time",
                "Trace the export with `training=False`, and search without sampling.",
            )
        elif name == "ASSIGN_VARIABLE":
            yield Finding(
                LITERT,
                name,
                "writes to a variable, which one sentence would change for the next",
                "Keep the state in the signature's inputs and outputs.",
            )
        elif name not in vars(schema.BuiltinOperator):
            yield Finding(
                LITERT,
                name,
                "is not built in: the runtime on a phone does not have it",
                "Convert with `tf.lite.OpsSet.TFLITE_BUILTINS` only.",
            )


def _operations(model, schema):
    """The names of the operations, other than what runs once to fill variables and tables."""
    names = {
        number: name for name, number in vars(schema.BuiltinOperator).items() if name.isupper()
    }
    operations, once = {}, set()
    for index, graph in enumerate(_each(model, "Subgraphs")):
        operations[index] = set()
        for operator in _each(graph, "Operators"):
            code = model.OperatorCodes(operator.OpcodeIndex())
            # files from before 127 operations keep the number in the old field
            name = names[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
            operations[index].add(code.CustomCode().decode() if name == "CUSTOM" else name)
            if name == "CALL_ONCE":
                options, table = schema.CallOnceOptions(), operator.BuiltinOptions()
                options.Init(table.Bytes, table.Pos)
                once.add(options.InitSubgraphIndex())
    return set().union(*(found for index, found in operations.items() if index not in once))


def _signature_findings(model, schema):
    signatures = {
        signature.SignatureKey().decode(): signature for signature in _each(model, "SignatureDefs")
    }
    if "translate" not in signatures:
        yield Finding(HOST, "the file", "has no signature 'translate'", EXPORT_AGAIN)
    dtypes = {number: name for name, number in vars(schema.TensorType).items() if name.isupper()}
    for name, signature in sorted(signatures.items()):
        graph = model.Subgraphs(signature.SubgraphIndex())
        for kind in ("Inputs", "Outputs"):
            for part in _each(signature, kind):
                tensor = graph.Tensors(part.TensorIndex())
                what = f"{kind.lower()[:-1]} {part.Name().decode()!r} of signature {name!r}"
                yield from _tensor_findings(what, tensor, dtypes[tensor.Type()])


def _tensor_findings(what, tensor, dtype):
    if dtype not in _DTYPES:
        yield Finding(
            COMPILED_MODEL,
            what,
            f"is {dtype.lower()}, which its buffers can't carry",
            "Cast it to float32, or use ids for strings.",
        )
    if not tensor.ShapeSignatureIsNone() and -1 in tensor.ShapeSignatureAsNumpy():
        yield Finding(
            COMPILED_MODEL,
            what,
            f"has the shape {tuple(tensor.ShapeSignatureAsNumpy().tolist())}, which is not fixed",
            "Trace the export with fixed shapes.",
        )


def _each(table, field):
    """The entries of a vector of a FlatBuffers table."""
    return [getattr(table, field)(index) for index in range(getattr(table, f"{field}Length")())]
