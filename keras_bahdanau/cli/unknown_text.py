"""Warnings of text that a vocabulary does not know."""

import collections
import itertools
import unicodedata

from keras_bahdanau.cli.console import warn

MOST_LINES, MOST_PARTS, LONGEST_PART = 10, 12, 40  # that are named


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
                warn(f"{name}: the model does not know: {_listed(parts)}. The answer may be wrong.")

    def tell_count(self):
        """Count the lines that were not named."""
        more = self._count - MOST_LINES
        if more > 0:
            lines = "1 more line has" if more == 1 else f"{more:,} more lines have"
            warn(f"{lines} parts that the model does not know")


def tell_unknown(subwords, texts, name):
    """Count on standard error the texts with parts that a vocabulary has no id for.

    Args:
        subwords: `Subwords`; None for a source that has none, of which nothing is told.
        texts: Iterable of strings; each one counts once.
        name: String, what the texts are: "sources".
    """
    texts = [*dict.fromkeys(texts)] if subwords else []
    found = [*filter(None, subwords.unknown(texts))] if texts else []
    if found:
        often = collections.Counter(itertools.chain.from_iterable(found)).most_common()
        warn(
            f"{len(found):,} of {len(texts):,} {name} have parts that the model has no token for, "
            f"the most frequent ones first: {_listed([part for part, _ in often])}. Scores may be "
            "low for that alone."
        )


def _listed(parts):
    """Some parts in one string; white space and lone marks, which no one sees, by their code."""
    some = (
        part[:LONGEST_PART]
        if part.strip() and not unicodedata.combining(part[0])
        else ascii(part[:LONGEST_PART])
        for part in parts[:MOST_PARTS]
    )
    return " ".join(some) + (" …" if len(parts) > MOST_PARTS else "")
