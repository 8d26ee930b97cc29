"""Run one file of a Keras model in one runtime, always with the same request.

    python array_runtimes.py RUNTIME FILE FOLDER

RUNTIME is array_model, tensorflow or onnxruntime. FOLDER contains `request.npz` and `answer.npz`.
To the line "first", the program answers {"difference": largest difference from Keras' answer}. To
a number n, it answers {"milliseconds": list of the times of n requests}. Each runtime imports only
the packages that it needs.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np


def array_model(path, request):
    """Return a function that runs the request in our runner, which checks each request."""
    from keras_bahdanau.runners import ArrayModel

    model = ArrayModel(path)
    return lambda: model(request)


def tensorflow(path, request):
    """Return a function for TensorFlow's own LiteRT interpreter, which has the Flex operations."""
    import tensorflow as tf

    interpreter = tf.lite.Interpreter(str(path), num_threads=1)
    inputs = interpreter.get_input_details()
    arrays = [_named(detail["name"], request) for detail in inputs]
    for detail, array in zip(inputs, arrays, strict=True):
        interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()
    outputs = interpreter.get_output_details()

    def run():
        for detail, array in zip(inputs, arrays, strict=True):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        return {detail["name"]: interpreter.get_tensor(detail["index"]) for detail in outputs}

    return run


def onnxruntime(path, request):
    """Return a function for ONNX Runtime on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    arrays = {value.name: _named(value.name, request) for value in session.get_inputs()}
    names = [value.name for value in session.get_outputs()]
    return lambda: dict(zip(names, session.run(None, arrays), strict=True))


def _named(name, request):
    """Return the array for an input; converters embed the original name in a longer one."""
    if len(request) == 1:
        return next(iter(request.values()))
    return next(array for key, array in request.items() if key in name)


def main(runtime, path, folder):
    """Answer the lines of standard input until it ends."""
    with np.load(folder / "request.npz") as arrays:
        request = dict(arrays)
    with np.load(folder / "answer.npz") as arrays:
        expected = arrays["answer"]
    run = globals()[runtime](path, request)
    for line in sys.stdin:
        if line.strip() == "first":
            (answer,) = run().values()
            report = {"difference": float(np.abs(answer - expected).max())}
        else:
            times = []
            for _ in range(int(line)):
                began = time.perf_counter()
                run()
                times.append(1000 * (time.perf_counter() - began))
            report = {"milliseconds": times}
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
