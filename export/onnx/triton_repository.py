"""Writes a model repository of NVIDIA Triton for one .onnx file: its configuration and a copy.

    python triton_repository.py en-de.onnx models/en-de

makes `models/en-de/config.pbtxt`, from the inputs and outputs that the file really has, and
`models/en-de/1/model.onnx`. Needs the package keras_bahdanau, neither TensorFlow nor a runtime.

Exit codes: 0 it is written; 2 the command line, the file or the directory is wrong.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

from keras_bahdanau.exporters.onnx.graph_facts import read_facts
from keras_bahdanau.exporters.onnx.onnx_file import open_sealed

TYPES = {  # `ModelConfig.DataType` of Triton
    **{"bool": "TYPE_BOOL", "uint8": "TYPE_UINT8", "int32": "TYPE_INT32", "int64": "TYPE_INT64"},
    **{"float32": "TYPE_FP32", "float16": "TYPE_FP16", "string": "TYPE_STRING"},
}
NAME = re.compile("[A-Za-z0-9][A-Za-z0-9._-]*")  # of a model: a directory, and a part of URLs
TEXT = """\
# Requests of the same lengths that come within the delay of each other share a batch.
name: "{name}"
backend: "onnxruntime"
default_model_filename: "model.onnx"
max_batch_size: {rows}
{tensors}
dynamic_batching {{ max_queue_delay_microseconds: {delay} }}
instance_group [ {{ kind: KIND_CPU count: 1 }} ]
parameters {{ key: "intra_op_thread_count" value: {{ string_value: "1" }} }}
"""


def config_of(facts, name, rows=64, delay=5000):
    """The text of `config.pbtxt` for the `GraphFacts` of a file."""
    tensors = [("input", tensor) for tensor in facts.inputs]
    tensors += [("output", tensor) for tensor in facts.outputs]
    lines = "\n".join(tensor_config(kind, tensor) for kind, tensor in tensors)
    return TEXT.format(name=name, rows=rows, delay=delay, tensors=lines)


def tensor_config(kind, tensor):
    """One input or output, without its batch, which Triton adds."""
    if tensor.dtype not in TYPES or not tensor.shape or isinstance(tensor.shape[0], int):
        raise ValueError(
            "Each tensor must have a batch of any size and a dtype that Triton knows. "
            f"Received: {tensor}. Export it again with export_onnx."
        )
    sizes = [size if isinstance(size, int) else -1 for size in tensor.shape[1:]]
    # a tensor of the batch alone has one element a row, which Triton needs an axis for
    shape = (
        f"dims: [ {', '.join(map(str, sizes))} ]" if sizes else "dims: [ 1 ] reshape { shape: [ ] }"
    )
    return f'{kind} [ {{ name: "{tensor.name}" data_type: {TYPES[tensor.dtype]} {shape} }} ]'


def write_repository(path, directory):
    """Write the configuration and the first version; returns the path of the configuration."""
    if not NAME.fullmatch(directory.name):
        raise ValueError(
            "The directory of a model has its name: letters, digits, '.', '_' and '-'. "
            f"Received: directory={str(directory)!r}. Choose another one."
        )
    if directory.exists():
        raise FileExistsError(
            "The directory of a new model must not exist yet. "
            f"Received: directory={str(directory)!r}. Choose another name, or remove it."
        )
    _, contents = open_sealed(path)
    text = config_of(read_facts(contents.model), directory.name)
    (directory / "1").mkdir(parents=True)
    shutil.copyfile(path, directory / "1" / "model.onnx")
    config = directory / "config.pbtxt"
    config.write_text(text, encoding="utf-8")
    return config


def main(arguments=None):
    """The program; returns its exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="the .onnx file")
    parser.add_argument("directory", type=Path, help="directory to make, named as the model")
    options = parser.parse_args(arguments)
    try:
        print(write_repository(options.model, options.directory))
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
