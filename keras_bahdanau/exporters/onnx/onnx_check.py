"""Check an ONNX file for damage and for parts that runtimes reject, without TensorFlow."""

from keras_bahdanau.exporters.card import CARD, sha256
from keras_bahdanau.exporters.exporter import Finding
from keras_bahdanau.exporters.onnx.graph_facts import read_facts
from keras_bahdanau.exporters.onnx.onnx_conversion import DOMAINS
from keras_bahdanau.exporters.onnx.onnx_file import read_onnx, unpack
from keras_bahdanau.exporters.onnx.onnx_runner import open_session
from keras_bahdanau.files.integrity import Damage

ONNX, HOST = "ONNX Runtime", "OnnxPipeline"
EXPORT_AGAIN = "Export it again."
COPY_AGAIN = "Copy the file again, or export it again."
_RANDOM = {
    *("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"),
    *("RandomUniform", "RandomUniformLike"),
}


def find_onnx_damage(path):
    """Return a list of `Finding`: the parts of an ONNX file that have changed since its export."""
    try:
        contents = unpack(read_onnx(path))
        if CARD not in contents.files and not contents.is_sealed:
            return []  # there is no hash to compare with
        card = contents.card
    except Damage as error:
        return [Finding(ONNX, "the file", f"is not an exported ONNX file: {error}", COPY_AGAIN)]
    parts = {"model": contents.model, **contents.files}
    changed = [
        f"{name!r} in the file"
        for name, expected in card.get("sha256", {}).items()
        if name in parts and sha256(parts[name]) != expected
    ]
    if not contents.seal_fits:
        changed = changed or ["the file"]
    why = "is damaged or was modified: its sha256 has changed"
    return [Finding(HOST, subject, why, COPY_AGAIN) for subject in changed]


def check_onnx(path):
    """Check an ONNX file, and return a list of `Finding`.

    Raises ImportError if `onnxruntime` is not installed.
    """
    content = read_onnx(path)
    try:
        contents = unpack(content)
        facts = read_facts(contents.model)
    except Damage as error:
        return [Finding(ONNX, "the file", f"is not an ONNX file: {error}", EXPORT_AGAIN)]
    findings = [*_operation_findings(facts), *_packing_findings(contents)]
    if facts.external:
        why = "has tensors in other files, which a copy of this file lacks"
        return [Finding(ONNX, "the file", why, "Save the model to a single file."), *findings]
    try:
        open_session(content)
    except ValueError as error:  # the runtime lacks an operation, or shapes do not match
        return [*findings, Finding(ONNX, "the file", f"does not load ({error})", EXPORT_AGAIN)]
    return findings


def describe_onnx(path):
    """Return (card, list of lines about the graph). Raises ValueError if the file has no card."""
    contents = unpack(read_onnx(path))
    return contents.card, [*read_facts(contents.model).lines()]


def _operation_findings(facts):
    for domain, name in sorted(facts.operations):
        if domain not in DOMAINS:
            yield Finding(
                ONNX,
                f"{name} of {domain!r}",
                "is not an operation of ONNX itself: other runtimes lack it",
                f"Rewrite that step with operations in opset {facts.opsets.get('', '')}.",
            )
        elif name in _RANDOM:
            yield Finding(
                ONNX,
                name,
                "draws random numbers: the same input gets a different answer each time",
                "Trace the export with `training=False`, and search without sampling.",
            )


def _packing_findings(contents):
    try:
        card = contents.card
    except Damage as error:
        yield Finding(HOST, "the file", f"has no valid card: {error}", EXPORT_AGAIN)
        return
    needed = [*dict.fromkeys(card.get("vocabularies", {}).values())]
    missing = [name for name in needed if name not in contents.files]
    if missing:
        why = f"has no {' and no '.join(missing)} in its metadata"
        yield Finding(HOST, "the file", why, EXPORT_AGAIN)
    unknown = sorted({"model", *needed} - set(card.get("sha256", {})))
    if unknown:
        why = f"has no sha256 of {' and no '.join(unknown)}: damage would go unnoticed"
        yield Finding(HOST, CARD, why, EXPORT_AGAIN)
