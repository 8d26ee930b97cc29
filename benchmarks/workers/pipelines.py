"""Run a text pipeline with the package's own runner.

    python pipelines.py MODEL

The program reads lines of text, and writes a line of JSON for each. MODEL is a .keras, .tflite or
.onnx file. For .tflite and .onnx files, TensorFlow is not loaded.
"""

import json
import sys
from pathlib import Path


def main(model):
    from keras_bahdanau.cli.model_file import load_models, open_models

    pipeline = load_models(open_models([Path(model)]))
    for line in sys.stdin:
        (result,) = pipeline.translate([line.removesuffix("\n")])
        print(json.dumps({"hypotheses": [{"text": result.text}]}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
