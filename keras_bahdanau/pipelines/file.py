"""Writing and loading of a pipeline's file, with its model, source and target."""

import dataclasses
import io
import json
import os
import zipfile
from pathlib import Path

from keras_bahdanau import __version__
from keras_bahdanau.files.integrity import require_finite_weights, seal_archive
from keras_bahdanau.files.whole_file import replacing
from keras_bahdanau.pipelines.archive import (
    CARD,
    PipelineFile,
    hashes_of,
    open_pipeline_file,
    unfinished_path,
    version_advice,
)
from keras_bahdanau.search.search_options import SearchOptions

_WEIGHTS = "model.weights.h5"  # the name that Keras uses
_LARGEST_HALF = 65504.0  # largest float16


def write_pipeline(
    path,
    source,
    model,
    target,
    search,
    metrics=None,
    weights="float32",
    training=None,
    calibration=None,
):
    """Atomically write the parts of a pipeline to one `.keras` file.

    `weights` is "float32", or "float16" for half the size. Raises ValueError if a weight is too
    large for float16 or is not finite.
    """
    import keras  # slow

    if weights not in ("float32", "float16"):
        raise ValueError(
            f"Weights must be saved as 'float32' or 'float16'. Received: weights={weights!r}"
        )
    path = Path(path)
    if path.suffix != ".keras":
        raise ValueError(
            f"A translator's file name must end in .keras. Received: path={str(path)!r}"
        )
    require_finite_weights(model, f"a model to save at path={str(path)!r}")
    card = {
        "keras_bahdanau": __version__,
        "inputs": source.inputs_are,
        "source": keras.saving.serialize_keras_object(source),
        "target": target.get_config(),
        "search": dataclasses.asdict(search),
    }
    if metrics is not None:
        card["metrics"] = list(metrics)
    if training is not None:
        card["training"] = training
    if calibration is not None:
        card["calibration"] = dataclasses.asdict(calibration)
    card = json.loads(json.dumps(card))  # in the form in which it will be read
    with replacing(path, unfinished_path(path)) as unfinished:
        _bare(model).save(unfinished)
        if weights == "float16":
            halve_weights(unfinished)
        with zipfile.ZipFile(unfinished, "a", zipfile.ZIP_DEFLATED) as archive:
            card["sha256"] = hashes_of(archive, card)
            archive.writestr(CARD, json.dumps(card))
        seal_archive(unfinished)


def require_unforked():
    """Raise RuntimeError in a process forked after a model was loaded, where TensorFlow hangs."""
    global _process
    _process = _process or os.getpid()
    if _process != os.getpid():
        raise RuntimeError(
            "A model must not run in a process that was forked after a model was loaded, because "
            "TensorFlow hangs there. Received: a forked process. Start processes with "
            'multiprocessing.get_context("spawn"), and load the file in each of them.'
        )


_process = None  # id of the first process that loaded a model


def read_pipeline(file, precision=None):
    """Load (source, model, target, search, metrics) from a `PipelineFile` or path.

    `precision` is passed to `cast_model`, unless it is None. Raises ValueError if a part can't be
    read.
    """
    require_unforked()
    import keras

    from keras_bahdanau.layers.initializers import replaced_at_once
    from keras_bahdanau.models import Ensemble, Seq2Seq
    from keras_bahdanau.models.precision import cast_model
    from keras_bahdanau.text.subwords import Subwords

    path, card = file if isinstance(file, PipelineFile) else open_pipeline_file(file)
    try:
        with replaced_at_once():
            model = keras.saving.load_model(path, compile=False)
        _check_policies(model)
        source = read_source(card["source"])
        target = Subwords.from_config(card["target"])
    except Exception as error:  # Keras has no exception class of its own for unreadable files
        if isinstance(error, MemoryError) or getattr(error, "errno", None):
            raise  # caused by the machine, not by the file
        unknown = _unknown_class(path, card)
        if unknown is not None:
            raise ValueError(
                "All classes in a translator's file must be registered with Keras. "
                f"Received: path={str(path)!r}, unknown class {unknown!r}. Import its module "
                "first, or use --import MODULE on the command line."
            ) from None
        raise ValueError(
            "Keras and this package must be able to read all parts of a translator's file. "
            f"Received: path={str(path)!r}, {_first_sentence(error)}, {version_advice(card)}"
        ) from None
    if not isinstance(model, Seq2Seq | Ensemble):
        raise ValueError(
            "A translator's file must contain a Seq2Seq model or an Ensemble. "
            f"Received: path={str(path)!r} with a {type(model).__name__}."
        )
    if not model.built:  # Keras has not read any weights
        raise ValueError(
            "A translator's file must contain the build config of its model. "
            f"Received: path={str(path)!r} without a 'build_config'. Save or copy it again."
        )
    require_finite_weights(model, f"path={str(path)!r}")
    model = model if precision is None else cast_model(model, precision)
    search = SearchOptions.from_config(card["search"])
    return source, model, target, search, card.get("metrics")


