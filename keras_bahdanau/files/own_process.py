"""Run modules of this package in separate processes that ignore the current directory."""

import os
import threading
from pathlib import Path

_ROOT = os.fspath(Path(__file__).parents[2])  # the directory that contains this package
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

    `python -m` searches that directory first, so a user's `numbers.py` would shadow the one in the
    standard library. Python 3.10 lacks the option `-P`, which prevents this.
    """
    return [python, "-c", _CODE, _ROOT, module, *arguments]


def end_with_input():
    """End this process when its standard input ends, which means that its parent has ended.

    The parent holds the other end of a pipe and writes nothing to it. The pipe closes when the
    parent ends, even if the parent is killed.
    """

    def follow():
        os.read(0, 1)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
