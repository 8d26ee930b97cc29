"""Entry points of the package as functions that a zygote runs in a child process."""

import importlib.util
import json
import os
import resource
import runpy
import signal
import sys
import time
from pathlib import Path

REACHED = 99  # exit code of a command whose input passed all checks before TensorFlow is imported


class _Reached(BaseException):
    """Raised when a command is about to import TensorFlow."""


class _Barrier:
    """Module finder that prevents imports of TensorFlow and Keras."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("keras", "tensorflow", "tensorflow_text"):
            raise _Reached


def command(*arguments):
    """Run `keras-bahdanau ARGUMENTS`."""
    from keras_bahdanau.cli import main

    main(list(arguments))


def command_until_tensorflow(*arguments):
    """Run `keras-bahdanau ARGUMENTS` until it imports TensorFlow, after all cheap checks."""
    sys.meta_path.insert(0, _Barrier())
    try:
        command(*arguments)
    except _Reached:
        return REACHED


def command_without_children(*arguments):
    """Run `keras-bahdanau ARGUMENTS`; raise an error if child processes keep running."""
    try:
        command(*arguments)
    finally:
        until = time.monotonic() + 5
        while left := _children():
            if time.monotonic() > until:
                raise RuntimeError(f"No process must be left. Received: {left}")
            time.sleep(0.05)


def _children():
    """Return the ids of the child processes that are still running."""
    lists = Path("/proc/self/task").glob("*/children")
    numbers = [number for path in lists for number in path.read_text().split()]
    return [number for number in numbers if ") Z" not in Path(f"/proc/{number}/stat").read_text()]


def command_on_small_disk(size, *arguments):
    """Run `keras-bahdanau ARGUMENTS` while no file can grow beyond `size` bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    command(*arguments)


def _exported(*names):
    """Return the path of a file in `export/` next to the attacked package."""
    package = importlib.util.find_spec("keras_bahdanau").submodule_search_locations[0]
    return os.fspath(Path(package).parent.joinpath("export", *names))


def on_device(*arguments):
    """Run `python export/on_device/translate.py ARGUMENTS`."""
    _program("on_device", "translate.py", arguments)


def client(name, *arguments):
    """Run `python export/tf_serving/NAME ARGUMENTS`."""
    _program("tf_serving", name, arguments)


def _program(directory, name, arguments):
    path = _exported(directory, name)
    sys.path.insert(0, os.path.dirname(path))
    sys.argv = [path, *arguments]
    runpy.run_path(path, run_name="__main__")


def on_device_frames(path, features):
    """Call `OnDevicePipeline.decode` with the frames in an .npz file; its errors are refusals."""
    import numpy as np

    from keras_bahdanau.exporters import OnDevicePipeline

    with np.load(features) as arrays:
        values, length = arrays["values"], int(arrays["length"])
    pipeline = OnDevicePipeline(path)
    try:
        labels = [str(number) for number in range(len(values))]
        result = pipeline.decode({"values": values, "lengths": length}, labels)
    except ValueError as error:
        sys.exit(" ".join(str(error).split()))
    print(json.dumps({"text": result.text, "score": float(result.score)}))


def frames_in_python(shape, kind, value):
    """Call `Pipeline.decode` with an array of frames; the package's own errors are refusals."""
    import numpy as np
    from frames import new_frames_pipeline

    with np.errstate(all="ignore"):
        array = np.full(shape, float(value)).astype(kind)
    pipeline = new_frames_pipeline()
    try:
        (result,) = pipeline.decode([array])
    except (TypeError, ValueError) as error:
        if "Received: " not in str(error):
            raise
        sys.exit(" ".join(str(error).split()))
    if not np.isfinite(result.score):
        raise ArithmeticError(f"A score must be finite. Received: {result.score}")


def served(version, requests, answers):
    """Run requests one at a time in TensorFlow's C++ loader.

    Args:
        version: Path of a SavedModel.
        requests: Path of a pickle: a list of `(signature, {argument: array})`.
        answers: Path of the pickle to write: for each request, a dictionary or the error as a
            string.
    """
    import pickle

    from keras_bahdanau.exporters.cpp_loader import SavedModelSession

    found = []
    with SavedModelSession(version) as session:
        for signature, inputs in pickle.loads(Path(requests).read_bytes()):
            try:
                found.append(session.run(signature, **inputs))
            except RuntimeError as error:
                found.append(str(error))
    Path(answers).write_bytes(pickle.dumps(found))


def tables(cases, answers):
    """Call `read_table` on many tables.

    Args:
        cases: Path of a pickle: a list of (name, bytes, columns, separator of answers).
        answers: Path of the pickle to write: for each table, the result of `asked`.
    """
    import pickle

    from keras_bahdanau.data import read_table

    def read(name, content, columns, separator):
        Path(name).write_bytes(content)
        told = []
        return (*read_table(name, columns, separator, say=told.append), told)

    found = [asked(read, *case) for case in pickle.loads(Path(cases).read_bytes())]
    Path(answers).write_bytes(pickle.dumps(found))


def prefixes(path, cases, answers):
    """Complete many prefixes with a model: find the best texts that begin with each of them.

    Args:
        path: Path of the model.
        cases: Path of a pickle: a list of (sentence, prefix).
        answers: Path of the pickle to write: for each case, the result of `asked` for (source
            tokens, tokens of the prefix, [(target tokens, score)]).
    """
    import pickle

    from keras_bahdanau import Translator
    from keras_bahdanau.exporters import OnDeviceTranslator

    on_device = path.endswith(".tflite")
    translator = OnDeviceTranslator(path) if on_device else Translator.load(path)
    vocabulary = translator.vocabulary("target") if on_device else translator.target

    def completed(sentence, prefix):
        (results,) = translator.translate_nbest([sentence], prefixes=[prefix])
        if on_device:
            begun = [vocabulary.id_to_piece(one) for one in vocabulary.encode(prefix)]
        else:
            begun = [*vocabulary.tokens(vocabulary.encode([prefix])[0][:-1])]
        texts = [(one.target_tokens, one.score) for one in results]
        return results[0].source_tokens, begun, texts

    found = [asked(completed, *case) for case in pickle.loads(Path(cases).read_bytes())]
    Path(answers).write_bytes(pickle.dumps(found))


def asked(function, *arguments):
    """Call a function; return (kind, found, seconds of processor time).

    They are "result" and the result, or an error's class name and message.
    """
    began = time.process_time()
    try:
        kind, found = "result", function(*arguments)
    except Exception as error:
        kind, found = type(error).__name__, str(error)
    return kind, found, round(time.process_time() - began, 2)
