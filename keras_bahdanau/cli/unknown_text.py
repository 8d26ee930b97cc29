"""Warnings of text that a vocabulary does not know."""

from keras_bahdanau.cli.console import warn
from keras_bahdanau.text.unknown_parts import name_of_part

MOST_LINES, MOST_PARTS = 10, 12  # that are named


class UnknownText:
    """Names on standard error the parts of lines that a vocabulary has no id for.

    The first ten lines are named, and the others counted in the end.

    Args:
        subwords: `Subwords`; None for a source that has none, of which nothing is told.
    """

    def __init__(self, subwords):
        self._subwords, self._count = subwords, 0

    def tell(self, lines, names):
        """Warn of some lines.

        Args:
            lines: List of strings.
            names: Iterable of their names, such as "line 7".
        """
        found = self._subwords.unknown(lines) if self._subwords else []
        for name, parts in zip(names, found, strict=False):
            self._count += bool(parts)
            if parts and self._count <= MOST_LINES:
                some = " ".join(map(name_of_part, parts[:MOST_PARTS]))
                more = " …" if len(parts) > MOST_PARTS else ""
                warn(f"{name}: the model does not know: {some}{more}. The answer may be wrong.")

    def tell_count(self):
        """Count the lines that were not named."""
        more = self._count - MOST_LINES
        if more > 0:
            lines = "1 more line has" if more == 1 else f"{more:,} more lines have"
            warn(f"{lines} parts that the model does not know")