def halve_weights(path):
    """Convert the float32 weights in a `.keras` archive to float16, and compress the archive.

    Keras loads them into float32 variables. A weight keeps 11 significant bits, so its relative
    error is at most 2^-11; below 2^-14, its absolute error is at most 2^-25. Raises ValueError if a
    weight is too large.
    """
    with zipfile.ZipFile(path) as archive:
        members = {entry: archive.read(entry) for entry in archive.namelist()}
    members[_WEIGHTS] = _halved(members[_WEIGHTS])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def _halved(content):
    import h5py  # slow

    memory = io.BytesIO()
    with h5py.File(io.BytesIO(content)) as old, h5py.File(memory, "w") as new:
        new.attrs.update(old.attrs)
        old.visititems(lambda name, item: _copy(name, item, new))
    return memory.getvalue()


def _copy(name, item, new):
    import h5py
    import numpy as np

    if isinstance(item, h5py.Dataset):
        values = item[()]
        if values.dtype == np.float32:
            _check_size(name, values)
            values = values.astype(np.float16)
        copied = new.create_dataset(name, data=values)
    else:
        copied = new.require_group(name)
    copied.attrs.update(item.attrs)


def _check_size(name, values):
    largest = float(abs(values).max(initial=0.0))
    if largest > _LARGEST_HALF:
        raise ValueError(
            "The absolute value of a float16 weight must be at most 65,504. "
            f"Received: {name}={largest:.6g}. Save the weights as float32."
        )


def read_source(config):
    """Return the source of a card. Raises TypeError or ValueError if Keras can't deserialize it."""
    import keras

    from keras_bahdanau import sources

    for name in sources.__all__:
        getattr(sources, name)  # loads the module, which registers the class
    source = keras.saving.deserialize_keras_object(config)
    if not isinstance(source, sources.Source):
        raise ValueError(
            f"The source of a model must be a `Source`. Received: {type(source).__name__}."
        )
    return source


def _check_policies(model):
    """Raise TypeError if Keras has loaded another object in place of a dtype policy."""
    import keras

    for layer in model._flatten_layers():
        if not isinstance(layer.dtype_policy, keras.DTypePolicy):
            raise TypeError(f"The dtype of {layer.name!r} is not a dtype policy")


def _unknown_class(path, card):
    """Return the name of the first class in a file that is not registered with Keras, or None."""
    with zipfile.ZipFile(path) as archive:
        # Keras itself reports a missing or invalid config
        try:
            model = json.loads(archive.read("config.json"))
        except (KeyError, ValueError):
            return None
    return next(filter(_is_unknown, _registered_names([model, card["source"]])), None)


def _is_unknown(name):
    import keras

    return keras.saving.get_registered_object(name) is None


def _registered_names(config):
    """Yield the names in a config under which classes were registered, outermost first."""
    if isinstance(config, dict):
        name = config.get("registered_name")
        if isinstance(name, str) and not str(config.get("module")).startswith("keras."):
            yield name
    parts = config.values() if isinstance(config, dict) else config
    for part in parts:
        if isinstance(part, dict | list):
            yield from _registered_names(part)


def _first_sentence(error):
    """Return the first sentence of an error; Keras' next ones say how to disable its safe mode."""
    sentence = str(error).partition("\n")[0].partition(". ")[0]
    return f"{type(error).__name__}: {sentence[:200]!r}"


def _bare(model):
    """Return a copy of the model without its optimizer, which would triple the file size."""
    from keras_bahdanau.layers.initializers import replaced_at_once

    twin = type(model).from_config(model.get_config())
    with replaced_at_once():
        twin.build()
    twin.set_weights(model.get_weights())
    return twin
