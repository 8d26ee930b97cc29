"""The `keras-bahdanau` command line: lists the commands and runs one of them.

Each command is a function in the file of the same name in `commands/`. The file is imported only
when the command runs. A command imports slow packages, such as TensorFlow, only after it has made
all the checks that don't need them.
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
    "train": "Train a text, image or speech model, or resume a training run.",
    "distill": "Train a small model on the outputs of a large one.",
    "translate": "Translate sentences, one output line for each input line.",
    "read": "Read images, one output line for each file.",
    "transcribe": "Transcribe recordings, one output line for each file.",
    "evaluate": "Evaluate a model: metrics, perplexity, attention and speed.",
    "tune": "Choose search options by a metric and save them in the model.",
    "calibrate": "Calibrate a model so that its confidences are probabilities.",
    "align": "Show what a model attends to in one sentence or file.",
    "export": "Export a SavedModel, a LiteRT or ONNX file, or a web page.",
    "check": "Check an exported model.",
    "demo": "Try out the package on generated data in a few minutes.",
}
_CONTEXT = {"help_option_names": ["--help", "-h"]}
FUNCTIONS = {"read": "translate", "transcribe": "translate"}  # functions with another name
ANSWERS = "--version", "--help", "-h"  # options that work without a command
HELP = f"""\
Usage: {PROGRAM} [OPTIONS] COMMAND [ARGS]...

  Train RNNs with attention for text, images and speech, see what they attend
  to, and export them.

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
    # print file names that are not valid UTF-8 unchanged
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
        run(arguments[1:], prog_name=program, obj=arguments)  # `train --workers` launches `obj`
    sys.exit(_answer(name))


def _answer(name):
    """Handle a call that names no command, and return the exit code."""
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
    """Build the Typer command of that name."""
    import typer

    from keras_bahdanau.cli.options import SectionedCommand

    function = FUNCTIONS.get(name, name)
    module = importlib.import_module(f"{__name__}.commands.{function}")
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name, cls=SectionedCommand, context_settings=_CONTEXT)(getattr(module, function))
    return typer.main.get_command(app)
