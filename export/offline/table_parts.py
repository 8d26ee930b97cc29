"""Parts that are tables in Parquet."""

import bisect
import contextlib
import functools
from pathlib import Path

from line_parts import check_count

MOST_ROWS = 2**16  # of a piece


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

        try:
            return pyarrow.parquet.ParquetFile(self.path, memory_map=True)
        except pyarrow.ArrowInvalid as error:
            raise ValueError(
                "A part whose name ends in .parquet must be a table in Parquet. "
                f"Received: part={str(self.path)!r} ({error}). Write it again."
            ) from None

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

    @functools.lru_cache(1)  # noqa: B019, the last row group of the last part
    def _inputs_of(self, group):
        return self._file.read_row_group(group, columns=[self.column]).column(0)
