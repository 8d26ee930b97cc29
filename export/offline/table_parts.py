"""Parts that are Parquet tables."""

import bisect
import contextlib
import functools
from pathlib import Path

from line_parts import check_count

MOST_ROWS = 2**16  # maximum number of rows in a piece


class ParquetPart:
    """A Parquet table; its output has the same row groups and columns, and three new columns.

    Args:
        path: Path of the file.
        column: String, the name of the column with the inputs: strings, or the content of files.
    """

    def __init__(self, path, column):
        self.path, self.column = Path(path), column

    @functools.cached_property
    def _file(self):
        import pyarrow.parquet

        try:
            return pyarrow.parquet.ParquetFile(self.path, memory_map=True)
        except pyarrow.ArrowInvalid as error:
            raise ValueError(
                "A part whose name ends in .parquet must be a Parquet table. "
                f"Received: part={str(self.path)!r} ({error}). Write it again."
            ) from None

    @functools.cached_property
    def _firsts(self):
        """Return the index of the first row of each row group, and the total number of rows."""
        firsts = [0]
        for group in range(self._file.metadata.num_row_groups):
            firsts.append(firsts[-1] + self._file.metadata.row_group(group).num_rows)
        return firsts

    def check(self, names):
        """Raise ValueError unless the table has the column and none of the new names."""
        columns, leaves = self._file.schema_arrow.names, self._file.schema
        flat = [leaves.column(number).path for number in range(len(leaves))]
        if self.column not in flat or {*names} & {*columns}:
            raise ValueError(
                f"A table must have a column {self.column!r} of texts, and none of {[*names]}. "
                f"Received: part={str(self.path)!r} with {columns}. Set --column or --prefix."
            )

    def spans(self, size):
        """Split the table into pieces within row groups. `size` is the approximate input size."""
        for group, first in enumerate(self._firsts[:-1]):
            about = self._file.metadata.row_group(group)
            columns = map(about.column, range(about.num_columns))
            content = next(one for one in columns if one.path_in_schema == self.column)
            rows = about.num_rows * size // max(1, content.total_uncompressed_size)
            rows = max(1, min(MOST_ROWS, rows))
            last = first + about.num_rows
            yield from ((begin, min(last, begin + rows)) for begin in range(first, last, rows))

    def inputs(self, begin, end):
        """Return a list of the inputs in a piece; missing values are None."""
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
            check_count(self.path, (begin, end), end - begin, results)
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

    @functools.lru_cache(1)  # noqa: B019, caches the last row group
    def _inputs_of(self, group):
        return self._file.read_row_group(group, columns=[self.column]).column(0)
