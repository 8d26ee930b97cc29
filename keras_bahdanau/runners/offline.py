"""Offline translation of rows with a picklable function, for any data engine."""

import dataclasses
import functools
import os
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_bahdanau.pipelines.archive import find_translator
from keras_bahdanau.pipelines.translation import confidence_of
from keras_bahdanau.search.search_options import SearchOptions
from keras_bahdanau.settings.cores import usable_cores
from keras_bahdanau.settings.limits import BATCH_SIZE
from keras_bahdanau.settings.option import check_value

_EXPORTS = {".tflite": "A .tflite file", ".onnx": "An .onnx file"}  # by suffix
ADDED = ("translation", "score", "confidence")
_LOADING, _COUNTING = threading.Lock(), threading.Lock()


class BatchTranslator:
    """Callable that adds translations, scores and confidences to a batch of rows.

    It stores only a path and options, so engines can pickle it. Each process loads the model once.
    Any number of threads may share it. With a .tflite file, one thread decodes at a time.

    ```python
    translator = BatchTranslator("runs/en-de", beam_width=1)
    translator({"id": [7], "text": ["A man in an orange hat."]})
    # Ray Data: two processes, each with its own model
    dataset.map_batches(
        BatchTranslator,
        fn_constructor_args=["runs/en-de"],
        compute=ray.data.ActorPoolStrategy(size=2),
    )
    # Spark
    frame.mapInPandas(translator.frames, "id long, text string, translation string, ...")
    ```

    Args:
        path: Path of a `.keras` file, a training directory, a version of a SavedModel, or a
            `.tflite` or `.onnx` file. It must be the same in every process.
        column: String, name of the column that contains the inputs: text, or paths or bytes of
            files.
        prefix: String, prefix for the names of the three new columns.
        batch_size: Positive integer. Number of inputs that are decoded together; each call sorts
            its inputs by length.
        **search: Fields of `SearchOptions` that override the model's, such as `beam_width=1`.
            Only a `.keras` file accepts them, since an export has a fixed search.

    Call arguments:
        rows: Dictionary from column names to arrays or lists, or a pandas `DataFrame`.

    Output:
        `rows` with three more columns: "translation" (strings), "score" (float32, in
        nats) and "confidence" (float32 in [0, 1]). In a row without a valid input, such as None or
        a missing file, they are "", NaN and NaN.

    Attributes:
        rows: Integer, number of rows read.
        bad_rows: Integer, number of rows without a valid input.

    Raises:
        FileNotFoundError: If the model does not exist.
        TypeError: If `rows` has the wrong type, or `search` contains an unknown field.
        ValueError: If the model's file is damaged, if an option is out of range, or if `rows`
            lacks the column or already has one of the new columns.
    """

    def __init__(self, path, column="text", prefix="", batch_size=64, **search):
        check_value("batch_size", batch_size, BATCH_SIZE)
        self.path = find_model(path)
        if unknown := {*search} - {field.name for field in dataclasses.fields(SearchOptions)}:
            raise TypeError(
                "Search options must be fields of SearchOptions. "
                f"Received: {', '.join(sorted(unknown))}. Correct the name."
            )
        SearchOptions(**search)
        if self.path.suffix != ".keras" and search:
            received = ", ".join(f"{name}={value!r}" for name, value in search.items())
            raise ValueError(
                f"{_EXPORTS.get(self.path.suffix, 'A SavedModel')} has a fixed "
                f"search. Received: {received}. Leave it out, or use the .keras file."
            )
        self.column, self.batch_size, self.search = column, batch_size, search
        self.names = tuple(prefix + name for name in ADDED)
        self.rows = self.bad_rows = 0

    def __call__(self, rows):
        columns = self.columns_of(rows)
        return {**rows, **columns} if isinstance(rows, dict) else rows.assign(**columns)

    def frames(self, frames):
        """Apply the translator to an iterator of DataFrames, as Spark's `mapInPandas` requires."""
        return map(self, frames)

    def columns_of(self, rows):
        """Return the columns that a call adds: a dictionary from names to arrays `(rows,)`."""
        self._check(rows)
        loaded = load_model(self.path)
        values = [*rows[self.column]]
        inputs = [loaded.input_of(value) for value in values]
        good = [number for number, source in enumerate(inputs) if source is not None]
        with _COUNTING:
            self.rows += len(values)
            self.bad_rows += len(values) - len(good)

        texts = np.full(len(values), "", object)
        scores, confidences = np.full((2, len(values)), np.nan, np.float32)
        search = loaded.search_with(self.search)
        results = loaded.decode([inputs[number] for number in good], self.batch_size, search)
        for number, result in zip(good, results, strict=True):
            texts[number], scores[number] = result.text, result.score
            confidences[number] = confidence_of(result, search)
        return dict(zip(self.names, (texts, scores, confidences), strict=True))

    def _check(self, rows):
        if not isinstance(rows, dict) and not hasattr(rows, "assign"):
            raise TypeError(
                "`rows` must be a dictionary of columns, or a pandas DataFrame. "
                f"Received: rows of type {type(rows).__name__}."
            )
        names = [*rows]
        if self.column not in names:
            raise ValueError(
                "`rows` must have the column to translate. "
                f"Received: column={self.column!r}, rows with {names}. Name one of them."
            )
        if taken := [name for name in self.names if name in names]:
            raise ValueError(
                "The names of the columns to add must be new. "
                f"Received: rows with {taken}. Set a prefix, such as prefix='mt_'."
            )


