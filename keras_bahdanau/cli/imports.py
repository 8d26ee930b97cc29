"""The option `--import`, which loads user modules that register layers and sources with Keras."""

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
        help="Python module to import first, such as one that registers a custom layer with "
        "Keras. May be given several times. Modules in the current directory can be imported. A "
        ".tflite file contains its layers and needs only the modules of its sources.",
        show_default=False,
        rich_help_panel="Run",
    ),
]


class ModuleLoader(NamedTuple):
    """Callable that runs `load_modules` in another process.

    It is compared by value, so that each process loads the modules only once.
    """

    modules: tuple

    def __call__(self):
        load_modules(self.modules)


def load_modules(modules, threads=None):
    """Load TensorFlow, then the named modules, which register classes with Keras."""
    load_tensorflow(threads)
    if modules:
        sys.path.insert(0, os.getcwd())
    for name in modules:
        try:
            if not all(part.isidentifier() for part in name.split(".")):
                raise ImportError("it is not a module name")
            importlib.import_module(name)
        except ImportError as error:
            raise ImportError(
                "`import` must be the name of a Python module, as in an import statement, without "
                f".py. Received: import={name!r} ({error}). Correct the name, or install the "
                "missing module."
            ) from None
