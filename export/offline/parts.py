"""Parts of a corpus: files that are read in pieces, and whose translations are written as a whole.

A part is a text file (`.txt`, a sentence per line), a JSON Lines file (`.jsonl`, an object per
line) or a table (`.parquet`, which needs pyarrow). A piece is a span (begin, end) of a part: a
range of bytes that consists of whole lines, or a range of rows of a table. Reading a piece again
gives the same rows. So only texts are sent to the translator, and the rest of the rows is read when
their translations are written.
"""

import functools
from pathlib import Path

from line_parts import JsonPart, TextPart
from table_parts import ParquetPart

KINDS = {".txt": TextPart, ".jsonl": JsonPart, ".parquet": ParquetPart}


@functools.lru_cache(4)
def part_of(path, column):
    """Return the part for a file, according to its suffix; the last few parts stay open.

    Raises:
        ValueError: If the suffix is unknown.
    """
    if Path(path).suffix not in KINDS:
        raise ValueError(
            f"A part's name must end in one of {', '.join(KINDS)}. Received: part={str(path)!r}."
        )
    return KINDS[Path(path).suffix](path, column)


def find_parts(paths):
    """Find the files of parts among paths of files and directories.

    Args:
        paths: List of paths. All files of a directory with a known suffix are parts.

    Returns:
        List of absolute paths with different names; files of a directory are sorted by name.

    Raises:
        FileNotFoundError: If a path is neither a file nor a directory, or if there is no part.
        ValueError: If two parts have the same name.
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
                    "Parts must have different names, since their outputs get the same names. "
                    f"Received: {str(found[one.name])!r} and {str(one)!r}. Rename one."
                )
            found[one.name] = one
    if not found:
        raise FileNotFoundError(
            f"There must be a part whose name ends in one of {', '.join(KINDS)}. "
            f"Received: {[*map(str, paths)]}, which have none."
        )
    return [*found.values()]


def _is_part(path):
    return path.suffix in KINDS and not path.name.startswith((".", "_")) and path.is_file()
