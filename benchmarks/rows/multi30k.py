"""Multi30K as ids, tokenized once in a separate process, for the rows that need it."""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

from environments import Unavailable

SENTENCES_A_STEP = 64
QUICK_VOCABULARY = 600
FILES = "train.en", "train.de", "test_2016_flickr.en", "test_2016_flickr.de"  # plain or .gz


def directory(text):
    """Return the path of a directory that contains Multi30K; for use as an argparse `type`."""
    found = pathlib.Path(text)
    absent = [
        name for name in FILES if not any((found / f"{name}{end}").is_file() for end in ("", ".gz"))
    ]
    if absent:
        raise argparse.ArgumentTypeError(
            f"it must contain {', '.join(FILES)}, plain or .gz, and {absent[0]} is not in "
            f"{text!r}: check the spelling"
        )
    return found


@contextlib.contextmanager
def corpus(options, vocabulary):
    """Yield the path of a folder filled by `workers/corpus.py`, which is removed afterwards.

    With `options.steps`, the training part is that many batches of 64 sentences, drawn at random:
    a part of an epoch, which is the same for every peer.

    Raises:
        Unavailable: If `options.multi30k` is None, or the data can't be read.
    """
    if options.multi30k is None:
        raise Unavailable("needs --multi30k DIR with train.en, train.de, test_2016_flickr.en, ...")
    steps, sentences = options.steps, options.sentences
    if options.quick:
        steps, sentences = steps or 6, sentences or 12
    script = pathlib.Path(__file__).parent.parent / "workers" / "corpus.py"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, script, options.multi30k, folder, "--vocabulary", vocabulary]
        if steps:
            command += ["--pairs", steps * SENTENCES_A_STEP]
        if sentences:
            command += ["--sentences", sentences]
        paths = {"PYTHONPATH": str(script.parent.parent.parent)}
        done = subprocess.run(
            [*map(str, command)], capture_output=True, text=True, env={**os.environ, **paths}
        )
        if done.returncode:
            raise Unavailable(f"Multi30K: {done.stderr.strip().splitlines()[-1]}")
        yield folder
