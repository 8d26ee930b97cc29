"""A `Translator` as a SavedModel: text in, text out, for TensorFlow Serving."""

import dataclasses
import hashlib
import json
import os
import shutil
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_bahdanau import __version__
from keras_bahdanau.exporters import signatures
from keras_bahdanau.exporters.check import require_clean
from keras_bahdanau.exporters.cpp_loader import run_in_clean_process
from keras_bahdanau.exporters.parity import EDGE_CASES, require, saved_model_parity
from keras_bahdanau.exporters.warmup import FILE as WARMUP
from keras_bahdanau.exporters.warmup import write_warmup

CARD = "assets.extra/card.json"
BATCHING = """\
# Requests that come within `batch_timeout_micros` of each other are answered together.
max_batch_size { value: 64 }
batch_timeout_micros { value: 5000 }
max_enqueued_batches { value: 100 }
pad_variable_length_inputs: true
"""


def export_saved_model(
    translator, directory, sentences=None, allow_differences=False, say=lambda line: None
):
    """Writes the next version of a model for TensorFlow Serving, once it is known to be good.

    It answers the signatures of `keras_bahdanau.exporters.signatures.SERVED`.
    The version is written beside its place, checked for what a server would
    refuse, loaded with the server's C++ loader in a clean process, compared
    with Keras, its warm-up replayed, and only then renamed to its number:
    killed at any moment, an export leaves no version that a server could pick up.

    Args:
        translator: A `Translator`; its search options are frozen in the graph.
        directory: Path of the model; its versions are "1", "2", ... in it.
        sentences: List of strings to compare on, beside the built-in edge cases.
        allow_differences: Whether a version may be published that does not
            answer as Keras does.
        say: Function of one string: where the comparison is told.

    Returns:
        Path of the new version.

    Raises:
        FileExistsError: If `directory` holds something else than versions.
        ValueError: If the version would be refused by a server, or answers
            differently and `allow_differences` is False.
    """
    directory = Path(directory)
    number = _next_version(directory)
    directory.mkdir(parents=True, exist_ok=True)
    unfinished = directory / f".unfinished-{os.getpid()}"
    try:
        _write(translator, unfinished, directory.name)
        parity = _verified(translator, unfinished, [*EDGE_CASES, *(sentences or [])])
        say(str(parity))
        require(parity, allow_differences)
        (unfinished / CARD).write_text(json.dumps(_card(translator, parity), indent=1))
        return _published(unfinished, directory, number)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _write(translator, path, name):
    """The SavedModel with what a server reads beside it."""
    functions = {
        signature: signatures.traced(translator, function, arguments)
        for signature, (function, arguments) in signatures.SERVED.items()
    }
    tf.saved_model.save(signatures.weights_of(translator), str(path), signatures=functions)
    (path / WARMUP).parent.mkdir()
    write_warmup(path / WARMUP, name, _warmup_requests())
    (path / "batching_params.pbtxt").write_text(BATCHING)


def _warmup_requests():
    """One request for each signature."""
    text = np.array([b"a", b"a b c"], dtype=object)
    ids = np.array([[signatures.UNKNOWN] * 4] * 2, dtype=np.int32)
    values = {
        "text": text,
        "target": text,
        "source": ids,
        "source_length": np.array([4, 2], dtype=np.int32),
    }
    requests = []
    for name, (_, arguments) in signatures.SERVED.items():
        given = {argument: values[argument] for argument in arguments}
        if name == "score_pair":
            given["source"] = text
        requests.append((name, given))
    return requests


def _verified(translator, path, sentences):
    """The `Parity` of a version that passed the check and answered its warm-up."""
    require_clean(path)
    run_in_clean_process(path, _warmup_requests())
    return saved_model_parity(translator, path, sentences)


def _card(translator, parity):
    """What an operator may want to know of a version."""
    vocabulary = translator.tokenizer.source_model + translator.tokenizer.target_model
    return {
        "keras_bahdanau": __version__,
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "vocabulary_sha256": hashlib.sha256(vocabulary).hexdigest(),
        "search": dataclasses.asdict(translator.search),
        "signatures": {
            name: sorted(arguments) for name, (_, arguments) in signatures.SERVED.items()
        },
        "parity": dataclasses.asdict(parity),
    }


def _published(unfinished, directory, number):
    """Renames a whole version to its number, after all of it has reached the disk."""
    for path in [*unfinished.rglob("*"), unfinished]:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
    version = directory / str(number)
    os.rename(unfinished, version)
    return version


def _next_version(directory):
    if not directory.exists():
        return 1
    names = [path.name for path in directory.iterdir()] if directory.is_dir() else [""]
    strangers = [name for name in names if not name.isdecimal() and not name.startswith(".")]
    if strangers:
        raise FileExistsError(
            "A SavedModel goes into a new directory, or into one that holds numbered versions "
            f"only. Received: directory={str(directory)!r}, which holds other things. "
            "Choose another name."
        )
    return max((int(name) for name in names if name.isdecimal()), default=0) + 1
