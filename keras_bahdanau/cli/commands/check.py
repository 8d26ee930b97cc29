"""The command `keras-bahdanau check`."""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.console import load_tensorflow
from keras_bahdanau.cli.options import command


@dataclasses.dataclass(kw_only=True)
class CheckArguments:
    """Arguments for `check`."""

    path: Annotated[
        Path,
        typer.Argument(help="Directory of a SavedModel or a web page, or a .tflite or .onnx file."),
    ]


@command(CheckArguments, imports=False)
def check(arguments):
    """Check an artefact for damage, and for anything that a server or a phone would reject.

    If there are problems, prints them and exits with code 1. Otherwise, prints the artefact's
    card: versions, limits, sha256, signatures and the comparison with Keras.
    """
    from keras_bahdanau import exporters
    from keras_bahdanau.exporters.all_formats import exporter_of

    exporter = exporter_of(arguments.path)()
    findings = exporter.damage(arguments.path)
    if not findings:
        if exporter.check_loads_tensorflow:
            load_tensorflow()
        findings = exporter.check(arguments.path)
    for finding in findings:
        print(finding)
    if findings:
        raise SystemExit(1)
    print(exporters.describe(arguments.path))
