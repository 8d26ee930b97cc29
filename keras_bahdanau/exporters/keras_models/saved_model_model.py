"""Export Keras models for TensorFlow Serving: arrays or raw inputs in, arrays out."""

import dataclasses
from typing import Any

from keras_bahdanau.exporters.keras_models.model_card import (
    describe_card,
    is_model_version,
    model_card,
)
from keras_bahdanau.exporters.keras_models.model_exporter import KerasModelExporter
from keras_bahdanau.exporters.publishing import newest_version
from keras_bahdanau.exporters.saved_model.saved_model_exporter import VersionFormat
from keras_bahdanau.exporters.saved_model.version_card import load_card, write_card
from keras_bahdanau.settings.limits import BATCH_SIZE
from keras_bahdanau.settings.option import check_value


@dataclasses.dataclass(frozen=True, kw_only=True)
class KerasSavedModelExporter(VersionFormat, KerasModelExporter):
    """The format `saved-model` for Keras models; its fields are `export_saved_model` settings."""

    source: Any = None
    max_batch_size: int = 1024

    def __post_init__(self):
        super().__post_init__()
        check_value("max_batch_size", self.max_batch_size, BATCH_SIZE)
        if self.source is not None and self.signatures != ("serving_default",):
            raise ValueError(
                "`source` needs 'serving_default' as the only signature. Received: "
                f"signatures={self.signatures!r}. Export the others without a source."
            )
        if self.source is not None and not hasattr(self.source, "features"):
            raise TypeError(
                "`source` must be a Source, such as one of keras_bahdanau.sources. Received: "
                f"type {type(self.source).__name__}."
            )

    @staticmethod
    def recognizes(path):
        return is_model_version(path)

    @property
    def most_rows(self):
        return self.max_batch_size

    def write(self, served, path):
        from keras_bahdanau.exporters.keras_models.portable_layers import resources_of
        from keras_bahdanau.exporters.saved_model.version import (
            WARMUP,
            batching_settings,
            write_warmup,
        )
        from keras_bahdanau.exporters.tracing import weights_of, write_graph

        resources = resources_of(served.model)
        if self.source is not None:
            resources += self.source.resources
        write_graph(weights_of(served, resources), path, served.functions)
        (path / WARMUP).parent.mkdir()
        write_warmup(path / WARMUP, path.parent.name, _warmup(served))
        pads = self.real_length  # without real lengths, the model would read a server's padding
        settings = batching_settings(self.max_batch_size, pads)
        (path / "batching_params.pbtxt").write_text(settings)
        write_card(path, {**model_card(served), "max_rows": self.max_batch_size})

    def answers(self, path, served, cases):
        """Return outputs and seconds for each case, from TensorFlow's C++ loader after warm-up."""
        from keras_bahdanau.exporters.cpp_loader import timed_in_clean_process

        warmup = _warmup(served)
        requests = [*warmup, *((case.signature, case.inputs) for case in cases)]
        outputs, seconds = timed_in_clean_process(path, requests, threads=1)
        return outputs[len(warmup) :], seconds[len(warmup) :]

    def describe(self, path):
        card = load_card(newest_version(path))
        parts = [
            f"at most {card['max_rows']} rows per request",
            f"{len(card['sha256'])} files, each with the sha256 of the card",
        ]
        return describe_card(card, "SavedModel", parts)


def _warmup(served):
    """Return the first request to each signature, as a list of (signature, {argument: array})."""
    firsts = {}
    for case in served.compared_cases:
        firsts.setdefault(case.signature, case.inputs)
    return [*firsts.items()]
