"""The export formats, and an export to all of them, compared with Keras in one table."""

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

# By the name on the command line, in the order of the table. The last format that recognizes an
# artefact is used: LiteRT recognizes any file, and a page is a directory.
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
    """Write all variants of all formats of `FORMATS`, and one table that compares them with Keras.

    The variants are `1/` for TensorFlow Serving and `model.float32.tflite`, `model.float16.tflite`
    and `model.int8.tflite`. `parity.json` and each card hold the table of size, agreement, speed
    and, with references, metrics such as BLEU. No artefact gets its name before all pass their
    checks.

    `directory` must be new, or hold only numbered versions, or FileExistsError. `max_source_length`
    is 64 in the LiteRT files, and that of the pipeline's search in the SavedModel, by default;
    `max_target_length` is for the LiteRT files. Each format uses the `signatures` that it knows.
    Other arguments and errors: as in `export_saved_model` and `export_litert`. Returns the paths,
    in the order of `FORMATS`.
    """
    from keras_bahdanau.exporters.comparison import Comparison  # which loads NumPy

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
    """The class of the exporter of an artefact; FileNotFoundError or ValueError if it has none."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(
            "An artefact to check must exist. "
            f"Received: path={str(path)!r}. Check the spelling, or export a translator first."
        )
    if path.suffix == ".keras":
        raise ValueError(
            "An artefact must be an export of a model. "
            f"Received: path={str(path)!r}, a model itself. It is checked whenever it is loaded."
        )
    # the first SavedModel format accepts any directory that no other format accepts
    for format in reversed([*FORMATS.values(), *MODEL_FORMATS.values()]):
        if format.recognizes(path):
            return format
    raise ValueError(
        "An artefact must be a file or a directory. "
        f"Received: path={str(path)!r}. Give the path of an export."
    )


def check(path):
    """Check an artefact for damage and for parts that its runtimes reject, without running it.

    ```python
    for finding in check("models/en-de"):
        print(finding)
    ```

    `path` is a SavedModel (one version, or the directory of its versions, for the newest), a page,
    or a LiteRT or ONNX file. Returns a list of `Finding`, empty if nothing is wrong. Raises
    FileNotFoundError if it does not exist; ImportError for a file without the library that runs it;
    ValueError if it is neither a file nor a directory.
    """
    exporter = exporter_of(path)()
    return exporter.damage(Path(path)) or exporter.check(Path(path))


def describe(path):
    """The card and metadata of an undamaged artefact, in lines; ValueError for an invalid card."""
    try:
        text = exporter_of(path)().describe(Path(path))
    except (Damage, KeyError, OverflowError) as error:
        raise ValueError(
            "The card of an artefact must hold what an export writes. "
            f"Received: path={str(path)!r} ({error}). Export the translator again."
        ) from None
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )  # a card may hold control sequences of a terminal
