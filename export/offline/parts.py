"""Parts of a corpus: files that are read in pieces, and whose translations are written whole.

A part is a file of text (`.txt`, a sentence a line), of JSON objects (`.jsonl`, one a line) or a
table (`.parquet`, which needs pyarrow). A piece is a span of it, (begin, end): bytes of a file of
lines, from the beginning of a line to the end of one, or rows of a table. Reading a piece again
gives the same rows, so only texts travel to the translator, and whatever else the rows hold is
read when their translations are written.
"""

import bisect
import contextlib
import functools
import json
import math
from pathlib import Path

LONGEST_LINE = 2**26  # bytes
MOST_ROWS = 2**16  # of a piece of a table
_SPACES = str.maketrans("\t\r\n", "   ")


class TextPart:
    """A file with a sentence a line.

    Its output has a line each: translation, score, confidence and the line of the input, with
    tabs between; a sentence that is not in UTF-8 has three empty fields.

    Args:
        path: Path of the file.
        column: String, the name of the inputs where they have names.
    """

    def __init__(self, path, column):
        self.path, self.column = Path(path), column

    def check(self, names):
        """Raise ValueError unless it has the column, and none of these names."""

    def spans(self, size):
        """Pieces of about so many bytes.

        Args:
            size: Positive integer.

        Yields:
            Pairs (begin, end), each beginning where the one before it ends.

        Raises:
            ValueError: If a line is longer than `LONGEST_LINE`.
        """
        begin, length = 0, self.path.stat().st_size
        with open(self.path, "rb") as file:
            while begin < length:
                file.seek(min(length, begin + size) - 1)
                rest = file.readline(LONGEST_LINE)
                if len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
                    raise ValueError(
                        f"A line must have at most {LONGEST_LINE:,} bytes. "
                        f"Received: part={str(self.path)!r} with a longer one. Split it."
                    )
                yield begin, file.tell()
                begin = file.tell()

    def inputs(self, begin, end):
        """List of the inputs of a piece: a string each, or what stands in place of one."""
        return [self._input(line) for line in self._lines(begin, end)]

    @contextlib.contextmanager
    def writing(self, path, names):
        """Write the part with its translations to another file.

        Args:
            path: Path of the file.
            names: Names of the three columns to add.

        Yields:
            Function `(begin, end, results)` to call for each piece, in order; `results` are
            triples (translation, score, confidence), with NaN for a row without an input.
        """
        with open(path, "wb") as file:

            def write(begin, end, results):
                lines = self._lines(begin, end)
                _check_count(self.path, (begin, end), len(lines), results)
                pairs = zip(lines, results, strict=True)
                file.writelines(self._output(line, result, names) for line, result in pairs)

            yield write

    def _lines(self, begin, end):
        """The lines of a piece, as bytes without their ends."""
        with open(self.path, "rb") as file:
            file.seek(begin)
            content = file.read(end - begin)
        lines = content.removesuffix(b"\n").split(b"\n")
        return [line.removesuffix(b"\r") for line in lines]

    def _input(self, line):
        return line  # bytes, in UTF-8 or not

    def _output(self, line, result, names):
        translation, *numbers = result
        fields = [translation.translate(_SPACES), *map(_decimals, numbers)]
        return "\t".join([*fields, ""]).encode() + line + b"\n"


