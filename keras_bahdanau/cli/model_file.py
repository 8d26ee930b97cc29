"""The model of a command: a .keras or .tflite file, opened once, and the search in it."""

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


class ModelFile(NamedTuple):
    """The path of a .keras or .tflite file, and the card in it."""

    path: Path
    card: dict

    @property
    def is_litert(self):
        """True for a .tflite file, which LiteRT runs without TensorFlow."""
        return _is_litert(self.path)

    @property
    def inputs(self):
        return self.card.get("inputs", "lines")  # files of version 0.1.0 are of text

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
    """List of the `ModelFile` that `--model` names: .keras files, or one .tflite file."""
    for path in paths:
        if _is_litert(path) and len(paths) > 1:
            raise ValueError(
                "An ensemble must be one of .keras files. "
                f"Received: {len(paths)} models, model={str(path)!r}. Give it alone."
            )
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(
                f"No model at {str(path)!r}. Give the directory of a training, a .keras or a "
                ".tflite file."
            )
        if _is_litert(path) and not path.is_file():
            raise FileNotFoundError(
                "A model must be a file, or the directory of a training. "
                f"Received: model={str(path)!r}, a directory."
            )
    return [_open_litert(path) if _is_litert(path) else open_model(path) for path in paths]


def _is_litert(path):
    return path.suffix == ".tflite"


def _open_litert(path):
    from keras_bahdanau.exporters.card import read_packed_card

    return ModelFile(path, read_packed_card(path))


def search_of(models, options, precision=None, **fixed):
    """The `SearchOptions` of a model or ensemble with explicit options; None for a .tflite file.

    An ensemble has a share of CTC only if all its models have one. `fixed` are options that a
    .tflite file does not have; ValueError if an option contradicts its export.
    """
    if models[0].is_litert:
        from keras_bahdanau.exporters.litert.litert_pipeline import check_fixed  # loads NumPy

        for name in ("trace", "explore"):
            if (page := fixed.pop(name, None)) is not None:
                raise ValueError(
                    f"A .tflite file gives no trace. Received: {name}={str(page)!r}, "
                    f"model={str(models[0].path)!r}. Give the .keras file."
                )
        return check_fixed(**options, precision=precision and precision.value, **fixed)
    searches = [model.search for model in models]
    without_ctc = {} if all(search.ctc_weight for search in searches) else {"ctc_weight": 0}
    return dataclasses.replace(searches[0], **{**without_ctc, **options})


def load_models(models, precision=None):
    """The pipeline of a file, or the ensemble of those of several; it loads what that needs."""
    if models[0].is_litert:
        return _load_litert(*models[0])
    load_tensorflow()
    from keras_bahdanau.pipelines import tasks

    precision = precision and precision.value
    pipelines = [tasks.load_pipeline(PipelineFile(*model), precision) for model in models]
    return pipelines[0] if len(pipelines) == 1 else tasks.ensemble(pipelines)


def _load_litert(path, card):
    """The pipeline in a .tflite file: of text without TensorFlow, which all other sources need."""
    from keras_bahdanau.exporters.litert.litert_pipeline import runner_of

    runner = runner_of(card)
    if runner.needs_tensorflow:
        load_tensorflow()
    with without_greetings():
        return runner(path)
