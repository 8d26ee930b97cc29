"""Modules of this package as processes: like `python -m`, without the current directory."""

import os
from pathlib import Path

_ROOT = os.fspath(Path(__file__).parents[1])  # where a process finds this package
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
    """The command that runs a module, and finds no other modules in the current directory.

    `python -m` looks there first: it takes a file `numbers.py` beside a user's data for the
    module of Python. The option -P, which prevents it, is missing in Python 3.10.

    Args:
        python: Path of the Python that runs it.
        module: Name of a module or package that can be run.
        arguments: Strings that follow it.

    Returns:
        List of strings.
    """
    return [python, "-c", _CODE, _ROOT, module, *arguments]
