"""Parts of a corpus: files that are read in pieces, and whose translations are written whole.

A part is a file of text (`.txt`, a sentence a line), of JSON objects (`.jsonl`, one a line) or a
table (`.parquet`, which needs pyarrow). A piece is a span of it, (begin, end): bytes of a file of
lines, from the beginning of a line to the end of one, or rows of a table. Reading a piece again
gives the same rows, so only texts travel to the translator, and whatever else the rows hold is
read when their translations are written.
"""

import functools
from pathlib import Path

from line_parts import JsonPart, TextPart
from table_parts import ParquetPart

KINDS = {".txt": TextPart, ".jsonl": JsonPart, ".parquet": ParquetPart}


@functools.lru_cache(4)
def part_of(path, column):
    """The part in a file, by the end of its name; one that was used last is open still.

    Raises:
        ValueError: If there is no kind of that name.
    """
    if Path(path).suffix not in KINDS:
        raise ValueError(
            f"A part's name must end in one of {', '.join(KINDS)}. Received: part={str(path)!r}."
        )
    return KINDS[Path(path).suffix](path, column)


def find_parts(paths):
    """The files of parts: those given, and of directories those whose names end in a known way.

    Args:
        paths: List of paths.

    Returns:
        List of absolute paths with different names, those of a directory in the order of names.

    Raises:
        FileNotFoundError: If a path is neither file nor directory, or there is no part.
        ValueError: If two have one name.
    """
    found = {}
    for path in map(Path.absolute, map(Path, paths)):
        inside = sorted(one for one in path.iterdir() if _is_part(one)) if path.is_dir() else [path]
        for one in inside:
            if not one.is_file():
                raise FileNotFoundError(
                    f"A part must be a file, or in a directory. Received: part={str(one)!r}, "
                    "which does not exist."
                )
            if one.name in found:
                raise ValueError(
                    "Parts must have different names, for their outputs have the same. "
                    f"Received: {str(found[one.name])!r} and {str(one)!r}. Rename one."
                )
            found[one.name] = one
    if not found:
        raise FileNotFoundError(
            f"There must be a part whose name ends in one of {', '.join(KINDS)}. "
            f"Received: {[*map(str, paths)]}, without one."
        )
    return [*found.values()]


def _is_part(path):
    return path.suffix in KINDS and not path.name.startswith((".", "_")) and path.is_file()
