"""Check a LiteRT file for damage, and for parts that phones or browsers would reject."""

import struct
from pathlib import Path

from keras_bahdanau.exporters.card import CARD, TARGET, read_card, sha256
from keras_bahdanau.exporters.exporter import Finding
from keras_bahdanau.exporters.litert import metadata
from keras_bahdanau.exporters.litert.tflite_file import (
    Contents,
    entries_of,
    load_schema,
    read_metadata,
    unpack,
)
from keras_bahdanau.files.integrity import Damage

LITERT = "LiteRT"
COMPILED_MODEL = "LiteRT's CompiledModel"
BROWSER = "LiteRT.js"
HOST = "OnDevicePipeline"
METADATA = "LiteRT's metadata libraries"
EXPORT_AGAIN = "Export the translator again."
COPY_AGAIN = "Copy the file again, or export the translator again."

_RANDOM = {"MULTINOMIAL", "RANDOM_STANDARD_NORMAL", "RANDOM_UNIFORM"}
_DTYPES = {"BOOL", "FLOAT32", "INT8", "INT32", "INT64", "UINT8"}  # supported by its buffers


def check_litert(path, fixed=True):
    """Check a LiteRT file, and return a list of `Finding`.

    If `fixed` is False, inputs and outputs may have axes of any size. Raises ImportError if
    `ai-edge-litert` is not installed.
    """
    schema = load_schema()
    from ai_edge_litert.interpreter import Interpreter

    content = Path(path).read_bytes()
    packing = _read_packing(content)
    try:
        Interpreter(model_content=content)
    except ValueError as error:  # the file is damaged, or the runtime lacks an operation
        why = f"does not load ({' '.join(str(error).split())})"
        return [Finding(LITERT, "the file", why, EXPORT_AGAIN)]
    model = schema.Model.GetRootAs(content)
    return [
        *_packing_findings(packing),
        *_operation_findings(model, schema),
        *_verb_findings(model, _card(packing).get("verb")),
        *_signature_findings(model, schema, fixed),
    ]


def find_damage(path):
    """Return a list of `Finding`: the parts of a LiteRT file that have changed since its export."""
    contents = _read_packing(Path(path).read_bytes())
    if CARD not in contents.files:
        return []  # there is no hash to compare with
    try:
        card = read_card(contents.files[CARD])
    except Damage as error:
        return [Finding(HOST, CARD, f"is not a valid card: {error}", EXPORT_AGAIN)]
    parts = {"model": contents.model, **contents.files}
    changed = [
        f"{name!r} in the file"
        for name, expected in card.get("sha256", {}).items()
        if name in parts and sha256(parts[name]) != expected
    ]
    if card.get("sealed") and not contents.seal_fits:
        changed = changed or ["the file"]
    why = "is damaged or was modified: its sha256 has changed"
    return [Finding(HOST, subject, why, COPY_AGAIN) for subject in changed]


def _operation_findings(model, schema):
    for name in sorted(_operations(model, schema)):
        if name in _RANDOM:
            yield Finding(
                LITERT,
                name,
                "draws random numbers: the same sentence gets a different answer each time",
                "Trace the export with `training=False`, and search without sampling.",
            )
        elif name == "ASSIGN_VARIABLE":
            yield Finding(
                LITERT,
                name,
                "writes to a variable: one sentence would affect the answer to the next",
                "Keep the state in the signature's inputs and outputs.",
            )
        elif name not in vars(schema.BuiltinOperator):
            yield Finding(
                LITERT,
                name,
                "is not a built-in operation: the runtime on a phone lacks it",
                "Convert with `tf.lite.OpsSet.TFLITE_BUILTINS` only.",
            )


