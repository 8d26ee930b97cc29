"""Cards of exported Keras models, with the tensors of each signature, labels and parity."""

from keras_bahdanau import __version__
from keras_bahdanau.exporters.card import read_packed_card
from keras_bahdanau.exporters.publishing import newest_version
from keras_bahdanau.exporters.saved_model.version_card import load_card
from keras_bahdanau.files.integrity import Damage

FORMAT = "Keras model"


def model_card(served):
    """Return the card of a `ServedModel`, after tracing its signatures, as a dictionary."""
    import keras
    import tensorflow as tf

    first = next(iter(served.signatures))
    states = getattr(served.signatures.get("step"), "states", None)
    training = getattr(served.signatures.get("train"), "training", None)
    return {
        "format": FORMAT,
        "keras_bahdanau": __version__,
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "verb": first,
        "model": f"{served.model.name} ({type(served.model).__name__})",
        "vocabularies": {},
        "tensors": {
            name: {
                "inputs": {key: _described(spec) for key, spec in signature.inputs.items()},
                "outputs": {
                    key: _described(tensor)
                    for key, tensor in served.functions[name].structured_outputs.items()
                },
            }
            for name, signature in served.signatures.items()
        },
        **({} if states is None else {"states": [*states]}),
        **({} if training is None else {"training": training}),
        **({"missing_values": True} if _looks_for_nan(served.functions) else {}),
        **({} if served.labels is None else {"labels": [*served.labels.names]}),
        "parity": [],
    }


def _looks_for_nan(functions):
    """Return True if a graph checks for NaN, for example as a missing value."""
    from keras_bahdanau.exporters.keras_models.portable_layers import operations_by_layer

    return any("IsNan" in operations_by_layer(function) for function in functions.values())


def _described(tensor):
    """Format dtype and shape as text, such as "float32 (1, any, 8)"."""
    shape = ["any" if size is None else str(size) for size in tensor.shape]
    return f"{tensor.dtype.name} ({', '.join(shape)})"


def is_model_file(path):
    """Return True for a .tflite file with the card of a Keras model."""
    try:
        return path.is_file() and read_packed_card(path).get("format") == FORMAT
    except ValueError:
        return False


def is_model_version(path):
    """Return True for a SavedModel with the card of a Keras model."""
    version = newest_version(path) if path.is_dir() else None
    try:
        return version is not None and (load_card(version) or {}).get("format") == FORMAT
    except Damage:
        return False


def describe_card(card, artefact, parts):
    """Return the text for `describe`; `parts` are the lines about the files of the artefact."""
    from keras_bahdanau.exporters.keras_models import model_parity  # loads NumPy

    lines = [
        f"{artefact} of the Keras model {card['model']}",
        f"by keras_bahdanau {card['keras_bahdanau']}",
        f"TensorFlow {card['tensorflow']}, Keras {card['keras']}",
        *parts,
    ]
    for name, tensors in card["tensors"].items():
        if not {"inputs", "outputs"} <= set(tensors):
            raise Damage("its 'tensors' are not in the form that an export writes")
        inputs, outputs = (
            "; ".join(f"{key} {text}" for key, text in tensors[kind].items())
            for kind in ("inputs", "outputs")
        )
        lines.append(f"{name}: {inputs} -> {outputs}")
    if "labels" in card:
        lines.append(f"labels: {', '.join(card['labels'])}")
    return "\n".join([*lines, model_parity.describe(card)])
