"""The protocol for export formats, which are subclasses of `Exporter` in `all_formats.FORMATS`.

See `docs/adding_one.md`; `PhraseBook` in `tests/exporters/test_exporter.py` is a minimal format.
The command line imports all formats to list them, so they import TensorFlow and LiteRT only within
methods.
"""

import abc
from collections.abc import Sequence
from typing import Any, NamedTuple

from keras_bahdanau.exporters.publishing import publish, require_absent
from keras_bahdanau.files.integrity import require_finite_weights
from keras_bahdanau.search import require_deterministic

MOST_LISTED = 64  # number of inputs for which lists of hypotheses are compared


class Finding(NamedTuple):
    """A fault that would make an artefact fail in deployment. `str()` returns a message.

    Attributes:
        runtime: String, the program that would fail, such as "TensorFlow Serving".
        part: String, the faulty part, such as "PyFunc in signature 'serving_default'".
        why: String, the rest of the sentence that begins with `part`, without the full stop.
        remedy: String, a sentence that tells the user what to do.
    """

    runtime: str
    part: str
    why: str
    remedy: str

    def __str__(self):
        return f"{self.runtime}: {self.part} {self.why}. {self.remedy}"


class Answer(NamedTuple):
    """One hypothesis from an artefact for one input; fields that were not requested are None."""

    text: str
    score: float
    alignment: Any = None  # float32 (target_time, source_time)
    token_log_probs: Any = None  # float32 (target_time,)
    token_entropies: Any = None  # float32 (target_time,)
    confidence: float | None = None


class Listed(NamedTuple):
    """All hypotheses from an artefact for one input."""

    row: int  # index of the input
    prefix: str  # the requested beginning of each text, or ""
    hypotheses: list  # of `Answer`, best first


class Answers(NamedTuple):
    """Answers of an artefact to inputs; `received` and `seconds` have one entry per input."""

    received: list  # lists of `Answer`, the first one for the input alone; empty if too long
    seconds: list  # times for the input alone; None if it is too long
    longest: int | None = None  # maximum number of target tokens; None if there is no limit
    longest_source: int | None = None  # maximum source positions; None for the pipeline's limit
    lists: Sequence = ()  # of `Listed`; empty if the artefact returns only one text


class Exporter(abc.ABC):
    """One export format, together with the settings of an export.

    An export calls, in this order, `require`, `destination`, `compared`, `write`, `damage`,
    `check`, `answers`, `add_parity` and `publish`. Nothing exists at the user's path before
    `publish`.

    A format with settings is a dataclass. The command line sets its fields, and `variants` accepts
    the settings of `export_all`.

    Attributes:
        purpose: String, the format's description in the help of `export --format`.
        artefact: String, the name of the artefact in the table that compares it with Keras.
        exact: True if the artefact must give the same texts, scores and alignments as Keras.
        file_name: String, the file name in the directory of `export_all`; empty for a version.
        writes_file: True if an export writes a new file or directory, False for a new version.
        suffix: String, the suffix of the file name; empty for a directory.
        check_loads_tensorflow: True if `check` needs TensorFlow, which takes seconds to load.
    """

    purpose: str = ""
    artefact: str
    exact: bool = True
    file_name: str
    writes_file: bool
    suffix: str = ""
    check_loads_tensorflow: bool = True

    @classmethod
    def variants(cls, **settings):
        """Return a list of the exporters of this format that `export_all` runs.

        `settings` are `max_source_length`, `max_target_length` and `signatures`; a format ignores
        the settings that it does not have.
        """
        return [cls()]

    @staticmethod
    @abc.abstractmethod
    def recognizes(path):
        """Return True if the file or directory at a path may be an artefact of this format."""

    def require(self, pipeline):
        """Raise ValueError or ImportError if a pipeline can't be exported."""
        require_exportable(pipeline)

    def compared(self, pipeline):
        """Return the pipeline to compare with: it has the search that the artefact contains."""
        return pipeline

    @classmethod
    def check_name(cls, path, name="path"):
        """Raise ValueError unless a file name has this format's suffix."""
        if cls.suffix and path.suffix != cls.suffix:
            raise ValueError(
                f"The file name must end in {cls.suffix}. "
                f"Received: {name}={str(path)!r}. Rename it."
            )

    @abc.abstractmethod
    def destination(self, path):
        """Return the path of the artefact.

        Raises FileExistsError if it exists, and ValueError if it has the wrong suffix.
        """

    @abc.abstractmethod
    def write(self, pipeline, path):
        """Write an artefact to a draft with the same name, complete except for the comparison."""

    def damage(self, path):
        """Return a list of `Finding`: changes since the export. It needs no TensorFlow."""
        return []

    @abc.abstractmethod
    def check(self, path):
        """Return a list of `Finding`: parts that the runtimes would reject.

        It is called only if `damage` finds nothing.
        """

    @abc.abstractmethod
    def answers(self, path, pipeline, inputs):
        """Send `inputs` to an artefact, in its runtime on one thread, and return its `Answers`.

        Raises RuntimeError if the runtime rejects the artefact or a request.
        """

    @abc.abstractmethod
    def add_parity(self, path, rows):
        """Add a comparison, a list of `Parity`, to the card of an artefact."""

    @abc.abstractmethod
    def describe(self, path):
        """Return the card of an artefact as lines of text, or a note that it has none."""

    def publish(self, written, path):
        """Sync an artefact to disk and rename it; return its path."""
        return publish(written, path)


class FileExporter(Exporter):
    """Base class of the formats that write one new file and never replace a file."""

    writes_file = True

    def destination(self, path):
        self.check_name(path)
        require_absent(path)
        return path

    def publish(self, written, path):
        require_absent(path)  # it may have been created in the meantime
        return super().publish(written, path)


def require_exportable(pipeline):
    """Raise ValueError for a pipeline with other inputs, random draws or non-finite weights."""
    if not pipeline.model.exportable:
        raise ValueError(
            "An exported translator must need only the source sentence: a request doesn't contain "
            "the known alignment that forced attention looks up. Received: "
            "model.exportable=False. Export a model that learns its attention weights."
        )
    require_deterministic(pipeline.search)
    require_finite_weights(pipeline.model)


def require_plain_copies(pipeline, artefact):
    """Raise ValueError if clients that receive ids can't replace unknown tokens by copies."""
    from keras_bahdanau.text.copies import are_plain_characters

    sides = pipeline.source.subwords, pipeline.target
    if pipeline.search.replace_unknown and not are_plain_characters(*sides):
        raise ValueError(
            f"{artefact} returns ids, and programs that read them can copy characters of the "
            "source, but not words or decomposed letters. Received: replace_unknown=True. Export "
            "a SavedModel that returns text, or set it to False."
        )


def text_beginnings(pipeline, inputs):
    """Return a prefix for each input that a user might type: half of Keras' worst hypothesis."""
    texts = [hypotheses[-1].text for hypotheses in pipeline.decode_nbest(inputs)]
    return [text[: (len(text) + 1) // 2] for text in texts]
