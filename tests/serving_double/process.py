"""Starts the double, for tests."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
OWN = ("--port=0", "--rest_api_port=0", "--end_with_stdin")


@contextlib.contextmanager
def started(flags):
    """Runs the double for as long as the block takes.

    Args:
        flags: List of strings, as the server takes them, but for `--port` and `--rest_api_port`.

    Yields:
        Dictionary with the ports, `"grpc"` and `"rest"`.
    """
    paths = [str(TESTS), str(TESTS.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    with subprocess.Popen(
        [sys.executable, "-m", "serving_double", *flags, *OWN],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "CUDA_VISIBLE_DEVICES": "-1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:  # whose end closes the double's input, at which it stops
        yield json.loads(process.stdout.readline())
