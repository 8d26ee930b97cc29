"""Requests and answers as files, and the clean process that turns one into the other."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

from keras_bahdanau.exporters.cpp_loader.c_library import as_array, object_array
from keras_bahdanau.exporters.cpp_loader.session import SavedModelSession

_MODULE = "keras_bahdanau.exporters.cpp_loader"
_THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
_ROOT = os.fspath(pathlib.Path(__file__).parents[3])  # where the process finds that module


def run_in_clean_process(directory, requests, python=sys.executable):
    """Run requests against a SavedModel in a new process without Python TensorFlow or Keras.

    The process sees no GPU, as in the stock image of the model server: a graph that can only run
    on one fails here.

    Args:
        directory: Path of the SavedModel, the directory that holds `saved_model.pb`.
        requests: List of `(signature, {argument: array})`, as `SavedModelSession.run` takes them.
        python: Path of the Python whose TensorFlow is used, for another release of it.

    Returns:
        List with one dictionary from a result's name to its array for each request.

    Raises:
        RuntimeError: If loading the model or any request fails, with the last output of the
            process.

    Example:
        text = np.array(["A man."], dtype=object)
        answers = run_in_clean_process("models/en-de/1", [("serving_default", {"text": text})])
        answers[0]["translation"]  # array([b'Ein Mann.'], dtype=object)
    """
    return timed_in_clean_process(directory, requests, python)[0]


def timed_in_clean_process(
    directory, requests, python=sys.executable, threads=None, text_operations=True
):
    """The same with the time that each request took.

    Args:
        directory: Path of the SavedModel.
        requests: As in `run_in_clean_process`.
        python: Likewise.
        threads: Integer, processor threads; as many as there are processors when left out.
        text_operations: False to load TensorFlow without the operations of tensorflow-text.

    Returns:
        The answers, and a list of the seconds of each request.

    Raises:
        RuntimeError: As in `run_in_clean_process`.
    """
    limits = {} if threads is None else dict.fromkeys(_THREADS, str(threads))
    with tempfile.TemporaryDirectory() as scratch:
        asked, answered = pathlib.Path(scratch, "asked.npz"), pathlib.Path(scratch, "answered.npz")
        _write(asked, requests)
        paths = [_ROOT, *filter(None, [os.environ.get("PYTHONPATH")])]
        child = subprocess.run(
            [python, "-m", _MODULE, os.fspath(directory), asked, answered]
            + ([] if text_operations else ["--no-text"]),
            env={
                **os.environ,
                **limits,
                "CUDA_VISIBLE_DEVICES": "-1",
                "PYTHONPATH": os.pathsep.join(paths),
                "TF_CPP_MIN_LOG_LEVEL": "2",
            },
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
        if child.returncode:
            lines = child.stderr.strip().splitlines() or [f"exit code {child.returncode}"]
            raise RuntimeError(f"TensorFlow's C++ loader refused {directory}: {lines[-1]}")
        calls, seconds = _read(answered)
        return [results for _, results in calls], seconds


def _write(path, calls, seconds=()):
    """Save `(signature, {name: array})` pairs without pickle: strings as bytes and lengths."""
    names = np.array([signature for signature, _ in calls], dtype=str)
    fields = {"signatures": names, "seconds": np.array(seconds, dtype=np.float64)}
    for index, (_, arrays) in enumerate(calls):
        for name, value in arrays.items():
            key, array = f"{index}:{name}", as_array(value)
            if array.dtype.hasobject:
                lengths = [len(string) for string in array.flat]
                fields[f"lengths:{key}"] = np.array(lengths, np.int64).reshape(array.shape)
                array = np.frombuffer(b"".join(array.flat), np.uint8)
            fields[f"data:{key}"] = array
    np.savez(path, **fields)


def _read(path):
    """The calls and the seconds that `_write` saved."""
    with np.load(path) as fields:
        calls = [(str(signature), {}) for signature in fields["signatures"]]
        for field in fields:
            kind, _, key = field.partition(":")
            if kind == "data":
                index, _, name = key.partition(":")
                lengths = fields.get(f"lengths:{key}")
                calls[int(index)][1][name] = _split(fields[field], lengths)
        return calls, fields["seconds"].tolist()


def _split(array, lengths):
    if lengths is None:
        return array
    data, ends = array.tobytes(), np.cumsum(lengths)
    strings = [data[end - size : end] for end, size in zip(ends, lengths.flat, strict=True)]
    return object_array(strings, lengths.shape)


def main():
    """Answer a file of requests; one line on standard error and exit code 1 if that fails."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {_MODULE}", description="Run requests in TensorFlow's C++ loader."
    )
    parser.add_argument("saved_model", help="directory that holds saved_model.pb")
    parser.add_argument("requests", help=".npz file to read, as run_in_clean_process writes it")
    parser.add_argument("answers", help=".npz file to write")
    parser.add_argument(
        "--no-text", action="store_true", help="load no operations of tensorflow-text"
    )
    options = parser.parse_args()
    try:
        with SavedModelSession(options.saved_model, text_operations=not options.no_text) as session:
            answers, seconds = [], []
            for name, inputs in _read(options.requests)[0]:
                began = time.perf_counter()
                answers.append((name, session.run(name, **inputs)))
                seconds.append(time.perf_counter() - began)
        _write(options.answers, answers, seconds)
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        sys.exit(" ".join(str(error).split()))
