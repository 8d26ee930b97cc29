"""Functions that a zygote runs in a child: the public entries of the package."""

import importlib.util
import json
import os
import resource
import runpy
import signal
import sys
import time
from pathlib import Path

REACHED = 99  # exit code of a command that accepts its input and would load TensorFlow now


class _Reached(BaseException):
    """The command would load TensorFlow now."""


class _Barrier:
    """Finder of modules that lets nobody load TensorFlow or Keras."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("keras", "tensorflow", "tensorflow_text"):
            raise _Reached


def command(*arguments):
    """`keras-bahdanau ARGUMENTS`."""
    from keras_bahdanau.cli import main

    main(list(arguments))


def command_until_tensorflow(*arguments):
    """The same up to the point at which all checks that are cheap are done."""
    sys.meta_path.insert(0, _Barrier())
    try:
        command(*arguments)
    except _Reached:
        return REACHED


def command_without_children(*arguments):
    """The same, and an error if a process that it has started runs on."""
    try:
        command(*arguments)
    finally:
        until = time.monotonic() + 5
        while left := _children():
            if time.monotonic() > until:
                raise RuntimeError(f"No process must be left. Received: {left}")
            time.sleep(0.05)


def _children():
    """The numbers of the processes that this one has started, but those that have ended."""
    lists = Path("/proc/self/task").glob("*/children")
    numbers = [number for path in lists for number in path.read_text().split()]
    return [number for number in numbers if ") Z" not in Path(f"/proc/{number}/stat").read_text()]


def command_on_small_disk(size, *arguments):
    """The same where no file can be longer than so many bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    command(*arguments)


def _exported(*names):
    """Path of a file of `export/`, beside the package that is attacked."""
    package = importlib.util.find_spec("keras_bahdanau").submodule_search_locations[0]
    return os.fspath(Path(package).parent.joinpath("export", *names))


def on_device(*arguments):
    """`python export/on_device/translate.py ARGUMENTS`."""
    _program("on_device", "translate.py", arguments)


def client(name, *arguments):
    """`python export/tf_serving/NAME ARGUMENTS`."""
    _program("tf_serving", name, arguments)


def _program(directory, name, arguments):
    path = _exported(directory, name)
    sys.path.insert(0, os.path.dirname(path))
    sys.argv = [path, *arguments]
    runpy.run_path(path, run_name="__main__")


def on_device_frames(path, features):
    """`OnDevicePipeline.decode` of frames in an .npz file; an error of its own is a refusal."""
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
    """`Pipeline.decode` of one array of frames; an error of its own is a refusal."""
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
    """Requests one by one through TensorFlow's C++ loader: an answer or an error for each.

    Args:
        version: Path of a SavedModel.
        requests: Path of a pickle of a list of `(signature, {argument: array})`.
        answers: Path of the pickle to write, of dictionaries and of strings, the errors.
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
    """`read_table` of many tables, each in a file: what `asked` gives for each.

    Args:
        cases: Path of a pickle of a list of (name, bytes, columns, separator of answers).
        answers: Path of the pickle to write.
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
    """The best texts of a model's file that begin with a prefix, for many of them.

    Args:
        path: Path of the model.
        cases: Path of a pickle of a list of (sentence, prefix).
        answers: Path of the pickle to write: of each what `asked` gives, of (source tokens,
            tokens of the prefix, [(target tokens, score)]).
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
    """("result" or the name of an error, the result or its text, seconds of the processor)."""
    began = time.process_time()
    try:
        kind, found = "result", function(*arguments)
    except Exception as error:
        kind, found = type(error).__name__, str(error)
    return kind, found, round(time.process_time() - began, 2)
