"""The option `--import`: modules of the user, which register layers and sources with Keras."""

import importlib
import os
import sys
from typing import Annotated, NamedTuple

import typer

from keras_bahdanau.cli.console import load_tensorflow

ImportOption = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        metavar="MODULE",
        help="Python module to import first, such as that of a layer of your own, which "
        "registers it with Keras; may be given several times. Modules of the current "
        "directory are found. A .tflite file has its layers in it: it needs modules of sources "
        "alone.",
        show_default=False,
        rich_help_panel="Run",
    ),
]


class ModuleLoader(NamedTuple):
    """`load_modules` for other processes: equal by value, so that each loads them once."""

    modules: tuple

    def __call__(self):
        load_modules(self.modules)


def load_modules(modules, threads=None):
    """Load TensorFlow, then modules by their names, which register what Keras must know."""
    load_tensorflow(threads)
    if modules:
        sys.path.insert(0, os.getcwd())
    for name in modules:
        try:
            if not all(part.isidentifier() for part in name.split(".")):
                raise ImportError("it is no name of a module")
            importlib.import_module(name)
        except ImportError as error:
            raise ImportError(
                "`import` must name a Python module as an import statement does, without .py. "
                f"Received: import={name!r} ({error}). Correct it, or install what it lacks."
            ) from None
