"""Whether an artefact answers as the `Translator` it was made from."""

import dataclasses

import numpy as np

from keras_bahdanau.exporters.cpp_loader import run_in_clean_process
from keras_bahdanau.exporters.on_device import OnDeviceTranslator

SCORE_TOLERANCE = 1e-4
ALIGNMENT_TOLERANCE = 1e-5

# what users send sooner or later
EDGE_CASES = ["", " \t ", "a", "A man in a hat.", "☃ 𓀀 qqq", "👩‍👩‍👧 🙂", "\ufffd\ufffd", "0 " * 40]


@dataclasses.dataclass(frozen=True)
class Parity:
    """How far one artefact's answers are from those of Keras.

    Attributes:
        artefact: What was asked, such as "SavedModel" or "LiteRT float32".
        sentences: Integer, how many were asked.
        equal: Float, the share of them with the same text.
        score: Float, the largest difference of a score, where the texts are equal.
        alignment: Float, the largest difference of a weight, where the texts are equal.
        exact: Whether this artefact must give the same texts, scores and alignments.
        examples: Tuple of (source, expected, received), the first few that differ.
    """

    artefact: str
    sentences: int
    equal: float
    score: float
    alignment: float
    exact: bool = True
    examples: tuple = ()

    @property
    def holds(self):
        """Whether nothing differs that must not."""
        return not self.exact or (
            self.equal == 1
            and self.score <= SCORE_TOLERANCE
            and self.alignment <= ALIGNMENT_TOLERANCE
        )

    def __str__(self):
        return (
            f"{self.artefact:<15} {self.equal:>8.2%} of {self.sentences:,} texts equal, "
            f"scores to {self.score:.1e}, alignments to {self.alignment:.1e}"
        )


def compare(artefact, sentences, expected, received, exact=True):
    """The `Parity` of two lists of translations.

    Args:
        artefact: What gave `received`.
        sentences: List of strings.
        expected: List of `Translation`, from Keras.
        received: List of anything with `text`, `score` and `alignment`.
        exact: Whether they must be equal.
    """
    pairs = list(zip(expected, received, strict=True))
    same = [one.text == other.text and _shapes_equal(one, other) for one, other in pairs]
    alike = [pair for pair, equal in zip(pairs, same, strict=True) if equal]
    different = [
        (sentence, one.text, other.text)
        for sentence, (one, other), equal in zip(sentences, pairs, same, strict=True)
        if not equal
    ]
    return Parity(
        artefact=artefact,
        sentences=len(pairs),
        equal=float(np.mean(same)) if same else 1.0,
        score=max((abs(one.score - other.score) for one, other in alike), default=0.0),
        alignment=max((_distance(one, other) for one, other in alike), default=0.0),
        exact=exact,
        examples=tuple(different[:3]),
    )


def require(parity, allow_differences):
    """Raises ValueError if a comparison failed that must not.

    Args:
        parity: `Parity`.
        allow_differences: Whether it may fail all the same.
    """
    if not parity.holds and not allow_differences:
        raise ValueError(
            f"An export must answer as Keras does. Received: {parity}; the first that differ "
            f"(source, Keras, {parity.artefact}): {list(parity.examples)}. Allow differences to "
            "write it all the same."
        )


def saved_model_parity(translator, version, sentences):
    """The `Parity` of a SavedModel in the C++ loader, each sentence asked in one batch."""
    request = ("translate_with_alignment", {"text": sentences})
    (answer,) = run_in_clean_process(version, [request])
    received = [_Served(answer, row) for row in range(len(sentences))]
    return compare("SavedModel", sentences, translator.translate(sentences), received)


def litert_parity(translator, path, sentences):
    """The `Parity` of a LiteRT file; sentences too long for it are left out."""
    on_device = OnDeviceTranslator(path)
    precision = on_device.card["quantization"]
    sentences = [sentence for sentence in sentences if on_device.fits(sentence)]
    longest = min(translator.search.max_length, on_device.card["max_target_length"])
    options = dataclasses.replace(translator.search, max_length=longest)
    return compare(
        f"LiteRT {precision}",
        sentences,
        translator.translate(sentences, search=options),
        on_device.translate(sentences),
        exact=precision == "float32",
    )


class _Served:
    """One row of what the signature `translate_with_alignment` gave."""

    def __init__(self, answer, row):
        sources, targets = answer["source_length"][row], answer["target_length"][row]
        self.text = answer["translation"][row].decode("utf-8", "replace")
        self.score = float(answer["score"][row])
        self.alignment = answer["alignment"][row][:targets, :sources]


def _shapes_equal(one, other):
    return one.alignment.shape == other.alignment.shape


def _distance(one, other):
    return float(np.abs(one.alignment - other.alignment).max(initial=0.0))
