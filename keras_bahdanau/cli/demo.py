"""`keras-bahdanau demo`."""

import functools
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.arguments import check_absent
from keras_bahdanau.cli.console import ends_well, keras_verbosity, load_tensorflow


@ends_well("The same command goes on.")
def demo(
    out: Annotated[Path, typer.Option(help="Directory that receives everything.")] = Path("demo"),
):
    """See it all on a generated corpus, in minutes.

    Trains, translates, draws an alignment, exports a SavedModel and a LiteRT file, and compares
    what the three answer. No download.
    """
    if out.exists() and not out.is_dir():
        check_absent(out, "out")
    from keras_bahdanau import demo as embedded

    load_tensorflow()
    embedded.run(out, verbose=keras_verbosity(), say=functools.partial(print, flush=True))
