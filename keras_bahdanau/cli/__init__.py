"""The command line `keras-bahdanau`.

What takes time to load, TensorFlow first, is imported by the commands that
need it, after every check that does not.
"""

import functools
import os
import sys
from typing import Annotated

import typer

from keras_bahdanau import __version__
from keras_bahdanau.cli import (
    aligning,
    calibrating,
    demo,
    distilling,
    evaluation,
    exporting,
    read_files,
    sharding,
    training,
    translating,
    tuning,
)
from keras_bahdanau.cli.console import PROGRAM, open_closed_streams

app = typer.Typer(
    help="Attention RNNs for text, images and speech: train them, see what they attend to, ship.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main(arguments=None):
    """The entry point.

    Args:
        arguments: List of strings; those of the process when left out.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    open_closed_streams()
    # names of files that are not UTF-8 are written as they are
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    arguments = sys.argv[1:] if arguments is None else arguments
    _click_program()(arguments, prog_name=PROGRAM, obj=arguments)  # `launch` hands `obj` on


@functools.cache
def _click_program():
    """The program that parses; it is made once, as that takes longer than to parse."""
    return typer.main.get_command(app)


def _show_version(asked: bool):
    if asked:
        print(f"{PROGRAM} {__version__}")
        raise typer.Exit()


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
):
    pass


for command in (
    sharding.prepare,
    training.train,
    distilling.distill,
    translating.translate,
    read_files.read,
    evaluation.evaluate,
    tuning.tune,
    calibrating.calibrate,
    aligning.align,
    exporting.export,
    exporting.check,
    demo.demo,
):
    app.command()(command)
app.command("transcribe")(read_files.read)