def _operations(model, schema):
    """Return the names of the operations, except those that only run once to fill variables."""
    names = {
        number: name for name, number in vars(schema.BuiltinOperator).items() if name.isupper()
    }
    operations, once = {}, set()
    for index, graph in enumerate(entries_of(model, "Subgraphs")):
        operations[index] = set()
        for operator in entries_of(graph, "Operators"):
            code = model.OperatorCodes(operator.OpcodeIndex())
            # older files store the number, up to 127, in the old field
            name = names[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
            operations[index].add(code.CustomCode().decode() if name == "CUSTOM" else name)
            if name == "CALL_ONCE":
                options, table = schema.CallOnceOptions(), operator.BuiltinOptions()
                options.Init(table.Bytes, table.Pos)
                once.add(options.InitSubgraphIndex())
    return set().union(*(names for index, names in operations.items() if index not in once))


def _verb_findings(model, verb):
    if verb is not None and verb not in _signatures(model):  # a missing card is reported elsewhere
        yield Finding(HOST, "the file", f"has no signature {verb!r}", EXPORT_AGAIN)


def _signatures(model):
    return {
        signature.SignatureKey().decode(): signature
        for signature in entries_of(model, "SignatureDefs")
    }


def _signature_findings(model, schema, fixed):
    dtypes = {number: name for name, number in vars(schema.TensorType).items() if name.isupper()}
    for name, signature in sorted(_signatures(model).items()):
        graph = model.Subgraphs(signature.SubgraphIndex())
        for kind in ("Inputs", "Outputs"):
            for part in entries_of(signature, kind):
                tensor = graph.Tensors(part.TensorIndex())
                subject = f"{kind.lower()[:-1]} {part.Name().decode()!r} of signature {name!r}"
                yield from _tensor_findings(subject, tensor, dtypes[tensor.Type()], fixed)


def _tensor_findings(subject, tensor, dtype, fixed):
    if dtype == "BOOL":
        yield Finding(
            BROWSER,
            subject,
            "is bool, and a browser's runtime rejects files with bool tensors",
            "Cast it to int32 (0 or 1).",
        )
    if dtype not in _DTYPES:
        yield Finding(
            COMPILED_MODEL,
            subject,
            f"is {dtype.lower()}, which its buffers don't support",
            "Cast it to float32, or use ids instead of strings.",
        )
    if fixed and not tensor.ShapeSignatureIsNone() and -1 in tensor.ShapeSignatureAsNumpy():
        yield Finding(
            COMPILED_MODEL,
            subject,
            f"has the shape {tuple(tensor.ShapeSignatureAsNumpy().tolist())}, which is not fixed",
            "Trace the export with fixed shapes.",
        )


def _read_packing(content):
    """Return the `Contents` of a file's bytes; they have no files if the archive is unreadable."""
    try:
        return unpack(content)
    except Damage:
        return Contents(content, {}, [])


def _packing_findings(contents):
    """Return a list of `Finding`: parts that are missing or not stored in the standard way."""
    card = _card(contents)
    needed = [CARD, *dict.fromkeys(card.get("vocabularies", {"target": TARGET}).values())]
    missing = [name for name in needed if name not in contents.files]
    if missing:
        why = f"has no {' and no '.join(missing)} after the model: the file may be cut off"
        return [Finding(HOST, "the file", why, EXPORT_AGAIN)]
    return [
        *_card_findings(card),
        *_hash_findings(card, needed),
        *_metadata_findings(contents, needed),
        *_compression_findings(contents),
    ]


def _card_findings(card):
    for key in sorted({"verb", "vocabularies"} - set(card)):
        why = f"lacks the field {key!r}: a host can't know how to run the model"
        yield Finding(HOST, CARD, why, EXPORT_AGAIN)


def _hash_findings(card, needed):
    unknown = sorted({"model", *needed} - {CARD} - set(card.get("sha256", {})))
    if unknown:
        yield Finding(
            HOST,
            "card.json",
            f"has no sha256 of {' and no '.join(unknown)}: damage would go unnoticed",
            EXPORT_AGAIN,
        )


def _metadata_findings(contents, needed):
    try:
        described = metadata.decode_metadata(read_metadata(contents.model)[metadata.ENTRY])
    except (KeyError, ValueError, IndexError, struct.error):
        why = f"has no valid {metadata.ENTRY}"
        yield Finding(METADATA, "the model", why, EXPORT_AGAIN)
        return
    kinds = {file.name: file.type for file in described.associated_files}
    for name in needed:
        if name != CARD and kinds.get(name) != metadata.VOCABULARY:
            why = f"does not name {name!r} as a vocabulary"
            yield Finding(METADATA, metadata.ENTRY, why, EXPORT_AGAIN)


def _compression_findings(contents):
    for name in contents.compressed:
        why = "is compressed, and they can't read compressed files"
        yield Finding(METADATA, f"{name!r} in the file", why, "Store it uncompressed.")


def _card(contents):
    """Return the card, or an empty one if it can't be read."""
    try:
        return read_card(contents.files.get(CARD, b""))
    except Damage:
        return {}
