"""The model of a command: a .keras file or an export, opened once, and its search options."""

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


FORMS = {".tflite": "A .tflite file", ".onnx": "An .onnx file"}  # exports that commands can run


class ModelFile(NamedTuple):
    """The path of a .keras, .tflite or .onnx file, and its card."""

    path: Path
    card: dict

    @property
    def is_export(self):
        """True for a .tflite or .onnx file, which runs without TensorFlow and the Keras model."""
        return is_export(self.path)

    @property
    def form(self):
        """String, the kind of an export's file, to begin an error message."""
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
                f"This command is for models that read {form}. Received: "
                f"model={str(self.path)!r}, which reads {self.inputs}. "
                f"Use {instead or _READERS.get(str(self.inputs), 'another command')}."
            )


def open_model(path):
    """The `ModelFile` of a .keras file, or of the directory of a training."""
    return ModelFile(*open_pipeline_file(path))


def open_models(paths):
    """List of the `ModelFile`s of `--model`: .keras files, or one export."""
    for path in paths:
        if is_export(path) and len(paths) > 1:
            raise ValueError(
                "An ensemble must consist of .keras files. "
                f"Received: {len(paths)} models, model={str(path)!r}. Give it alone."
            )
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(
                f"No model at {str(path)!r}. Give the directory of a training, or a .keras, "
                ".tflite or .onnx file."
            )
        if is_export(path) and not path.is_file():
            raise FileNotFoundError(
                "A model must be a file, or the directory of a training. "
                f"Received: model={str(path)!r}, a directory."
            )
    return [_open_export(path) if is_export(path) else open_model(path) for path in paths]


def is_export(path):
    """True for the path of a .tflite or .onnx file."""
    return path.suffix in FORMS


def _open_export(path):
    if path.suffix == ".onnx":
        from keras_bahdanau.exporters.onnx.onnx_file import open_sealed

        _, contents = open_sealed(path)
        return ModelFile(path, contents.card)
    from keras_bahdanau.exporters.card import read_packed_card

    return ModelFile(path, read_packed_card(path))


def search_of(models, options, precision=None, **fixed):
    """The `SearchOptions` of a model or ensemble with explicit options; None for an export.

    An ensemble uses CTC only if all its models do. `fixed` are options that an export does not
    have. Raises ValueError if an option contradicts an export.
    """
    if models[0].is_export:
        from keras_bahdanau.exporters.litert.litert_pipeline import check_fixed  # loads NumPy

        for name in ("trace", "explore"):
            if (page := fixed.pop(name, None)) is not None:
                raise ValueError(
                    f"{models[0].form} gives no trace. Received: {name}={str(page)!r}, "
                    f"model={str(models[0].path)!r}. Give the .keras file."
                )
        precision = precision and precision.value
        return check_fixed(models[0].form, **options, precision=precision, **fixed)
    searches = [model.search for model in models]
    without_ctc = {} if all(search.ctc_weight for search in searches) else {"ctc_weight": 0}
    return dataclasses.replace(searches[0], **{**without_ctc, **options})


def load_models(models, precision=None):
    """Load the pipeline of one file, or the ensemble of several files."""
    if models[0].is_export:
        return _load_export(*models[0])
    load_tensorflow()
    from keras_bahdanau.pipelines import tasks

    precision = precision and precision.value
    pipelines = [tasks.load_pipeline(PipelineFile(*model), precision) for model in models]
    return pipelines[0] if len(pipelines) == 1 else tasks.ensemble(pipelines)


def _load_export(path, card):
    """Load the pipeline of an export; all sources except text need TensorFlow."""
    if path.suffix == ".onnx":
        from keras_bahdanau.exporters.onnx.onnx_pipeline import onnx_runner_of as runner_of
    else:
        from keras_bahdanau.exporters.litert.litert_pipeline import runner_of

    runner = runner_of(card)
    if runner.needs_tensorflow:
        load_tensorflow()
    with without_greetings():
        return runner(path)
