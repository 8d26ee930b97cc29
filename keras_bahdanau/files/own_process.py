"""Modules of this package as processes: like `python -m` without the current directory."""

import os
import threading
from pathlib import Path

_ROOT = os.fspath(Path(__file__).parents[2])  # directory of this package
_CODE = """
import sys
sys.path[:] = filter(None, sys.path)  # "" is the current directory; PYTHONPATH has none
root, module = sys.argv[1:3]
del sys.argv[1:3]
if root not in sys.path:
    sys.path.insert(0, root)
import runpy
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def module_command(python, module, *arguments):
    """Build a command that runs a module and ignores modules in the current directory.

    `python -m` looks there first: a user's file `numbers.py` would shadow the standard library. The
    option -P, which prevents this, is missing in Python 3.10.
    """
    return [python, "-c", _CODE, _ROOT, module, *arguments]


def end_with_input():
    """End this process when its standard input ends, which means that its parent has ended.

    The parent holds the other end of a pipe and writes nothing; a kill also closes it.
    """

    def follow():
        os.read(0, 1)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
