"""The command line `keras-bahdanau`: lists the commands and starts one.

A command is a function in the file of the same name in `commands/`, which is imported when it
runs. It imports slow packages, such as TensorFlow, after all checks that do not need them.
"""

import functools
import importlib
import os
import sys

from keras_bahdanau import __version__
from keras_bahdanau.cli.console import (
    BAD_INPUT,
    PROGRAM,
    open_closed_streams,
    report_warnings,
    warn,
)
from keras_bahdanau.settings.lazy import missing_package

COMMANDS = {
    "prepare": "Filter a corpus of any size and write it as shards.",
    "train": "Train a model of text, images or speech; or resume a training.",
    "distill": "Train a small model on the outputs of a large one.",
    "translate": "Translate sentences: one line out for each line in.",
    "read": "Read images: one line out for each file.",
    "transcribe": "Transcribe recordings: one line out for each file.",
    "evaluate": "Measure a model on pairs: metrics, perplexity, attention, speed.",
    "tune": "Choose search options by a metric and write them into the model.",
    "calibrate": "Turn confidences into probabilities, in the model's file.",
    "align": "Show what a model attends to in one sentence or file.",
    "export": "Write a SavedModel, a LiteRT file or a page.",
    "check": "Check an exported model.",
    "demo": "Try everything on generated data, in minutes.",
}
_CONTEXT = {"help_option_names": ["--help", "-h"]}
FUNCTIONS = {"read": "translate", "transcribe": "translate"}  # named differently from the command
ANSWERS = "--version", "--help", "-h"  # options that need no command
HELP = f"""\
Usage: {PROGRAM} [OPTIONS] COMMAND [ARGS]...

  Attention RNNs for text, images and speech: train them, see what they attend
  to, ship.

Options:
  --version  Show the version and exit.
  --help     Show this message and exit.

Commands:
{chr(10).join(f"  {name:<10}  {summary}" for name, summary in COMMANDS.items())}
"""


def main(arguments=None):
    """Entry point of the command line."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    open_closed_streams()
    # file names that are not UTF-8 are written unchanged
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    arguments = sys.argv[1:] if arguments is None else arguments
    name = arguments[0] if arguments else ""
    if name in COMMANDS:
        report_warnings()
        program = f"{PROGRAM} {name}"
        try:
            run = command(name)
        except ImportError as error:
            message = missing_package(program, error)
            if not message:
                raise
            warn(message)
            sys.exit(BAD_INPUT)
        run(arguments[1:], prog_name=program, obj=arguments)  # `train` launches `obj`
    sys.exit(_answer(name))


def _answer(name):
    """Answer a call without a command; return the exit code."""
    if name == "--version":
        print(f"{PROGRAM} {__version__}")
    elif name in ("", *ANSWERS):
        print(HELP, end="", file=sys.stdout if name else sys.stderr)
    else:
        from keras_bahdanau.settings.guesses import nearest

        kind, names = ("option", ANSWERS) if name.startswith("-") else ("command", COMMANDS)
        warn(f"No such {kind}: {name!r}{nearest(name, names) or '.'} `{PROGRAM} --help` lists all.")
    return 0 if name in ANSWERS else BAD_INPUT


@functools.cache
def command(name):
    """The typer program of one command."""
    import typer

    from keras_bahdanau.cli.options import SectionedCommand

    function = FUNCTIONS.get(name, name)
    module = importlib.import_module(f"{__name__}.commands.{function}")
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name, cls=SectionedCommand, context_settings=_CONTEXT)(getattr(module, function))
    return typer.main.get_command(app)
