"""The export of Keras models, and what all of their formats have in common."""

import contextlib
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
    """Export a Keras model in one format, with all checks. Returns the path of the artefact."""
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
    """Base class of the formats for Keras models, with the settings that they share.

    `write` and `answers` receive a `ServedModel` instead of a pipeline. `answers` receives cases
    instead of inputs, and returns (outputs of each case, seconds for each case).
    """

    length: Any = None
    real_length: bool = False
    signatures: tuple = ("serving_default",)
    labels: tuple | None = None
    from_logits: bool | None = None
    examples: Any = None

    known_signatures = SIGNATURES
    source = None  # a `Source` in front of the model
    rows = None  # the batch size if it is fixed
    narrow = False  # True to use only the dtypes of LiteRT
    most_rows = None  # maximum number of rows in a request

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
                    "`signatures` of a Keras model must be among "
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

    def while_tracing(self, layers):
        """Return a context manager that modifies layers during tracing."""
        return contextlib.nullcontext()

    def require(self, model):
        from keras_bahdanau.exporters.keras_models.served_model import require_keras_model

        require_keras_model(model)
