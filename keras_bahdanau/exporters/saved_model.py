"""A `Translator` as a SavedModel: text in, text out, for TensorFlow Serving."""

import os
import shutil
from pathlib import Path

import tensorflow as tf

from keras_bahdanau.exporters import signatures


def export_saved_model(translator, directory):
    """Writes the next version of a model for TensorFlow Serving.

    Signatures: `serving_default` (`text` -> `translation`, `score`) and
    `translate_with_alignment`; see `keras_bahdanau.exporters.signatures`.
    The version appears under its number only when it is whole, since a server
    picks up a numbered directory at once.

    Args:
        translator: A `Translator`.
        directory: Path of the model; its versions are "1", "2", ... in it.

    Returns:
        Path of the new version.

    Raises:
        FileExistsError: If `directory` holds something else than versions.
    """
    directory = Path(directory)
    number = _next_version(directory)
    directory.mkdir(parents=True, exist_ok=True)
    unfinished = directory / f".unfinished-{os.getpid()}"
    try:
        module, functions = _traced(translator)
        tf.saved_model.save(module, str(unfinished), signatures=functions)
        version = directory / str(number)
        os.rename(unfinished, version)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return version


def _traced(translator):
    """What is saved, (variables and tokenizer, functions), and nothing of Keras."""
    module = tf.Module()
    module.weights = [weight.value for weight in translator.model.weights]
    module.tokenizer = translator.tokenizer
    text = tf.TensorSpec((None,), tf.string, name="text")
    with signatures.portable(translator.model):
        functions = {
            name: tf.function(
                lambda text, answer=answer: answer(translator, text), input_signature=[text]
            ).get_concrete_function()
            for name, answer in (
                ("serving_default", signatures.translate),
                ("translate_with_alignment", signatures.translate_with_alignment),
            )
        }
    return module, functions


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
