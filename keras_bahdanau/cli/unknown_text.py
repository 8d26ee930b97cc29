"""Warnings of text that a vocabulary does not know, or that a model reads in another order."""

from keras_bahdanau.cli.console import warn
from keras_bahdanau.text.unknown_parts import better_form, name_of_part

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
        for name, line, parts in zip(names, lines, found, strict=False):
            self._count += bool(parts)
            if parts and self._count <= MOST_LINES:
                some = " ".join(map(name_of_part, parts[:MOST_PARTS]))
                more = " …" if len(parts) > MOST_PARTS else ""
                form = better_form([line], self._subwords, 1)
                mend = f" It knows all in Unicode's form {form}: convert the text." if form else ""
                warn(
                    f"{name}: the model does not know: {some}{more}. The answer may be wrong.{mend}"
                )

    def tell_count(self):
        """Count the lines that were not named."""
        more = self._count - MOST_LINES
        if more > 0:
            lines = "1 more line has" if more == 1 else f"{more:,} more lines have"
            warn(f"{lines} parts that the model does not know")


class FeaturesElsewhere:
    """Warns, once, of a line whose features stand where the model has learnt none, or are missing.

    A vocabulary has features and tags alike, so a single symbol, which may be a tag, is none, and
    of several the first may be a tag.

    Args:
        source: `Source` of a model, or what stands for it.
    """

    def __init__(self, source):
        self._source = source
        subwords = getattr(source, "subwords", None)
        self._symbols = subwords.symbols if subwords else ()

    def tell(self, lines):
        """Warn of the first of some lines that is such a one."""
        for line in lines if self._symbols else ():
            moved = self._source.misplaced(line)
            if moved is not None:
                warn(
                    f"the features of {line!r:.80} do not stand where the model has learnt them: "
                    f"give {moved!r:.80}; a tag stays in front"
                )
                self._symbols = ()
                return

    def tell_missing(self, sources):
        """Warn if none of all sources has a feature, where the model has learnt some.

        A single symbol is a tag, such as `<bt>` before texts that were translated.

        Args:
            sources: List of strings.
        """
        if len(self._symbols) > 1 and not any(
            word in self._symbols for source in sources for word in source.split()
        ):
            warn(
                f"no source has a symbol that the model has learnt, such as {self._symbols[0]}. "
                "If these are features, give a table with them; if they are tags, give --tag"
            )


def subwords_of(translator):
    """The vocabulary of the source; None for a source of one's own that has none."""
    return getattr(translator.source, "subwords", None)
