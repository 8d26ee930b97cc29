"""Check of an ONNX file for parts that runtimes reject, and for damage; without TensorFlow."""

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
    """Find the parts of an ONNX file that have changed since its export: a list of `Finding`."""
    try:
        contents = unpack(read_onnx(path))
        if CARD not in contents.files and not contents.is_sealed:
            return []  # and no hash to compare with
        card = contents.card
    except Damage as error:
        return [Finding(ONNX, "the file", f"is no ONNX file of an export: {error}", COPY_AGAIN)]
    parts = {"model": contents.model, **contents.files}
    changed = [
        f"{name!r} in the file"
        for name, expected in card.get("sha256", {}).items()
        if name in parts and sha256(parts[name]) != expected
    ]
    if not contents.seal_fits:
        changed = changed or ["the file"]
    why = "is damaged, or was changed: it has another sha256"
    return [Finding(HOST, subject, why, COPY_AGAIN) for subject in changed]


def check_onnx(path):
    """List of `Finding` in an ONNX file; raises ImportError without `onnxruntime`."""
    content = read_onnx(path)
    try:
        contents = unpack(content)
        facts = read_facts(contents.model)
    except Damage as error:
        return [Finding(ONNX, "the file", f"is no ONNX file: {error}", EXPORT_AGAIN)]
    findings = [*_operation_findings(facts), *_packing_findings(contents)]
    if facts.external:
        why = "has tensors in other files, which a copy of this file lacks"
        return [Finding(ONNX, "the file", why, "Save the model in one file."), *findings]
    try:
        open_session(content)
    except ValueError as error:  # an operation newer than the runtime, or shapes that do not fit
        return [*findings, Finding(ONNX, "the file", f"does not load ({error})", EXPORT_AGAIN)]
    return findings


def describe_onnx(path):
    """(card, list of lines about the graph) of a file; ValueError if it has none."""
    contents = unpack(read_onnx(path))
    return contents.card, [*read_facts(contents.model).lines()]


def _operation_findings(facts):
    for domain, name in sorted(facts.operations):
        if domain not in DOMAINS:
            yield Finding(
                ONNX,
                f"{name} of {domain!r}",
                "is no operation of ONNX itself: other runtimes do not have it",
                f"Write that step with operations of opset {facts.opsets.get('', '')}.",
            )
        elif name in _RANDOM:
            yield Finding(
                ONNX,
                name,
                "draws random numbers: the same input gets another answer each time",
                "Trace the export with `training=False`, and search without sampling.",
            )


def _packing_findings(contents):
    try:
        card = contents.card
    except Damage as error:
        yield Finding(HOST, "the file", f"has no card: {error}", EXPORT_AGAIN)
        return
    needed = [*dict.fromkeys(card.get("vocabularies", {}).values())]
    missing = [name for name in needed if name not in contents.files]
    if missing:
        why = f"has no {' and no '.join(missing)} in its metadata"
        yield Finding(HOST, "the file", why, EXPORT_AGAIN)
    unknown = sorted({"model", *needed} - set(card.get("sha256", {})))
    if unknown:
        why = f"has no sha256 of {' and no '.join(unknown)}: damage would not be seen"
        yield Finding(HOST, CARD, why, EXPORT_AGAIN)
