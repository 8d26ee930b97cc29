"""Start the double in tests."""

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
    """Run the double for the duration of the block.

    Args:
        flags: List of strings. Flags of the server except `--port` and `--rest_api_port`.

    Yields:
        Dictionary with the ports, `"grpc"` and `"rest"`.
    """
    paths = [str(TESTS), str(TESTS.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    with subprocess.Popen(
        [sys.executable, "-m", "serving_double", *flags, *OWN],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "CUDA_VISIBLE_DEVICES": "-1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:  # leaving the block closes the double's standard input
        yield json.loads(process.stdout.readline())
