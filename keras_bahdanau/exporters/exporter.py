"""The protocol of export formats: subclasses of `Exporter` in `exporters.all_formats.FORMATS`.

See `docs/adding_one.md`, and `PhraseBook` in `tests/exporters/test_exporter.py` for a minimal one.
Methods, not modules, import TensorFlow or LiteRT, since the command line lists the formats.
"""

import abc
from collections.abc import Sequence
from typing import Any, NamedTuple

from keras_bahdanau.exporters.publishing import publish, require_absent
from keras_bahdanau.files.integrity import require_finite_weights
from keras_bahdanau.search import require_deterministic

MOST_LISTED = 64  # inputs whose lists of hypotheses are compared


class Finding(NamedTuple):
    """One fault of an artefact that would make it fail in deployment; as a string, one sentence.

    Attributes:
        runtime: Program that would fail, such as "TensorFlow Serving".
        part: The part of the artefact, such as "PyFunc in signature 'serving_default'".
        why: The fault: the sentence that begins with `part`, without the full stop.
        remedy: A sentence.
    """

    runtime: str
    part: str
    why: str
    remedy: str

    def __str__(self):
        return f"{self.runtime}: {self.part} {self.why}. {self.remedy}"


class Answer(NamedTuple):
    """One hypothesis of an artefact for one input; fields that were not requested are None."""

    text: str
    score: float
    alignment: Any = None  # float32 (target_time, source_time)
    token_log_probs: Any = None  # float32 (target_time,)
    token_entropies: Any = None  # float32 (target_time,)
    confidence: float | None = None


class Listed(NamedTuple):
    """All hypotheses of an artefact for one input."""

    row: int  # index of the input
    prefix: str  # requested beginning of each text; "" for none
    hypotheses: list  # of `Answer`, best first


class Answers(NamedTuple):
    """Answers of an artefact to inputs; `received` and `seconds` have one entry per input."""

    received: list  # lists of `Answer`, first to the single input; empty if it is too long
    seconds: list  # of the single input; None if it is too long
    longest: int | None = None  # most target tokens; None without such a limit
    longest_source: int | None = None  # most source positions; None for the pipeline's own
    lists: Sequence = ()  # of `Listed`; empty for an artefact that gives only one text


class Exporter(abc.ABC):
    """One export format, with the settings of an export.

    An export calls, in this order, `require`, `place`, `compared`, `write`, `damage`,
    `check`, `answers`, `add_parity` and `publish`. Before `publish` nothing exists at the user's
    path.

    A format with settings is a dataclass, whose fields the command line fills, and its
    `variants` accepts the settings of `export_all`.

    Attributes:
        purpose: String, for the help of `export --format`.
        artefact: String, the name of the artefact in the table that compares it with Keras.
        exact: True if the artefact must give the same texts, scores and alignments as Keras.
        file_name: String, the name in the directory of `export_all`; empty for a version.
        writes_file: True for a new file or directory, False for one of several versions.
        suffix: String, the end of the name of a file; empty for a directory.
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
        """List of the exporters of this format that `export_all` runs, each with its settings.

        `settings` are `max_source_length`, `max_target_length` and `signatures`; a format ignores
        those that it does not have.
        """
        return [cls()]

    @staticmethod
    @abc.abstractmethod
    def recognizes(path):
        """True if the file or directory at a path may be an artefact of this format."""

    def require(self, pipeline):
        """Raise ValueError or ImportError, before any work, if a pipeline does not fit."""
        require_exportable(pipeline)

    def compared(self, pipeline):
        """The pipeline whose answers the artefact gives without work by clients."""
        return pipeline

    @classmethod
    def check_name(cls, path, name="path"):
        """Raise ValueError unless the name of a file has this format's suffix."""
        if cls.suffix and path.suffix != cls.suffix:
            raise ValueError(
                f"The name of this file must end in {cls.suffix}. "
                f"Received: {name}={str(path)!r}. Rename it."
            )

    @abc.abstractmethod
    def destination(self, path):
        """Path of the artefact; FileExistsError if occupied, ValueError for a wrong suffix."""

    @abc.abstractmethod
    def write(self, pipeline, path):
        """Write a complete artefact, without its comparison, to a draft of the same name."""

    def damage(self, path):
        """List of `Finding`: changes since the export, by the card, without TensorFlow."""
        return []

    @abc.abstractmethod
    def check(self, path):
        """List of `Finding`: parts that the runtimes would reject, if `damage` finds nothing."""

    @abc.abstractmethod
    def answers(self, path, pipeline, inputs):
        """The `Answers` of an artefact to requests of `inputs`, in its own runtime, on one thread.

        Raises RuntimeError if the runtime refuses the artefact or a request.
        """

    @abc.abstractmethod
    def add_parity(self, path, rows):
        """Add a comparison, a list of `Parity`, to the card of a written artefact."""

    @abc.abstractmethod
    def describe(self, path):
        """String of several lines: the card of an artefact, or a note that it has none."""

    def publish(self, written, path):
        """Sync a written artefact to disk and rename it; return its path."""
        return publish(written, path)


class FileExporter(Exporter):
    """Base of the formats whose artefact is one new file, which replaces no other."""

    writes_file = True

    def destination(self, path):
        self.check_name(path)
        require_absent(path)
        return path

    def publish(self, written, path):
        require_absent(path)  # still
        return super().publish(written, path)


def require_exportable(pipeline):
    """Raise ValueError for inputs besides the source, random draws, or infinite weights."""
    if not pipeline.model.exportable:
        raise ValueError(
            "An exported translator must need nothing but the source sentence, and no request "
            "brings the known alignment that a forced attention looks up. "
            "Received: model.exportable=False. Export a model that learns where to look."
        )
    require_deterministic(pipeline.search)
    require_finite_weights(pipeline.model)


def require_plain_copies(pipeline, artefact):
    """Raise ValueError if clients of ids can't copy the parts that replace unknown tokens."""
    from keras_bahdanau.text.copies import are_plain_characters

    sides = pipeline.source.subwords, pipeline.target
    if pipeline.search.replace_unknown and not are_plain_characters(*sides):
        raise ValueError(
            f"{artefact} gives ids, for which programs copy characters of the source, but no "
            "words, and no decomposed letters. Received: replace_unknown=True. Export a "
            "SavedModel of text, or turn it off."
        )


def text_beginnings(pipeline, inputs):
    """A prefix for each input, as if typed: half of Keras' last hypothesis."""
    texts = [hypotheses[-1].text for hypotheses in pipeline.decode_nbest(inputs)]
    return [text[: (len(text) + 1) // 2] for text in texts]
