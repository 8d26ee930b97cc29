"""The protocol that every export format implements, and the records that its methods return.

A format is a subclass of `Exporter` with an entry in `exporters.all_formats.FORMATS`; see
`docs/adding_one.md`. The smallest one is `PhraseBook` in `tests/exporters/test_exporter.py`. Such
a class loads TensorFlow or LiteRT inside its methods, since the command line reads the list of
formats first.
"""

import abc
from collections.abc import Sequence
from typing import Any, NamedTuple

from keras_bahdanau.exporters.publishing import publish
from keras_bahdanau.files.integrity import require_finite_weights
from keras_bahdanau.search import require_deterministic

MOST_LISTED = 64  # inputs whose lists of hypotheses are compared


class Finding(NamedTuple):
    """One thing in an artefact that would fail where it is deployed; as a string, one sentence.

    Attributes:
        runtime: Program that would fail, such as "TensorFlow Serving".
        part: The part of the artefact, such as "PyFunc in signature 'serving_default'".
        why: The fault: the sentence that begins with `part`, without the full stop.
        remedy: Remedy: a sentence.
    """

    runtime: str
    part: str
    why: str
    remedy: str

    def __str__(self):
        return f"{self.runtime}: {self.part} {self.why}. {self.remedy}"


class Answer(NamedTuple):
    """One hypothesis of an artefact for one input.

    Attributes:
        text: String.
        score: Float.
        alignment: Float32 array `(target tokens, source tokens)`; None if it was not requested.
        token_log_probs: Float32 array `(target tokens,)`, likewise.
        token_entropies: Float32 array `(target tokens,)`, likewise.
        confidence: Float, likewise.
    """

    text: str
    score: float
    alignment: Any = None
    token_log_probs: Any = None
    token_entropies: Any = None
    confidence: float | None = None


class Listed(NamedTuple):
    """All hypotheses of an artefact for one input.

    Attributes:
        row: Integer, the place of the input among those that were asked.
        prefix: String that each text was to begin with; "" for none.
        hypotheses: List of `Answer`, best first.
    """

    row: int
    prefix: str
    hypotheses: list


class Answers(NamedTuple):
    """All answers of an artefact to some inputs, one entry an input in each of the first lists.

    Attributes:
        received: List of lists of `Answer`, the one to the input alone first; an empty list
            for an input that is too long for the artefact.
        seconds: List of floats, the time of the input alone; None for one that is too long.
        longest: Integer, most target tokens that the artefact gives; None without such a limit.
        longest_source: Integer, most source positions that it reads; None for the pipeline's own.
        lists: List of `Listed`; an empty one of an artefact that gives one text alone.
    """

    received: list
    seconds: list
    longest: int | None = None
    longest_source: int | None = None
    lists: Sequence = ()


class Exporter(abc.ABC):
    """One export format, with the settings of an export.

    An export calls, in this order, `require`, `place`, `compared`, `write`, `damage`,
    `check`, `answers`, `add_parity` and `publish`. Nothing stands at the place that the
    user named before `publish`.

    A format with settings is a dataclass, whose fields the command line fills, and its
    `variants` accepts the settings of `export_all`.

    Attributes:
        purpose: String, what the format is for, in the help of `export --format`.
        artefact: String, the name of the artefact in the table that compares it with Keras.
        exact: True if the artefact must give the same texts, scores and alignments as Keras.
        file_name: String, the name of the artefact in the directory of `export_all`; empty if it
            is a version in that directory itself.
        writes_file: True if nothing may stand at the place of the artefact; False if it is a
            version in a directory of versions.
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

        Args:
            **settings: Settings of `export_all`: `max_source_length`, `max_target_length`,
                `signatures`. A format ignores those that it does not have.
        """
        return [cls()]

    @staticmethod
    @abc.abstractmethod
    def recognizes(path):
        """True if something that exists at a path can be an artefact of this format."""

    def require(self, pipeline):
        """Raise ValueError or ImportError if this format can't hold a pipeline.

        It is called before anything is traced or written.
        """
        require_exportable(pipeline)

    def compared(self, pipeline):
        """The pipeline whose answers an artefact gives by itself, without the work of clients."""
        return pipeline

    @classmethod
    def check_name(cls, path, name="path"):
        """Raise ValueError unless the name of a file ends as those of this format do."""
        if cls.suffix and path.suffix != cls.suffix:
            raise ValueError(
                f"The name of this file must end in {cls.suffix}. "
                f"Received: {name}={str(path)!r}. Rename it."
            )

    @abc.abstractmethod
    def destination(self, path):
        """Path that the artefact gets, for the path that the user named.

        Raises:
            FileExistsError: If something else stands there.
            ValueError: If its name has another end.
        """

    @abc.abstractmethod
    def write(self, pipeline, path):
        """Write a whole artefact, with a card that holds no comparison yet.

        Args:
            pipeline: A `Pipeline`.
            path: Path that does not exist in a draft directory; its last two names are those
                of the final path.
        """

    def damage(self, path):
        """List of `Finding`: what has changed since the export, by the card, without TensorFlow."""
        return []

    @abc.abstractmethod
    def check(self, path):
        """List of `Finding`: what the runtimes would refuse, without running the artefact.

        It is called if `damage` finds nothing.
        """

    @abc.abstractmethod
    def answers(self, path, pipeline, inputs):
        """The `Answers` of an artefact, by the runtime that it is made for, on one thread.

        Args:
            path: Path of the artefact.
            pipeline: The `Pipeline` that it was made from: its source turns inputs into
                requests.
            inputs: List of inputs of the source.

        Raises:
            RuntimeError: If the runtime refuses the artefact or a request.
        """

    @abc.abstractmethod
    def add_parity(self, path, rows):
        """Add a comparison, a list of `Parity`, to the card of a written artefact."""

    @abc.abstractmethod
    def describe(self, path):
        """String of several lines: the card of an artefact, or a line that it has none."""

    def publish(self, written, path):
        """Give a written artefact its name in one step, after all of it has reached the disk.

        Returns:
            Path that it got.
        """
        return publish(written, path)


def require_exportable(pipeline):
    """Raise ValueError if no artefact could answer as the pipeline does.

    An artefact gets inputs of the source and nothing else, draws nothing at random, and has
    weights that are numbers.
    """
    if not pipeline.model.exportable:
        raise ValueError(
            "An exported translator must need nothing but the source sentence, and no request "
            "brings the known alignment that a forced attention looks up. "
            "Received: model.exportable=False. Export a model that learns where to look."
        )
    require_deterministic(pipeline.search)
    require_finite_weights(pipeline.model)


def require_plain_copies(pipeline, artefact):
    """Raise ValueError if clients of ids could not copy the parts that replace unknown tokens."""
    from keras_bahdanau.text.copies import are_plain_characters

    sides = pipeline.source.subwords, pipeline.target
    if pipeline.search.replace_unknown and not are_plain_characters(*sides):
        raise ValueError(
            f"{artefact} gives ids, for which programs copy characters of the source, but no "
            "words, and no decomposed letters. Received: replace_unknown=True. Export a "
            "SavedModel of text, or turn it off."
        )


def text_beginnings(pipeline, inputs):
    """A prefix for each input, as somebody types it: half of the last hypothesis of Keras."""
    texts = [hypotheses[-1].text for hypotheses in pipeline.decode_nbest(inputs)]
    return [text[: (len(text) + 1) // 2] for text in texts]
