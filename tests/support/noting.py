"""A function that records its calls in a file, from any process."""

from pathlib import Path
from typing import NamedTuple


class Noting(NamedTuple):
    """Function that appends a letter to a file when it is called.

    It is compared by value, so that a copy in another process is equal.

    Attributes:
        path: Path. The file.
    """

    path: Path

    def __call__(self):
        with open(self.path, "a") as file:
            file.write("x")
