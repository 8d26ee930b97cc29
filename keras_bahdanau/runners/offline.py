"""Rows in, the same rows with their translations out: one picklable function for every engine."""

import dataclasses

import numpy as np

from keras_bahdanau.pipelines.translation import confidence_of
from keras_bahdanau.runners.loaded_model import find_model, load_model
from keras_bahdanau.search.search_options import SearchOptions
from keras_bahdanau.settings.limits import BATCH_SIZE
from keras_bahdanau.settings.option import check_value

ADDED = ("translation", "score", "confidence")


class BatchTranslator:
    """Function of a batch of rows that adds the translation of each, its score and confidence.

    It holds a path and options alone, so that engines can pickle it. The model is loaded in the
    process that calls it first, and once for all objects of the same path there.

    ```python
    translator = BatchTranslator("runs/en-de", beam_width=1)
    translator({"id": [7], "text": ["A man in an orange hat."]})
    # Ray Data, a model in each of two processes
    dataset.map_batches(
        BatchTranslator,
        fn_constructor_args=["runs/en-de"],
        compute=ray.data.ActorPoolStrategy(size=2),
    )
    # Spark
    frame.mapInPandas(translator.frames, "id long, text string, translation string, ...")
    ```

    Args:
        path: Path of a `.keras` file, of the directory of a training, of a version of a
            SavedModel, or of a `.tflite` file. All processes must find it there.
        column: String, the column of the inputs: texts; or for a model that reads files their
            paths, or what is in them as bytes.
        prefix: String before the names of the three columns, for rows that have such names.
        batch_size: Positive integer. Inputs decoded at once; those of a call are sorted by length.
        **search: Fields of `SearchOptions` in place of the model's own, such as `beam_width=1`.
            A SavedModel and a `.tflite` file have a fixed search.

    Call arguments:
        rows: Dictionary from names of columns to arrays or lists of one length, or a pandas
            `DataFrame`.

    Output:
        The same kind, with all columns of `rows` and, after `prefix`, "translation" (strings),
        "score" (float32, natural logarithms, see `Translation`) and "confidence" (float32 in
        [0, 1]: see `confidence_of`). A row whose input is none, such as None or a number in place
        of a text, or a file that does not exist, has "", NaN and NaN.

    Attributes:
        rows: Integer, number of rows that this object has read.
        bad_rows: Integer, how many of them had no input.

    Raises:
        FileNotFoundError: If there is no model.
        TypeError: If `rows` is neither, or there is no such field of `SearchOptions`.
        ValueError: If the model's file is damaged, an option is out of range, `rows` lack the
            column, or have one of the names to add.
    """

    def __init__(self, path, column="text", prefix="", batch_size=64, **search):
        check_value("batch_size", batch_size, BATCH_SIZE)
        self.path = find_model(path)
        if unknown := {*search} - {field.name for field in dataclasses.fields(SearchOptions)}:
            raise TypeError(
                "Options of a search must be fields of SearchOptions. "
                f"Received: {', '.join(sorted(unknown))}. Correct the name."
            )
        SearchOptions(**search)
        if self.path.suffix != ".keras" and search:
            received = ", ".join(f"{name}={value!r}" for name, value in search.items())
            raise ValueError(
                f"A {'.tflite file' if self.path.is_file() else 'SavedModel'} searches as it was "
                f"exported to. Received: {received}. Leave it out, or give the .keras file."
            )
        self.column, self.batch_size, self.search = column, batch_size, search
        self.names = tuple(prefix + name for name in ADDED)
        self.rows = self.bad_rows = 0

    def __call__(self, rows):
        columns = self.columns_of(rows)
        return {**rows, **columns} if isinstance(rows, dict) else rows.assign(**columns)

    def frames(self, frames):
        """The call for each of an iterator of rows, as Spark's `mapInPandas` asks for.

        Args:
            frames: Iterator of pandas `DataFrame`.

        Yields:
            Each of them with its columns.
        """
        return map(self, frames)

    def columns_of(self, rows):
        """The columns that the call adds: a dictionary from names to arrays `(rows,)`."""
        self._check(rows)
        loaded = load_model(self.path)
        values = [*rows[self.column]]
        inputs = [loaded.input_of(value) for value in values]
        good = [number for number, one in enumerate(inputs) if one is not None]
        self.rows, self.bad_rows = self.rows + len(values), self.bad_rows + len(values) - len(good)

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
                "`rows` must have the column that is translated. "
                f"Received: column={self.column!r}, rows with {names}. Name one of them."
            )
        if taken := [name for name in self.names if name in names]:
            raise ValueError(
                "The names of the columns to add must be new. "
                f"Received: rows with {taken}. Give a prefix, such as prefix='mt_'."
            )
