"""All export formats, and an export to all of them with one table that compares them with Keras."""

from pathlib import Path

from keras_bahdanau.exporters.browser.browser_exporter import BrowserExporter
from keras_bahdanau.exporters.keras_models.litert_model import LiteRTModelExporter
from keras_bahdanau.exporters.keras_models.onnx_model import OnnxModelExporter
from keras_bahdanau.exporters.keras_models.saved_model_model import KerasSavedModelExporter
from keras_bahdanau.exporters.litert.litert_exporter import LiteRTExporter
from keras_bahdanau.exporters.onnx.onnx_exporter import OnnxExporter
from keras_bahdanau.exporters.publishing import export_together, require_pipeline, reserved
from keras_bahdanau.exporters.saved_model.ids_exporter import IdsSavedModelExporter
from keras_bahdanau.exporters.saved_model.saved_model_exporter import SavedModelExporter
from keras_bahdanau.files.integrity import Damage
from keras_bahdanau.settings.guesses import check_keywords

# The keys are the names on the command line, in the order of the table. If several formats
# recognize an artefact, the last one is used: LiteRT recognizes any file, and SavedModel any
# directory, even a page.
FORMATS = {
    "saved-model": SavedModelExporter,
    "saved-model-ids": IdsSavedModelExporter,
    "litert": LiteRTExporter,
    "onnx": OnnxExporter,
    "browser": BrowserExporter,
}
MODEL_FORMATS = {
    "saved-model": KerasSavedModelExporter,
    "litert": LiteRTModelExporter,
    "onnx": OnnxModelExporter,
}
PARITY = "parity.json"


@check_keywords()
def export_all(
    pipeline,
    directory,
    max_source_length=None,
    max_target_length=64,
    sentences=None,
    references=None,
    allow_differences=False,
    say=None,
    signatures=None,
):
    """Write all variants of all formats in `FORMATS`, and a table that compares them with Keras.

    The variants are `1/` for TensorFlow Serving and `model.float32.tflite`, `model.float16.tflite`
    and `model.int8.tflite`. `parity.json` and each card contain a table of size, agreement, speed
    and, if there are references, metrics such as BLEU. No artefact gets its final name until all of
    them have passed their checks.

    Raises FileExistsError unless `directory` is new or contains only numbered versions. The default
    of `max_source_length` is 64 in the LiteRT files; in the SavedModel it is the value in the
    pipeline's search options. `max_target_length` applies to the LiteRT files. Each format ignores
    the `signatures` that it does not support. Other arguments and errors are as in
    `export_saved_model` and `export_litert`. Returns the paths in the order of `FORMATS`.
    """
    from keras_bahdanau.exporters.comparison import Comparison  # loads NumPy

    require_pipeline(pipeline)
    directory = Path(directory)
    settings = {
        "max_source_length": max_source_length,
        "max_target_length": max_target_length,
        "signatures": signatures,
    }
    exporters = [
        exporter for format in FORMATS.values() for exporter in format.variants(**settings)
    ]
    for exporter in exporters:
        exporter.require(pipeline)
    artefacts = {e.destination(directory / e.file_name): e for e in exporters}
    with reserved(artefacts):
        comparison = Comparison(pipeline, sentences, references, say)
        draft, table = directory / "all", directory / PARITY
        return export_together(artefacts, pipeline, comparison, draft, allow_differences, table)


def exporter_of(path):
    """Return the `Exporter` class for an artefact.

    Raises FileNotFoundError if it does not exist, and ValueError if it is not an artefact.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(
            "The artefact must exist. "
            f"Received: path={str(path)!r}. Check the spelling, or export a translator first."
        )
    if path.suffix == ".keras":
        raise ValueError(
            "An artefact must be an exported model. Received: "
            f"path={str(path)!r}, which is not exported. It is checked whenever it is loaded."
        )
    # the first SavedModel format takes any directory that all other formats reject
    for format in reversed([*FORMATS.values(), *MODEL_FORMATS.values()]):
        if format.recognizes(path):
            return format
    raise ValueError(
        "An artefact must be a file or a directory. "
        f"Received: path={str(path)!r}. Pass the path of an export."
    )


def check(path):
    """Check an artefact for damage and for parts that its runtimes reject, without running it.

    ```python
    for finding in check("models/en-de"):
        print(finding)
    ```

    `path` is a page, a LiteRT or ONNX file, or a SavedModel: the directory of one version, or the
    directory of all versions, of which the newest is checked. Returns a list of `Finding`, which is
    empty if nothing is wrong.

    Raises FileNotFoundError if `path` does not exist, ValueError if it is neither a file nor a
    directory, and ImportError if the library that runs the file is missing.
    """
    exporter = exporter_of(path)()
    return exporter.damage(Path(path)) or exporter.check(Path(path))


def describe(path):
    """Describe an undamaged artefact: the lines of its card and metadata, as one string.

    Raises ValueError if the card is invalid.
    """
    try:
        text = exporter_of(path)().describe(Path(path))
    except (Damage, KeyError, OverflowError) as error:
        raise ValueError(
            "An artefact's card must contain the fields that an export writes. "
            f"Received: path={str(path)!r} ({error}). Export the translator again."
        ) from None
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )  # a card may contain terminal control sequences
