"""Models of Keras itself, whatever made them, as the command `export` reads them."""

import zipfile

from keras_bahdanau.data.readers.lines import read_lines
from keras_bahdanau.pipelines.archive import CARD
from keras_bahdanau.settings.limits import DYNAMIC

_CONFIG = "config.json"  # in each .keras file


def is_keras_model(path):
    """True for a .keras file that is no pipeline's."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False
    return _CONFIG in names and CARD not in names


def load_keras_model(path):
    """The model of a file, in Keras' safe mode; ValueError in one line if Keras refuses it."""
    import keras  # which loads TensorFlow

    try:
        return keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # Keras has no kind of its own for what it can't read
        text = " ".join(str(error).split())
        remedy = "Import the modules of its layers first, with --import, or save it again."
        if "safe_mode" in text or "unsafe" in text:
            remedy = "Replace its Lambda layers by layers of your own: a file must not bring code."
        raise ValueError(
            f"A .keras file must be a model that Keras can load. Received: model={str(path)!r} "
            f"({text[:200]}). {remedy}"
        ) from None


def read_examples(path):
    """Arrays of an .npz file by their names; ValueError if it is none."""
    import numpy as np  # which takes its time

    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays.items())
    except (AttributeError, EOFError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(
            "--examples must be an .npz file with an array for each input of the model. Received: "
            f"examples={str(path)!r} ({' '.join(str(error).split())[:100]}). Write it with "
            "numpy.savez."
        ) from None


def _length(text):
    """The setting `length` of an option; ValueError for no number."""
    try:
        return DYNAMIC if text == DYNAMIC else int(text)
    except ValueError:
        raise ValueError(
            f"--length must be a positive integer, or {DYNAMIC}. Received: length={text!r}."
        ) from None


def model_settings(arguments, kind):
    """Settings of an exporter class of Keras models; ValueError for options that do not fit it."""
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
                f"--{name.replace('_', '-')} is not for a Keras model in this format. "
                f"Received: {name}={str(value)!r}. Leave it out."
            )
    if "labels" in settings:
        settings["labels"] = tuple(read_lines(settings["labels"]))
    if "examples" in settings:
        settings["examples"] = read_examples(settings["examples"])
    return settings
