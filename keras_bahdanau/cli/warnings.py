"""Warnings about inputs that are too long, have unknown parts, or have misplaced features."""

import itertools

from keras_bahdanau.cli.console import warn
from keras_bahdanau.text.features import is_blank
from keras_bahdanau.text.unknown_parts import better_form, name_of_part

MOST_LINES, MOST_PARTS = 10, 12  # how many are named in warnings


def warn_of_cuts(results, limits, names=None, unit="tokens"):
    """Warn, once per name, of inputs that were truncated because they were too long."""
    most = f"{limits['max_source_length']:,} {unit}"
    if "max_source_bytes" in limits:
        most += f", or {limits['max_source_bytes']:,} bytes,"
    for name, result in dict(zip(names or lines_from(1), results, strict=False)).items():
        if result.truncated:
            warn(
                f"{name} is too long: only its first {most} are read. Split it, or raise "
                "--max-source-length (for a .tflite file, when you export it)."
            )


def lines_from(number):
    """Generate the names of lines without end: "line 7", "line 8", ..."""
    return (f"line {count}" for count in itertools.count(number))


class UnknownText:
    """Warnings about parts of lines that are not in a vocabulary.

    There is a warning for each of the first ten lines. Further lines are counted, and
    `warn_count` reports their number at the end. If `subwords` is None, there are no warnings.
    """

    def __init__(self, subwords):
        self._subwords, self._count = subwords, 0

    def warn(self, lines, names):
        lines = ["" if is_blank(line) else line for line in lines]
        unknown = self._subwords.unknown(lines) if self._subwords else []
        for name, line, parts in zip(names, lines, unknown, strict=False):
            self._count += bool(parts)
            if parts and self._count <= MOST_LINES:
                some = " ".join(map(name_of_part, parts[:MOST_PARTS]))
                more = " …" if len(parts) > MOST_PARTS else ""
                form = better_form([line], self._subwords, 1)
                mend = f" They are known in Unicode form {form}: convert the text." if form else ""
                warn(
                    f"{name}: the model does not know: {some}{more}. The output may be wrong.{mend}"
                )

    def warn_count(self):
        more = self._count - MOST_LINES
        if more > 0:
            lines = "1 more line has" if more == 1 else f"{more:,} more lines have"
            warn(f"{lines} parts that the model does not know")


class FeatureWarnings:
    """Warns once if features are missing, or are not in the same place as in training.

    A vocabulary does not distinguish features from tags. A single symbol is therefore assumed to be
    a tag, and the first of several symbols may be one.
    """

    def __init__(self, source):
        self._source, subwords = source, subwords_of(source)
        self._symbols = subwords.symbols if subwords else ()

    def warn(self, lines):
        """Warn about the first line that has misplaced features."""
        for line in lines if self._symbols else ():
            moved = self._source.misplaced(line)
            if moved is not None:
                warn(
                    f"the features of {line!r:.80} are not where they were in training: "
                    f"give {moved!r:.80}; a tag stays in front"
                )
                self._symbols = ()
                return

    def warn_missing(self, sources):
        """Warn if the model was trained with features, but no source has any.

        If its vocabulary has only one symbol, that is assumed to be a tag.
        """
        if len(self._symbols) > 1 and not any(
            word in self._symbols for source in sources for word in source.split()
        ):
            warn(
                "no source contains a symbol that the model was trained with, such as "
                f"{self._symbols[0]}. If the symbols are features, give a table with them. If they "
                "are tags, give --tag"
            )


def subwords_of(source):
    """Return the vocabulary of a source, or None if the source has none."""
    return getattr(source, "subwords", None)
