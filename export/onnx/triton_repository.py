"""Write a model repository for NVIDIA Triton: the configuration and a copy of an .onnx file.

    python triton_repository.py en-de.onnx models/en-de

This command writes `models/en-de/config.pbtxt`, from the actual inputs and outputs of the file, and
`models/en-de/1/model.onnx`. It needs the package keras_bahdanau, but neither TensorFlow nor a
runtime.

Exit codes: 0 if it is written; 2 if the command line, the file or the directory is wrong.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

from keras_bahdanau.exporters.onnx.graph_facts import read_facts
from keras_bahdanau.exporters.onnx.onnx_file import open_sealed

TYPES = {  # values of Triton's `ModelConfig.DataType`
    **{"bool": "TYPE_BOOL", "uint8": "TYPE_UINT8", "int32": "TYPE_INT32", "int64": "TYPE_INT64"},
    **{"float32": "TYPE_FP32", "float16": "TYPE_FP16", "string": "TYPE_STRING"},
}
# the name of a model, which is also a directory and part of URLs
NAME = re.compile("[A-Za-z0-9][A-Za-z0-9._-]*")
TEXT = """\
# Requests with equal lengths that arrive within the delay of each other share a batch.
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
    """Return the text of `config.pbtxt` for the `GraphFacts` of a file."""
    tensors = [("input", tensor) for tensor in facts.inputs]
    tensors += [("output", tensor) for tensor in facts.outputs]
    lines = "\n".join(tensor_config(kind, tensor) for kind, tensor in tensors)
    return TEXT.format(name=name, rows=rows, delay=delay, tensors=lines)


def tensor_config(kind, tensor):
    """Return the configuration of an input or output, without its batch axis, which Triton adds."""
    if tensor.dtype not in TYPES or not tensor.shape or isinstance(tensor.shape[0], int):
        raise ValueError(
            "Each tensor must have a batch axis of any size and a dtype that Triton supports. "
            f"Received: {tensor}. Export it again with export_onnx."
        )
    sizes = [size if isinstance(size, int) else -1 for size in tensor.shape[1:]]
    # Triton needs an axis even for a tensor with one element per row
    shape = (
        f"dims: [ {', '.join(map(str, sizes))} ]" if sizes else "dims: [ 1 ] reshape { shape: [ ] }"
    )
    return f'{kind} [ {{ name: "{tensor.name}" data_type: {TYPES[tensor.dtype]} {shape} }} ]'


def write_repository(path, directory):
    """Write the configuration and the first version; return the path of the configuration."""
    if not NAME.fullmatch(directory.name):
        raise ValueError(
            "The name of the directory must consist of letters, digits, '.', '_' and '-'. "
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
    """Run the program, and return its exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="the .onnx file")
    parser.add_argument("directory", type=Path, help="directory to create; its name is the model's")
    options = parser.parse_args(arguments)
    try:
        print(write_repository(options.model, options.directory))
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
