"""Parts whose rows are lines: text files, and JSON Lines files."""

import codecs
import contextlib
import json
import math
from pathlib import Path

LONGEST_LINE = 2**26  # in bytes
_SPACES = str.maketrans("\t\r\n", "   ")


class TextPart:
    """A text file with a sentence per line.

    Each line of its output contains the translation, the score, the confidence and the line of the
    input, separated by tabs. For a sentence that is not in UTF-8, the first three are empty.

    Args:
        path: Path of the file.
        column: String, the name of the field with the inputs; unused for text.
    """

    def __init__(self, path, column):
        self.path, self.column = Path(path), column

    def check(self, names):
        """Raise ValueError unless the part has the column and none of the new names."""

    def spans(self, size):
        """Split the part into pieces.

        Args:
            size: Positive integer, the approximate size of a piece in bytes.

        Yields:
            Pairs (begin, end), each of which begins where the previous one ends.

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
        """Return a list of the inputs in a piece: strings, or invalid values such as None."""
        return [self._input(line) for line in self._lines(begin, end)]

    @contextlib.contextmanager
    def writing(self, path, names):
        """Write the part with its translations to another file.

        Args:
            path: Path of the file.
            names: Names of the three columns to add.

        Yields:
            Function `(begin, end, results)` to call for each piece, in order. `results` are
            triples (translation, score, confidence), with NaN for a row without an input.
        """
        with open(path, "wb") as file:

            def write(begin, end, results):
                lines = self._lines(begin, end)
                check_count(self.path, (begin, end), len(lines), results)
                pairs = zip(lines, results, strict=True)
                file.writelines(self._output(line, result, names) for line, result in pairs)

            yield write

    def _lines(self, begin, end):
        """Return the lines of a piece as bytes, without line endings and byte order mark."""
        with open(self.path, "rb") as file:
            file.seek(begin)
            content = file.read(end - begin)
        content = content if begin else content.removeprefix(codecs.BOM_UTF8)
        lines = content.removesuffix(b"\n").split(b"\n")
        return [line.removesuffix(b"\r") for line in lines]

    def _input(self, line):
        with contextlib.suppress(UnicodeDecodeError):
            return line.decode()
        return None

    def _output(self, line, result, names):
        translation, *numbers = result
        fields = [translation.translate(_SPACES), *map(_decimals, numbers)]
        return "\t".join([*fields, ""]).encode() + line + b"\n"


class JsonPart(TextPart):
    """A file with a JSON object per line, whose field `column` is the input.

    Its output contains the same objects with three more fields; the rest of each line is unchanged.
    The two numbers are null for a row without an input. A line that is not an object counts as such
    a row; the output contains it in the field "line".
    """

    def _input(self, line):
        return _object(line).get(self.column)

    def _output(self, line, result, names):
        row = _parsed(line)
        if row is None:
            line = _json(row := _object(line))
        if taken := [name for name in names if name in row]:
            raise ValueError(
                "The names of the columns to add must be new. "
                f"Received: part={str(self.path)!r} with {taken}. Set --prefix mt_."
            )
        translation, *numbers = result
        values = [translation, *(None if math.isnan(one) else round(one, 6) for one in numbers)]
        added = _json(dict(zip(names, values, strict=True)))
        head = line.rstrip().removesuffix(b"}").rstrip()
        return head + (b", " if row else b"") + added.removeprefix(b"{") + b"\n"


def check_count(path, span, rows, results):
    """Raise ValueError unless there is one translation for each row of a piece."""
    if len(results) != rows:
        raise ValueError(
            "Each row of a piece must have one translation. "
            f"Received: part={str(path)!r}, {len(results):,} for the {rows:,} rows of {span}. "
            "Run it again."
        )


def _parsed(line):
    """Parse the JSON object in a line, with 0 for each number; None if it is not an object."""
    zero = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), lambda _: 0)
    try:
        row = json.loads(line.decode("utf-8-sig", "surrogatepass"), **zero)
    except (RecursionError, ValueError):
        return None
    return row if isinstance(row, dict) else None


def _object(line):
    """Return the JSON object in a line, or an object with the line itself."""
    row = _parsed(line)
    return {"line": line.decode(errors="replace")} if row is None else row


def _json(row):
    return json.dumps(row, ensure_ascii=False).encode(errors="backslashreplace")


def _decimals(number):
    """Format a number with four decimals; "" for NaN."""
    return "" if math.isnan(number) else f"{number:.4f}"