def find_model(path):
    """Return the absolute path of the model at `path`: a file, or the directory of a SavedModel.

    A training directory becomes the path of its `.keras` file, which is checked without TensorFlow.
    Raises ValueError if that file is damaged.
    """
    path = Path(path).absolute()
    if (path / "saved_model.pb").is_file() or path.suffix in _EXPORTS and path.is_file():
        return path
    try:
        return find_translator(path)
    except FileNotFoundError:
        raise FileNotFoundError(
            "A model must be a .keras, .tflite or .onnx file, a training directory, or the "
            f"directory of one version of a SavedModel. Received: path={str(path)!r}, which is "
            "none of these. Correct it."
        ) from None


class LoadedModel(NamedTuple):
    """A model that has been loaded into this process."""

    pipeline: Any  # `Pipeline`, or the runner of an export
    search: SearchOptions  # the options in the model's file
    fixed: bool  # True if the search can't be changed
    inputs: str  # see `Source.inputs_are`

    def search_with(self, changes):
        """Return the model's `SearchOptions` with some fields changed."""
        return SearchOptions(**{**vars(self.search), **changes})

    def decode(self, inputs, batch_size, search):
        """Return a list with one `Translation` per input."""
        return self.pipeline.decode(inputs, batch_size, None if self.fixed else search)

    def input_of(self, value):
        """Convert the value in a row to an input of the source; None if the value is invalid."""
        try:
            source = _READ.get(self.inputs, lambda value: value)(value)
            self.pipeline.source.check("rows", [source])
        except (OSError, TypeError, ValueError):
            return None
        return source


def load_model(path):
    """Return the `LoadedModel` at a path. It is cached, and loaded again if the file changes."""
    status = os.stat(path)
    with _LOADING:
        return _loaded(path, status.st_ino, status.st_size, status.st_mtime_ns)


@functools.lru_cache(1)
def _loaded(path, *state):
    cores = usable_cores()  # the cores that the engine assigns to this process
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", str(max(1, cores // 2)))
    os.environ.setdefault("TF_NUM_INTEROP_THREADS", str(cores))
    if path.suffix == ".keras":
        from keras_bahdanau.pipelines.tasks import load_pipeline

        pipeline = load_pipeline(path)
        return LoadedModel(pipeline, pipeline.search, False, pipeline.source.inputs_are)
    pipeline = _artefact(path)
    card = pipeline.card
    return LoadedModel(
        pipeline, SearchOptions.from_config(card["search"]), True, card.get("inputs", "lines")
    )


def _artefact(path):
    """Return the object that runs an exported file."""
    if path.suffix == ".tflite":
        from keras_bahdanau.exporters.litert.litert_pipeline import open_litert

        return open_litert(path)
    if path.suffix == ".onnx":
        from keras_bahdanau.exporters.onnx.onnx_pipeline import open_onnx

        return open_onnx(path)
    from keras_bahdanau.exporters.saved_model.saved_model_pipeline import SavedModelPipeline

    return SavedModelPipeline(path)


def _text(value):
    """Convert a value to a string that UTF-8 can encode.

    Raises TypeError for numbers and missing values.
    """
    if not isinstance(value, str | bytes):
        raise TypeError(f"A text input must be a string. Received: {value!r:.80}")
    text = value if isinstance(value, str) else value.decode()
    text.encode()
    return text


def _file(value):
    """Return the content of a file as given, or the path of an existing file."""
    if isinstance(value, bytes):
        return value
    path = Path(value)
    if not path.is_file():
        raise FileNotFoundError(f"A file must exist. Received: path={str(path)!r:.200}")
    return path


_READ = {"lines": _text, "files": _file}
