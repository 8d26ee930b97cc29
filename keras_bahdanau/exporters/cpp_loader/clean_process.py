"""Answer requests to a SavedModel in a clean process; requests and answers travel as bytes."""

import argparse
import contextlib
import io
import itertools
import os
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

from keras_bahdanau.exporters.cpp_loader.c_library import object_array, to_numpy
from keras_bahdanau.exporters.cpp_loader.session import SavedModelSession
from keras_bahdanau.files.own_process import end_with_input, module_command

_SIZE = struct.Struct("<Q")
_MODULE = "keras_bahdanau.exporters.cpp_loader"
_THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")


def run_in_clean_process(directory, requests, python=None):
    """Run requests against a SavedModel in a new process without Python TensorFlow or Keras.

    The process can't use a GPU, like the stock image of the model server.

    Args:
        directory: Path of the SavedModel, the directory that contains `saved_model.pb`.
        requests: Iterable of `(signature, {argument: array})`, as in `SavedModelSession.run`.
            Only one or two of them are in memory at a time.
        python: Path of a Python interpreter, for example with a different release of TensorFlow;
            None for the one that is running.

    Returns a list of dictionaries from names of results to arrays. Raises RuntimeError, with the
    last line that the process printed, if the model can't be loaded or a request fails.

    Example:
        ```python
        text = np.array(["A man."], dtype=object)
        answers = run_in_clean_process("models/en-de/1", [("serving_default", {"text": text})])
        answers[0]["translation"]  # array([b'Ein Mann.'], dtype=object)
        ```
    """
    return timed_in_clean_process(directory, requests, python)[0]


def timed_in_clean_process(directory, requests, python=None, threads=None, text_operations=True):
    """Return (answers, seconds for each request): see `run_in_clean_process`.

    `threads` is the number of threads; None for all.
    """
    limits = {} if threads is None else dict.fromkeys(_THREADS, str(threads))
    # unnamed files, which disappear however this process ends
    with tempfile.TemporaryFile() as answered, tempfile.TemporaryFile() as log:
        child = subprocess.Popen(
            module_command(python or sys.executable, _MODULE, os.fspath(directory))
            + ([] if text_operations else ["--no-text"]),
            env={
                **os.environ,
                **limits,
                "CUDA_VISIBLE_DEVICES": "-1",
                "TF_CPP_MIN_LOG_LEVEL": "2",
            },
            stdin=subprocess.PIPE,
            stdout=answered,
            stderr=log,
        )
        # the child ends when its input ends; if it fails earlier, its last line says why
        with contextlib.suppress(BrokenPipeError), child:
            for signature, arrays in requests:
                _write(child.stdin, signature, arrays)
            _write_end(child.stdin)
            child.wait()
        log.seek(0)
        lines = log.read().decode("utf-8", "replace").strip().splitlines()
        if child.returncode:
            why = lines[-1] if lines else f"exit code {child.returncode}"
            raise RuntimeError(
                "TensorFlow's C++ loader must be able to run an artefact. "
                f"Received: path={os.fspath(directory)!r} ({why}). Export the translator again."
            )
        answered.seek(0)
        calls = list(_calls(answered))
        return [results for _, results, _ in calls], [seconds for *_, seconds in calls]


def _write(file, signature, arrays, seconds=0.0):
    """Write a call, preceded by its size, since the file may be a pipe. Does not use pickle."""
    fields = {"signature": np.array(signature), "seconds": np.array(seconds, np.float64)}
    for name, value in arrays.items():
        array = to_numpy(value)
        if array.dtype.hasobject:
            lengths = [len(string) for string in array.flat]
            fields[f"lengths:{name}"] = np.array(lengths, np.int64).reshape(array.shape)
            array = np.frombuffer(b"".join(array.flat), np.uint8)
        fields[f"data:{name}"] = array
    content = io.BytesIO()
    np.savez(content, **fields)
    file.write(_SIZE.pack(content.tell()))
    file.write(content.getbuffer())


def _write_end(file):
    """Mark the end of the calls."""
    file.write(_SIZE.pack(0))
    file.flush()


def _calls(file):
    """Yield (signature, arrays, seconds) for each call that `_write` wrote, up to the end mark."""
    while size := _SIZE.unpack(file.read(_SIZE.size))[0]:
        with np.load(io.BytesIO(file.read(size))) as fields:
            arrays = {
                name: _split(fields[f"data:{name}"], fields.get(f"lengths:{name}"))
                for name in (field.removeprefix("data:") for field in fields)
                if f"data:{name}" in fields
            }
            call = str(fields["signature"]), arrays, float(fields["seconds"])
        yield call


def _split(array, lengths):
    if lengths is None:
        return array
    data, ends = array.tobytes(), np.cumsum(lengths)
    strings = [data[end - size : end] for end, size in zip(ends, lengths.flat, strict=True)]
    return object_array(strings, lengths.shape)


def main():
    """Answer the requests on standard input. A failure prints one line and exits with code 1."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {_MODULE}", description="Run requests in TensorFlow's C++ loader."
    )
    parser.add_argument("saved_model", help="directory that contains saved_model.pb")
    parser.add_argument(
        "--no-text", action="store_true", help="don't load the operations of tensorflow-text"
    )
    options = parser.parse_args()
    answered = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # TensorFlow's own output is not an answer
    try:
        with SavedModelSession(options.saved_model, text_operations=not options.no_text) as session:
            requests = itertools.chain(_calls(sys.stdin.buffer), [None])
            for (name, inputs, _), following in itertools.pairwise(requests):
                if following is None:  # nothing more to read but the end of the input
                    end_with_input()
                began = time.perf_counter()
                answer = session.run(name, **inputs)
                _write(answered, name, answer, time.perf_counter() - began)
        _write_end(answered)
    except (OSError, RuntimeError, TypeError, ValueError, struct.error) as error:
        sys.exit(" ".join(str(error).split()))
