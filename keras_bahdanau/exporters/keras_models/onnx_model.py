"""Export Keras models to ONNX files that map arrays to arrays with standard operations."""

import dataclasses
import re
import tempfile
from pathlib import Path

from keras_bahdanau.exporters.keras_models.model_card import FORMAT, describe_card, model_card
from keras_bahdanau.exporters.keras_models.model_exporter import KerasModelExporter
from keras_bahdanau.exporters.onnx.onnx_exporter import OnnxFormat
from keras_bahdanau.exporters.onnx.onnx_file import read_onnx, unpack
from keras_bahdanau.files.integrity import Damage
from keras_bahdanau.settings.limits import BATCH_SIZE
from keras_bahdanau.settings.option import check_value, optional

_NO_CAUSE = {"Const", "Identity", "If", "PartitionedCall", "StatefulPartitionedCall", "While"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class OnnxModelExporter(OnnxFormat, KerasModelExporter):
    """The format `onnx` for Keras models; its fields are settings of `export_onnx`."""

    batch_size: int | None = None

    narrow = True  # only dtypes that browsers support, as in the model's LiteRT file

    def __post_init__(self):
        super().__post_init__()
        KerasModelExporter.__post_init__(self)
        check_value("batch_size", self.batch_size, optional(BATCH_SIZE))
        if len(self.signatures) > 1:
            raise ValueError(
                "An ONNX file must have one signature, as it has one graph. Received: signatures="
                f"{self.signatures!r}. Export each to its own file; 'weights' includes the outputs "
                "of the model."
            )

    @staticmethod
    def recognizes(path):
        try:
            return OnnxFormat.recognizes(path) and unpack(read_onnx(path)).card["format"] == FORMAT
        except (Damage, KeyError, OSError):
            return False

    @property
    def rows(self):
        return self.batch_size

    def while_tracing(self, layers):
        import keras

        from keras_bahdanau.exporters.projected_inputs import projected_inputs

        if self.quantization is not None:  # one scale for all steps would be too coarse
            return super().while_tracing(layers)
        # tf2onnx converts most LSTM layers to ONNX's own operation, but only from Keras' loop
        return projected_inputs(layers, except_for=[keras.layers.LSTMCell])

    def require(self, model):
        from keras_bahdanau.exporters.keras_models.portable_layers import require_float32

        super().require(model)
        require_float32(model, "An ONNX file multiplies in float32, or in 8 bits.")

    def write(self, served, path):
        from keras_bahdanau.exporters.onnx.onnx_conversion import OPSET, packed, quantized

        served.require_numbers("An ONNX file")
        with tempfile.TemporaryDirectory(dir=path.parent) as directory:
            model = _converted(served, Path(directory, "saved_model"))
            if self.quantization is not None:
                model = quantized(model, directory)
        card = {"opset": OPSET, "quantization": self.precision, **model_card(served)}
        path.write_bytes(packed(model, {}, card))

    def answers(self, path, served, cases):
        from keras_bahdanau.exporters.keras_models.array_model import ArrayModel

        return ArrayModel(path).timed([(case.signature, case.inputs) for case in cases])

    def describe(self, path):
        from keras_bahdanau.exporters.onnx.onnx_check import describe_onnx

        card, graph = describe_onnx(path)
        hashes = [f"{name}, sha256 {digest}" for name, digest in card["sha256"].items()]
        return describe_card(card, f"ONNX file ({card['quantization']})", [*graph, *hashes])


def _converted(served, saved_model):
    """Convert the only signature to an `onnx.ModelProto`, with a SavedModel at a path."""
    from keras_bahdanau.exporters.keras_models.portable_layers import resources_of
    from keras_bahdanau.exporters.onnx.onnx_conversion import convert
    from keras_bahdanau.exporters.tracing import weights_of, write_graph

    ((name, function),) = served.functions.items()
    try:
        weights = weights_of(served, resources_of(served.model))
        write_graph(weights, saved_model, served.functions)
        return convert(saved_model, name, axes=_axes(served.signatures[name], function))
    except OSError:
        raise
    except Exception as error:  # tf2onnx does not define an exception class
        raise ValueError(_why_not(str(error), served)) from None


def _axes(signature, function):
    """Return names for the axes of unknown length, such as `batch` and `ids_length`."""
    axes = dict.fromkeys(function.structured_outputs, ("batch",))
    for name, spec in signature.inputs.items():
        lengths = (f"{name}_length", *(f"{name}_size_{axis}" for axis in range(2, spec.shape.rank)))
        axes[name] = ("batch", *lengths)
    return axes


def _why_not(text, served):
    """Return a one-line message for a converter error: operations, their layers, and a remedy."""
    from keras_bahdanau.exporters.keras_models.portable_layers import made_by

    origins = served.operations_by_layer()
    words = dict.fromkeys(re.findall(r"[A-Z]\w+", text))
    names = [name for name in words if name in origins.keys() - _NO_CAUSE]
    parts = [f"{name}{made_by(origins[name])}" for name in names]
    remedy = "Replace the layer, or export a SavedModel."
    if not parts:
        remedy = "Give a fixed length=, or export a SavedModel."
    return (
        "An ONNX file has only ONNX's standard operations. Received: "
        f"{'; '.join(parts[:4]) or ' '.join(text.split())[:300]}. {remedy}"
    )
