"""What `keras_bahdanau.exporters.check` says."""

from typing import NamedTuple


class Finding(NamedTuple):
    """One thing in an artefact that would fail where it is deployed; as a string, one sentence.

    Attributes:
        runtime: What would fail, such as "TensorFlow Serving".
        what: The part of the artefact, such as "PyFunc in signature 'serving_default'".
        why: What is wrong with it: the sentence that begins with `what`, without the full stop.
        mend: What to do: a sentence.
    """

    runtime: str
    what: str
    why: str
    mend: str

    def __str__(self):
        return f"{self.runtime}: {self.what} {self.why}. {self.mend}"
