"""`keras-bahdanau demo`."""

import functools
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.arguments import check_absent
from keras_bahdanau.cli.console import ends_well, keras_verbosity, load_tensorflow
from keras_bahdanau.demo.task import TASKS, check_directory
from keras_bahdanau.settings.option import check_value, one_of


@ends_well("The same command goes on.")
def demo(
    task: Annotated[
        str,
        typer.Option(help=f"{', '.join(f'{name} ({text})' for name, text in TASKS.items())}."),
    ] = "text",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Directory that receives everything.  [default: demo, or demo-TASK]",
            show_default=False,
        ),
    ] = None,
):
    """See it all on generated data, in minutes.

    Trains, reads, draws an alignment, exports a SavedModel and a LiteRT file, and compares
    what the three answer. No download.
    """
    check_value("task", task, one_of(*TASKS))
    out = out or Path("demo" if task == "text" else f"demo-{task}")
    if out.exists() and not out.is_dir():
        check_absent(out, "out")
    from keras_bahdanau import demo as embedded

    check_directory(out)
    load_tensorflow()
    embedded.run(
        out, verbose=keras_verbosity(), say=functools.partial(print, flush=True), task=task
    )