class JsonPart(TextPart):
    """A file with a JSON object a line, the input under the name of the column.

    Its output has the same objects with three names more, null for the numbers of a row without
    an input. A line that is no object is such a row, and stands under the name "line".
    """

    def _input(self, line):
        return _object(line).get(self.column)

    def _output(self, line, result, names):
        row = _object(line)
        if taken := [name for name in names if name in row]:
            raise ValueError(
                "The names of the columns to add must be new. "
                f"Received: part={str(self.path)!r} with {taken}. Give --prefix mt_."
            )
        translation, *numbers = result
        added = [translation, *(None if math.isnan(one) else round(one, 6) for one in numbers)]
        row.update(zip(names, added, strict=True))
        # a lone surrogate as the escape that it was read from
        return json.dumps(row, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"


class ParquetPart:
    """A table in Parquet; its output has the same row groups, columns and types, and three more.

    Args:
        path: Path of the file.
        column: String, the column of the inputs: strings, or what is in files as bytes.
    """

    def __init__(self, path, column):
        self.path, self.column = Path(path), column

    @functools.cached_property
    def _file(self):
        import pyarrow.parquet

        return pyarrow.parquet.ParquetFile(self.path, memory_map=True)

    @functools.cached_property
    def _firsts(self):
        """The number of the first row of each row group, and that of all rows."""
        firsts = [0]
        for group in range(self._file.metadata.num_row_groups):
            firsts.append(firsts[-1] + self._file.metadata.row_group(group).num_rows)
        return firsts

    def check(self, names):
        """Raise ValueError unless it has the column, and none of these names."""
        columns, leaves = self._file.schema_arrow.names, self._file.schema
        flat = [leaves.column(number).path for number in range(len(leaves))]
        if self.column not in flat or {*names} & {*columns}:
            raise ValueError(
                f"A table must have a column {self.column!r} of texts, and none of {[*names]}. "
                f"Received: part={str(self.path)!r} with {columns}. Give --column or --prefix."
            )

    def spans(self, size):
        """Pieces whose inputs have about so many bytes, each of one row group."""
        for group, first in enumerate(self._firsts[:-1]):
            about = self._file.metadata.row_group(group)
            columns = map(about.column, range(about.num_columns))
            content = next(one for one in columns if one.path_in_schema == self.column)
            rows = about.num_rows * size // max(1, content.total_uncompressed_size)
            rows = max(1, min(MOST_ROWS, rows))
            last = first + about.num_rows
            yield from ((begin, min(last, begin + rows)) for begin in range(first, last, rows))

    def inputs(self, begin, end):
        """List of the inputs of a piece, None where the column has a gap."""
        group = self._group_of(begin)
        rows = self._inputs_of(group)
        first = self._firsts[group]
        return rows.slice(begin - first, end - begin).to_pylist()

    @contextlib.contextmanager
    def writing(self, path, names):
        """Write the table with its translations: see `TextPart.writing`."""
        import pyarrow
        import pyarrow.parquet

        schema, found = self._file.schema_arrow, []
        types = (pyarrow.string(), pyarrow.float32(), pyarrow.float32())
        for name, kind in zip(names, types, strict=True):
            schema = schema.append(pyarrow.field(name, kind))

        def write(begin, end, results):
            _check_count(self.path, (begin, end), end - begin, results)
            found.extend(results)
            if end in self._firsts:  # the row group is complete
                columns = self._file.read_row_group(self._group_of(begin)).columns
                added = [
                    pyarrow.array(column, kind, from_pandas=True)  # null for NaN
                    for column, kind in zip(zip(*found, strict=True), types, strict=True)
                ]
                writer.write_table(pyarrow.table([*columns, *added], schema))
                found.clear()

        with pyarrow.parquet.ParquetWriter(path, schema) as writer:
            yield write

    def _group_of(self, row):
        return bisect.bisect_right(self._firsts, row) - 1

    @functools.lru_cache(1)  # noqa: B019, the last row group of the last part
    def _inputs_of(self, group):
        return self._file.read_row_group(group, columns=[self.column]).column(0)


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


def _check_count(path, span, rows, results):
    if len(results) != rows:
        raise ValueError(
            "Each row of a piece must have one translation. "
            f"Received: part={str(path)!r}, {len(results):,} for the {rows:,} rows of {span}. "
            "Run it again."
        )


def _object(line):
    """The JSON object of a line; one with the line itself if it is none."""
    try:
        row = json.loads(line)
    except (RecursionError, ValueError):
        row = None
    return row if isinstance(row, dict) else {"line": line.decode(errors="replace")}


def _decimals(number):
    """A number of four decimals; "" for none."""
    return "" if math.isnan(number) else f"{number:.4f}"
