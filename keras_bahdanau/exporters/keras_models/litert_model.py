"""Export Keras models to LiteRT files that map arrays to arrays with built-in operations."""

import contextlib
import dataclasses
import os
import re
import tempfile
from typing import Any

from keras_bahdanau.exporters.card import CARD, read_card
from keras_bahdanau.exporters.keras_models.model_card import (
    describe_card,
    is_model_file,
    model_card,
)
from keras_bahdanau.exporters.keras_models.model_exporter import SIGNATURES, KerasModelExporter
from keras_bahdanau.exporters.litert.litert_exporter import LiteRTFormat
from keras_bahdanau.settings.limits import BATCH_SIZE
from keras_bahdanau.settings.option import check_value, number, optional

LABELS = "labels.txt"
_OPERATION = re.compile(r"(?:tf\.|Flex)([A-Z]\w*)")
_GROUP = re.compile(r"(?:Select|Flex|Custom) ops: ([\w, ]+)")
_NO_CAUSE = {"Select", "PartitionedCall", "StatefulPartitionedCall", "While", "If", "Const"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class LiteRTModelExporter(LiteRTFormat, KerasModelExporter):
    """The format `litert` for Keras models; its fields are settings of `export_litert`."""

    batch_size: int | None = 1
    trainable: tuple | None = None
    loss: Any = None
    optimizer: Any = None
    learning_rate: float | None = None

    known_signatures = (*SIGNATURES, "train")
    narrow = True

    def __post_init__(self):
        super().__post_init__()
        KerasModelExporter.__post_init__(self)
        check_value("batch_size", self.batch_size, optional(BATCH_SIZE))
        check_value("learning_rate", self.learning_rate, optional(number(0, 1e6, "(]")))
        if isinstance(self.trainable, str):
            object.__setattr__(self, "trainable", (self.trainable,))
        for name in ("trainable", "loss", "optimizer", "learning_rate"):
            if getattr(self, name) is not None and "train" not in self.signatures:
                raise ValueError(
                    f"`{name}` is only for files that learn. Received: {name}="
                    f"{getattr(self, name)!r:.80}, signatures={self.signatures!r}. Add the "
                    "signature 'train', or leave it out."
                )

    def head(self, model):
        """Create the `TrainableHead` of a model from the settings."""
        from keras_bahdanau.exporters.keras_models.trainable_head import TrainableHead

        settings = self.trainable, self.loss, self.optimizer, self.learning_rate
        return TrainableHead(model, *settings)

    @staticmethod
    def recognizes(path):
        return is_model_file(path)

    @property
    def rows(self):
        return self.batch_size

    def while_tracing(self, layers):
        from keras_bahdanau.exporters.projected_inputs import projected_inputs

        return projected_inputs(layers)

    def require(self, model):
        from keras_bahdanau.exporters.keras_models.portable_layers import require_float32

        super().require(model)
        require_float32(model, "A LiteRT file computes in float32, or with 8-bit or 4-bit weights.")

    def write(self, served, path):
        from keras_bahdanau.exporters.keras_models.portable_layers import resources_of
        from keras_bahdanau.exporters.litert.conversion import converted
        from keras_bahdanau.exporters.tracing import weights_of

        served.require_numbers("A LiteRT file")
        try:
            weights = weights_of(served, resources_of(served.model))
            with _without_repetition():
                model = converted(weights, served.functions, self.quantization, path.parent)
        except OSError:
            raise
        except Exception as error:  # the converter has several exception classes
            raise ValueError(_why_not(str(error), served, self.batch_size)) from None
        path.write_bytes(self._packed(served, model))

    def _packed(self, served, model):
        """Return the bytes of the whole file: the model with its metadata, labels and card."""
        from keras_bahdanau.exporters.litert import metadata
        from keras_bahdanau.exporters.litert.tflite_file import add_metadata, pack, read_metadata

        runtime = read_metadata(model)["min_runtime_version"].rstrip(b"\0").decode()
        card = {"min_runtime_version": runtime, "quantization": self.precision}
        card |= model_card(served)
        labels = card.get("labels")
        files = {} if labels is None else {LABELS: "\n".join(labels).encode()}
        described = _metadata(model, card)
        return pack(
            add_metadata(model, metadata.ENTRY, metadata.encode_metadata(described)), files, card
        )

    def check(self, path):
        from keras_bahdanau.exporters.litert.file_check import check_litert

        return check_litert(path, fixed=False)

    def answers(self, path, served, cases):
        from keras_bahdanau.exporters.keras_models.array_model import ArrayModel

        artefact = ArrayModel(path)
        return artefact.timed([(case.signature, case.inputs) for case in cases])

    def describe(self, path):
        from keras_bahdanau.exporters.litert.tflite_file import unpack

        contents = unpack(path.read_bytes())
        card = read_card(contents.files[CARD])
        sizes = {"model": contents.model, **contents.files}
        parts = [
            f"operations of TensorFlow Lite {card['min_runtime_version']}",
            *(
                f"{name}, {len(sizes[name]):,} bytes, sha256 {digest}"
                for name, digest in card["sha256"].items()
            ),
        ]
        return describe_card(card, f"LiteRT file ({card['quantization']})", parts)


def _metadata(model, card):
    """Return the `ModelMetadata`, LiteRT's standard metadata."""
    from keras_bahdanau import __version__
    from keras_bahdanau.exporters.litert import metadata
    from keras_bahdanau.exporters.litert.descriptions import subgraphs
    from keras_bahdanau.exporters.litert.tflite_file import load_schema

    labels = metadata.AssociatedFile(LABELS, "Names of the classes.", metadata.AXIS_LABELS)
    files = () if "labels" not in card else (labels,)
    tensors, used = {}, {}
    for signature in card["tensors"].values():
        tensors |= {name: (text, ()) for name, text in signature["inputs"].items()}
        tensors |= {name: (text, ()) for name, text in signature["outputs"].items()}
        used |= dict.fromkeys(signature["outputs"], files)
    about = metadata.AssociatedFile(
        CARD, "Versions, signatures, sha256, parity.", metadata.DESCRIPTIONS
    )
    root = load_schema().Model.GetRootAs(model)
    described = dict.fromkeys(card["tensors"], "A Keras model.")
    return metadata.ModelMetadata(
        name=card["model"],
        description=f"Signatures: {', '.join(card['tensors'])}. Weights: {card['quantization']}.",
        version=__version__,
        subgraph_metadata=tuple(subgraphs(root, described, tensors, tensors, used)),
        associated_files=(about, *files),
    )


@contextlib.contextmanager
def _without_repetition():
    """Show the converter's output only if it succeeds: the text of its error repeats it."""
    with tempfile.TemporaryFile() as held:
        screen = os.dup(2)
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(screen, 2)
            os.close(screen)
        held.seek(0)
        os.write(2, held.read())


def _why_not(text, served, batch_size):
    """Return a one-line message for a converter error: operations, their layers, and a remedy."""
    from keras_bahdanau.exporters.keras_models.portable_layers import made_by

    origins = served.operations_by_layer()
    words = [word for group in _GROUP.findall(text) for word in re.findall(r"\w+", group)]
    names = [word.removeprefix("Flex") for word in [*words, *_OPERATION.findall(text)]]
    names = dict.fromkeys(name for name in names if name in origins.keys() - _NO_CAUSE)
    parts = [f"{name}{made_by(origins[name])}" for name in names]
    specs = [spec for signature in served.signatures.values() for spec in signature.inputs.values()]
    remedy = "Replace the layer, or export a SavedModel."
    if "TensorListPushBack" in origins:  # from the gradient of a loop
        remedy = "Set trainable= to layers after the recurrent ones."
    elif batch_size is None:
        remedy = "Set batch_size=1, or another fixed size."
    elif any(None in spec.shape[1:] for spec in specs):
        remedy = "Set a fixed length=, or export a SavedModel."
    return (
        "A LiteRT file must use built-in operations, with static shapes in loops. Received: "
        f"{'; '.join(parts[:4]) or ' '.join(text.split())[:300]}. {remedy}"
    )
