"""Exports of Keras models: the common parts of their formats."""

import dataclasses
from pathlib import Path
from typing import Any

from keras_bahdanau.exporters.exporter import Exporter
from keras_bahdanau.exporters.publishing import export_together, reserved
from keras_bahdanau.settings.guesses import nearest
from keras_bahdanau.settings.limits import DYNAMIC, FIXED_LENGTH
from keras_bahdanau.settings.option import check_value, optional

SIGNATURES = ("serving_default", "step", "weights")


def export_keras_model(exporter, model, path, allow_differences=False, say=None):
    """Write a Keras model in one format, if it passes all checks; return the artefact's path."""
    from keras_bahdanau.exporters.keras_models.model_parity import ModelComparison
    from keras_bahdanau.exporters.keras_models.served_model import ServedModel

    exporter.require(model)
    target = exporter.destination(Path(path))
    with reserved({target: exporter}):
        served = ServedModel(model, exporter)
        comparison = ModelComparison(served, say)
        (named,) = export_together(
            {target: exporter}, served, comparison, target, allow_differences
        )
    return named


@dataclasses.dataclass(frozen=True, kw_only=True)
class KerasModelExporter(Exporter):
    """Settings shared by all formats of Keras models.

    `write` and `answers` get a `ServedModel` instead of a pipeline, and `answers` its cases instead
    of inputs; it returns (outputs of each case, seconds of each case).
    """

    length: Any = None
    real_length: bool = False
    signatures: tuple = ("serving_default",)
    labels: tuple | None = None
    from_logits: bool | None = None
    examples: Any = None

    known_signatures = SIGNATURES
    source = None  # a `Source` before the model
    rows = None  # size of a fixed batch
    narrow = False  # True for only the dtypes of LiteRT
    most_rows = None  # limit for a request

    def __post_init__(self):
        lengths = self.length.values() if isinstance(self.length, dict) else [self.length]
        for length in lengths:
            if length != DYNAMIC:
                check_value("length", length, optional(FIXED_LENGTH))
        signatures = (self.signatures,) if isinstance(self.signatures, str) else self.signatures
        object.__setattr__(self, "signatures", tuple(dict.fromkeys(signatures)))
        for name in self.signatures or ("",):
            if name not in self.known_signatures:
                raise ValueError(
                    "`signatures` of a Keras model must be some of "
                    f"{', '.join(map(repr, self.known_signatures))}. Received: signatures="
                    f"{self.signatures!r}{nearest(name, self.known_signatures)}"
                )
        if self.real_length and set(self.signatures) - {"serving_default"}:
            raise ValueError(
                "`real_length` needs 'serving_default' as the only signature. Received: "
                f"signatures={self.signatures!r}. Export the others to another file."
            )

    @classmethod
    def variants(cls, **settings):
        return []  # `export_all` writes pipelines

    def require(self, model):
        from keras_bahdanau.exporters.keras_models.served_model import require_keras_model

        require_keras_model(model)
