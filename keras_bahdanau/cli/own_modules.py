"""The option `--import`: Python modules of one's own, which register what Keras must know."""

import functools
import importlib
import inspect
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
    ),
]


def with_imports(function=None, threads=None):
    """Give a function's command the option `--import`: modules that are imported before it runs.

    So Keras knows the layers of one's own that they register.

    Args:
        function: The function, where this is the decorator itself.
        threads: Integer, as in `load_tensorflow`, which such modules need.
    """
    if function is None:
        return functools.partial(with_imports, threads=threads)

    @functools.wraps(function)
    def command(*args, modules=None, **kwargs):
        if modules:
            load_with(modules, threads)
        return function(*args, **kwargs)

    signature = inspect.signature(function)
    parameters = [*signature.parameters.values()]
    options = [one for one in parameters if one.kind is inspect.Parameter.VAR_KEYWORD]
    named = [one for one in parameters if one not in options]
    command.__signature__ = signature.replace(parameters=[*named, _MODULES, *options])
    return command


_MODULES = inspect.Parameter(
    "modules", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=ImportOption
)


class LoadWith(NamedTuple):
    """`load_with` for other processes: equal by value, so that each knows that it has loaded.

    Attributes:
        modules: Tuple of strings.
    """

    modules: tuple

    def __call__(self):
        load_with(self.modules)


def load_with(modules, threads=None):
    """Load TensorFlow, then modules by their names, which register what Keras must know.

    Args:
        modules: List of strings; modules of the current directory are found, too.
        threads: Integer, as in `load_tensorflow`.

    Raises:
        ImportError: If there is no such module.
    """
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
