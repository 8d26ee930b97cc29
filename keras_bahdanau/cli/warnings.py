"""Warnings about inputs: too long, with unknown parts, or with misplaced features."""

import itertools

from keras_bahdanau.cli.console import warn
from keras_bahdanau.text.features import is_blank
from keras_bahdanau.text.unknown_parts import better_form, name_of_part

MOST_LINES, MOST_PARTS = 10, 12  # named in warnings


def warn_of_cuts(results, limits, names=None, unit="tokens"):
    """Warn of each input that was too long and was cut, once per name."""
    most = f"{limits['max_source_length']:,} {unit}"
    if "max_source_bytes" in limits:
        most += f", or {limits['max_source_bytes']:,} bytes,"
    for name, result in dict(zip(names or lines_from(1), results, strict=False)).items():
        if result.truncated:
            warn(
                f"{name} is too long: only its first {most} are read. Split it, or raise "
                "--max-source-length (for a .tflite file, at export)."
            )


def lines_from(number):
    """Endless names of lines: "line 7", "line 8", ..."""
    return (f"line {count}" for count in itertools.count(number))


class UnknownText:
    """Warnings of parts of lines that a vocabulary lacks; none without `subwords`.

    The first ten lines are named, and the others counted at the end.
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
                mend = f" It knows all in Unicode's form {form}: convert the text." if form else ""
                warn(
                    f"{name}: the model does not know: {some}{more}. The answer may be wrong.{mend}"
                )

    def warn_count(self):
        more = self._count - MOST_LINES
        if more > 0:
            lines = "1 more line has" if more == 1 else f"{more:,} more lines have"
            warn(f"{lines} parts that the model does not know")


class FeatureWarnings:
    """Warn once of features that are missing, or not in the same place as in training.

    A vocabulary does not distinguish features from tags, so a single symbol is not taken for a
    feature, and the first of several may be a tag.
    """

    def __init__(self, source):
        self._source, subwords = source, subwords_of(source)
        self._symbols = subwords.symbols if subwords else ()

    def warn(self, lines):
        """Warn of the first line with misplaced features."""
        for line in lines if self._symbols else ():
            moved = self._source.misplaced(line)
            if moved is not None:
                warn(
                    f"the features of {line!r:.80} are not where the model has learnt them: "
                    f"give {moved!r:.80}; a tag stays in front"
                )
                self._symbols = ()
                return

    def warn_missing(self, sources):
        """Warn if a model has learnt features, but no source has one; a single symbol is a tag."""
        if len(self._symbols) > 1 and not any(
            word in self._symbols for source in sources for word in source.split()
        ):
            warn(
                f"no source has a symbol that the model has learnt, such as {self._symbols[0]}. "
                "If these are features, give a table with them; if they are tags, give --tag"
            )


def subwords_of(source):
    """The vocabulary of a source; None for a source without one."""
    return getattr(source, "subwords", None)
