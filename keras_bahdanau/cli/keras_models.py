"""Support in `export` for Keras models that are not pipelines of this package."""

import zipfile

from keras_bahdanau.data.readers.lines import read_lines
from keras_bahdanau.pipelines.archive import CARD
from keras_bahdanau.settings.limits import DYNAMIC

_CONFIG = "config.json"  # which every .keras file contains


def is_keras_model(path):
    """Return True for a .keras file that contains no pipeline of this package."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False
    return _CONFIG in names and CARD not in names


def load_keras_model(path):
    """Load a model in Keras' safe mode. Raises a one-line ValueError if Keras can't load it."""
    import keras  # loads TensorFlow

    try:
        return keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # Keras has no specific exception class for this
        text = " ".join(str(error).split())
        remedy = "Import the modules of its custom layers with --import, or save it again."
        if "safe_mode" in text or "unsafe" in text:
            remedy = "Replace its Lambda layers with custom layers: a file must not contain code."
        raise ValueError(
            "A .keras file must contain a model that Keras can load. Received: "
            f"model={str(path)!r} ({text[:200]}). {remedy}"
        ) from None


def read_examples(path):
    """Read a dictionary of arrays from an .npz file. Raises ValueError for any other file."""
    import numpy as np  # slow

    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays.items())
    except (AttributeError, EOFError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(
            "--examples must be an .npz file with an array for each input of the model. Received: "
            f"examples={str(path)!r} ({' '.join(str(error).split())[:100]}). Create the file with "
            "numpy.savez."
        ) from None


def _length(text):
    """Parse the value of --length. Raises ValueError unless it is an integer or "dynamic"."""
    try:
        return DYNAMIC if text == DYNAMIC else int(text)
    except ValueError:
        raise ValueError(
            f"--length must be a positive integer or {DYNAMIC}. Received: length={text!r}."
        ) from None


def model_settings(arguments, kind):
    """Return the settings for an exporter class for Keras models.

    Raises ValueError for a command-line option that the class does not support.
    """
    settings = {
        "quantization": arguments.quantization and arguments.quantization.value,
        "batch_size": arguments.batch_size,
        "length": arguments.length and _length(arguments.length),
        "real_length": arguments.real_length or None,
        "signatures": arguments.signatures and tuple(n.value for n in arguments.signatures),
        "labels": arguments.labels,
        "examples": arguments.examples,
    }
    others = "max_source_length", "max_target_length", "sentences", "references", "litert_js"
    settings |= {name: getattr(arguments, name) for name in (*others, "title", "precision")}
    settings = {name: value for name, value in settings.items() if value is not None}
    for name, value in settings.items():
        if name not in kind.__dataclass_fields__:
            raise ValueError(
                f"--{name.replace('_', '-')} is not supported for a Keras model in this format. "
                f"Received: {name}={str(value)!r}. Omit it."
            )
    if "labels" in settings:
        settings["labels"] = tuple(read_lines(settings["labels"]))
    if "examples" in settings:
        settings["examples"] = read_examples(settings["examples"])
    return settings
