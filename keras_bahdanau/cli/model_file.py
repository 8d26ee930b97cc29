"""The model that a command uses: a .keras file or an export, and its search options."""

import dataclasses
from pathlib import Path
from typing import NamedTuple

from keras_bahdanau.cli.console import load_tensorflow
from keras_bahdanau.pipelines.archive import PipelineFile, open_pipeline_file
from keras_bahdanau.search.search_options import SearchOptions
from keras_bahdanau.settings.greetings import without_greetings

_READERS = {
    "lines": "translate",
    "files": "read or transcribe",
    "arrays": "it from Python: `load_pipeline`",
}


FORMS = {".tflite": "A .tflite file", ".onnx": "An .onnx file"}  # the exports that commands can run


class ModelFile(NamedTuple):
    """The path of a .keras, .tflite or .onnx file, and its card."""

    path: Path
    card: dict

    @property
    def is_export(self):
        """True for a .tflite or .onnx file, which needs neither TensorFlow nor the Keras model."""
        return is_export(self.path)

    @property
    def form(self):
        """String: the type of the exported file, as the beginning of an error message."""
        return FORMS[self.path.suffix]

    @property
    def inputs(self):
        return self.card.get("inputs", "lines")  # version 0.1.0 had only text

    @property
    def search(self):
        return SearchOptions.from_config(self.card["search"])

    def require_inputs(self, form, instead=None):
        if self.inputs != form:
            raise ValueError(
                f"This command needs a model that reads {form}. Received: "
                f"model={str(self.path)!r}, which reads {self.inputs}. "
                f"Use {instead or _READERS.get(str(self.inputs), 'another command')}."
            )


def open_model(path):
    """Open a .keras file, or the output directory of a training run, as a `ModelFile`."""
    return ModelFile(*open_pipeline_file(path))


def open_models(paths):
    """Open the files given by `--model`, .keras files or a single export, as `ModelFile`s."""
    for path in paths:
        if is_export(path) and len(paths) > 1:
            raise ValueError(
                "An ensemble must consist of .keras files. "
                f"Received: {len(paths)} models, model={str(path)!r}. Give only that model."
            )
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(
                f"No model at {str(path)!r}. Give the output directory of a training run, or a "
                ".keras, .tflite or .onnx file."
            )
        if is_export(path) and not path.is_file():
            raise FileNotFoundError(
                "A .tflite or .onnx model must be a file. "
                f"Received: model={str(path)!r}, a directory."
            )
    return [_open_export(path) if is_export(path) else open_model(path) for path in paths]


def is_export(path):
    """Return True for the path of a .tflite or .onnx file."""
    return path.suffix in FORMS


def _open_export(path):
    if path.suffix == ".onnx":
        from keras_bahdanau.exporters.onnx.onnx_file import open_sealed

        _, contents = open_sealed(path)
        return ModelFile(path, contents.card)
    from keras_bahdanau.exporters.card import read_packed_card

    return ModelFile(path, read_packed_card(path))


def search_of(models, options, precision=None, **fixed):
    """Return the `SearchOptions` of a model or an ensemble, updated with explicit `options`.

    Returns None for an export, whose search is fixed. An ensemble uses CTC only if all its models
    do. `fixed` contains options that an export does not support. Raises ValueError if an option is
    incompatible with an export.
    """
    if models[0].is_export:
        from keras_bahdanau.exporters.litert.litert_pipeline import check_fixed  # loads NumPy

        for name in ("trace", "explore"):
            if (page := fixed.pop(name, None)) is not None:
                raise ValueError(
                    f"{models[0].form} can't be traced. Received: {name}={str(page)!r}, "
                    f"model={str(models[0].path)!r}. Use the .keras file."
                )
        precision = precision and precision.value
        return check_fixed(models[0].form, **options, precision=precision, **fixed)
    searches = [model.search for model in models]
    without_ctc = {} if all(search.ctc_weight for search in searches) else {"ctc_weight": 0}
    return dataclasses.replace(searches[0], **{**without_ctc, **options})


def load_models(models, precision=None):
    """Load the pipeline in one file, or several files as an ensemble."""
    if models[0].is_export:
        return _load_export(*models[0])
    load_tensorflow()
    from keras_bahdanau.pipelines import tasks

    precision = precision and precision.value
    pipelines = [tasks.load_pipeline(PipelineFile(*model), precision) for model in models]
    return pipelines[0] if len(pipelines) == 1 else tasks.ensemble(pipelines)


def _load_export(path, card):
    """Load the pipeline of an export. TensorFlow is needed for every source except text."""
    if path.suffix == ".onnx":
        from keras_bahdanau.exporters.onnx.onnx_pipeline import onnx_runner_of as runner_of
    else:
        from keras_bahdanau.exporters.litert.litert_pipeline import runner_of

    runner = runner_of(card)
    if runner.needs_tensorflow:
        load_tensorflow()
    with without_greetings():
        return runner(path)
