"""The command `keras-bahdanau demo`."""

import dataclasses
import functools
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.console import keras_verbosity, load_tensorflow
from keras_bahdanau.cli.options import command
from keras_bahdanau.cli.output import check_absent
from keras_bahdanau.demo.task import TASKS, check_directory
from keras_bahdanau.settings.option import check_value, one_of


@dataclasses.dataclass(kw_only=True)
class DemoArguments:
    """Arguments for `demo`."""

    task: Annotated[
        str,
        typer.Option(
            help=f"Task: {', '.join(f'{name} ({text})' for name, text in TASKS.items())}."
        ),
    ] = "text"
    out: Annotated[
        Path | None,
        typer.Option(
            help="Directory for all output files.  [default: demo, or demo-TASK]",
            show_default=False,
        ),
    ] = None


@command(DemoArguments, on_interrupt="Run the same command to continue.", imports=False)
def demo(arguments):
    """Try out the package on generated data in a few minutes.

    Trains a model and runs it, plots an alignment, exports a SavedModel and a LiteRT file, and
    compares the outputs of all three. Nothing is downloaded.
    """
    task = arguments.task
    check_value("task", task, one_of(*TASKS))
    out = arguments.out or Path("demo" if task == "text" else f"demo-{task}")
    if out.exists() and not out.is_dir():
        check_absent(out, "out")
    from keras_bahdanau import demo as package

    check_directory(out)
    load_tensorflow()
    say = functools.partial(print, flush=True)
    package.run(out, verbose=keras_verbosity(), say=say, task=task)
