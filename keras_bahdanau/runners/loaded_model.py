"""The model of a path, of whatever format, loaded once in a process: for rows in many batches."""

import functools
import os
import threading
from pathlib import Path
from typing import Any, NamedTuple

from keras_bahdanau.pipelines.file import find_translator
from keras_bahdanau.search.search_options import SearchOptions
from keras_bahdanau.settings.cores import usable_cores

_LOADING = threading.Lock()


def find_model(path):
    """The model that a user means, checked without TensorFlow.

    Args:
        path: Path, as `BatchTranslator` takes it.

    Returns:
        Absolute `Path` of a `.keras` or `.tflite` file, or of the directory of a SavedModel.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If a `.keras` file is damaged.
    """
    path = Path(path).absolute()
    if (path / "saved_model.pb").is_file() or path.suffix == ".tflite" and path.is_file():
        return path
    try:
        return find_translator(path)
    except FileNotFoundError:
        raise FileNotFoundError(
            "A model must be a .keras or .tflite file, the directory of a training, or that of one "
            f"version of a SavedModel. Received: path={str(path)!r}, none of them. Correct it."
        ) from None


class LoadedModel(NamedTuple):
    """A model in this process.

    Attributes:
        pipeline: `Pipeline`, or what stands for one of an artefact.
        search: `SearchOptions` of the model itself.
        fixed: True if no others can be given.
        inputs: String, the form of the inputs: see `Source.inputs_are`.
    """

    pipeline: Any
    search: SearchOptions
    fixed: bool
    inputs: str

    def search_with(self, changes):
        """The model's `SearchOptions` with some fields changed."""
        return SearchOptions(**{**vars(self.search), **changes})

    def decode(self, inputs, batch_size, search):
        """List of `Translation`, one an input."""
        return self.pipeline.decode(inputs, batch_size, None if self.fixed else search)

    def input_of(self, value):
        """The input of the source that a value of a row is; None if it is none."""
        try:
            one = _READ.get(self.inputs, lambda value: value)(value)
            self.pipeline.source.check("rows", [one])
        except (OSError, TypeError, ValueError):
            return None
        return one


def load_model(path):
    """The model of a path, loaded once in this process; again if the file has changed.

    Args:
        path: Path that `find_model` gave.

    Returns:
        `LoadedModel`.
    """
    status = os.stat(path)
    with _LOADING:
        return _loaded(path, status.st_ino, status.st_size, status.st_mtime_ns)


@functools.lru_cache(1)
def _loaded(path, *of_this_state):
    cores = usable_cores()  # as many as the engine gives this process
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", str(max(1, cores // 2)))
    os.environ.setdefault("TF_NUM_INTEROP_THREADS", str(cores))
    if path.suffix == ".keras":
        from keras_bahdanau.pipelines.by_source import load_pipeline

        pipeline = load_pipeline(path)
        return LoadedModel(pipeline, pipeline.search, False, pipeline.source.inputs_are)
    pipeline = _artefact(path)
    card = pipeline.card
    return LoadedModel(
        pipeline, SearchOptions.from_config(card["search"]), True, card.get("inputs", "lines")
    )


def _artefact(path):
    """The object that runs an export."""
    if path.suffix == ".tflite":
        from keras_bahdanau.exporters.litert.litert_pipeline import runner_of

        return runner_of(path)(path)
    from keras_bahdanau.exporters.saved_model.saved_model_pipeline import SavedModelPipeline

    return SavedModelPipeline(path)


def _text(value):
    """A text as a string that UTF-8 can encode, whatever numbers or gaps a column has."""
    if not isinstance(value, str | bytes):
        raise TypeError(f"A text must be a string. Received: {value!r:.80}")
    text = value if isinstance(value, str) else value.decode()
    text.encode()
    return text


def _file(value):
    """A file: its content, or the path of one that exists."""
    if isinstance(value, bytes):
        return value
    path = Path(value)
    if not path.is_file():
        raise FileNotFoundError(f"A file must exist. Received: path={str(path)!r:.200}")
    return path


_READ = {"lines": _text, "files": _file}
