"""A function that other processes call, and that leaves a trace in a file."""

from pathlib import Path
from typing import NamedTuple


class Noting(NamedTuple):
    """Adds a letter to a file when it is called; equal by value, as another process has it.

    Attributes:
        path: Path of the file.
    """

    path: Path

    def __call__(self):
        with open(self.path, "a") as file:
            file.write("x")
