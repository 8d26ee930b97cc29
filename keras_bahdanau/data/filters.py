"""Filters for parallel text, which drop useless or wrong pairs and count them by reason."""

import functools
import re

import numpy as np

from keras_bahdanau.text.features import is_blank

# A pair is counted only for the first filter, in this order, that drops it.
FILTERS = ("empty", "broken", "long", "ratio", "copy", "script", "duplicate")
KEPT = 0
SHOWN, SHOWN_LENGTH = 3, 60  # examples per filter in a report, and characters of each side
# Control characters of ASCII and Latin-1, except white space, and replacement characters.
_BROKEN = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd-\uffff]")
_LETTER = r"[\p{L}--[\p{Script=Common}\p{Script=Inherited}]]"


def verdicts_of(filters, sources, targets, side=None):
    """Return the filter that drops each pair, as a uint8 array `(pairs,)`.

    A value is `KEPT`, or 1 plus the index of the filter in `FILTERS`. Duplicates are not dropped
    here. `side` is a function that creates a `TextSide` from the sources.
    """
    sides = (side or TextSide)(sources), TextSide(targets)
    verdicts = np.zeros(len(sources), np.uint8)
    for number, name in enumerate(_DROPPED, start=1):
        dropped = _DROPPED[name](filters, *sides)
        if dropped is not None:
            verdicts[dropped & (verdicts == KEPT)] = number
    return verdicts


def _empty(filters, source, target):
    return source.blank() | target.blank() if filters.drop_empty else None


def _broken(filters, source, target):
    if not filters.drop_broken:
        return None
    return source.broken() | target.broken()


def _long(filters, source, target):
    longest = np.maximum(source.lengths, target.lengths)
    return longest > filters.max_characters if filters.max_characters else None


def _ratio(filters, source, target):
    """Compare lengths as Moses' clean-corpus-n does, but in characters instead of words."""
    shorter = np.minimum(source.lengths, target.lengths)
    longer = np.maximum(source.lengths, target.lengths)
    # an empty side has no ratio, and is handled by another filter
    return (longer > filters.max_ratio * shorter) & (shorter > 0) if filters.max_ratio else None


def _copy(filters, source, target):
    if not filters.drop_copies:
        return None
    pairs = zip(source.lines, target.lines, strict=True)
    return np.array([left == right for left, right in pairs], bool)


def _script(filters, source, target):
    wrong = np.zeros(len(source.lines), bool)
    for side, scripts in ((source, filters.source_script), (target, filters.target_script)):
        if scripts:
            right = "".join(rf"\p{{Script={name}}}" for name in scripts.split(","))
            letters = side.count(_LETTER)
            # (pairs,): text without letters, such as a number, is never in a wrong script
            wrong |= (letters > 0) & (2 * side.count(f"[{_LETTER}&&[{right}]]") <= letters)
    return wrong


_DROPPED = {
    "empty": _empty,
    "broken": _broken,
    "long": _long,
    "ratio": _ratio,
    "copy": _copy,
    "script": _script,
}


class TextSide:
    """Lines of one side. `lengths` is an int array `(pairs,)` of their numbers of characters."""

    def __init__(self, lines):
        self.lines = lines
        self.lengths = np.fromiter(map(len, lines), np.int64, len(lines))

    def blank(self):
        """Return a bool array `(pairs,)` that is True for lines of only white space."""
        return np.fromiter(map(is_blank, self.lines), bool, len(self.lines))

    def broken(self):
        """Return a bool array `(pairs,)`: True for lines with characters that text can't have."""
        broken = np.zeros(len(self.lines), bool)
        for row, line in enumerate(self.lines):
            # the broken characters are not printable, except for U+FFFD
            if not line.isprintable() or "\ufffd" in line:
                broken[row] = _BROKEN.search(line) is not None
        return broken

    def count(self, pattern):
        """Count the characters of each line that are in a set: int array `(pairs,)`."""
        matches = _characters(pattern)[self._codes]  # (characters of all lines,)
        if not matches.any():
            return np.zeros(len(self.lines), np.int64)
        sizes = self.lengths + 1
        return np.add.reduceat(matches, np.cumsum(sizes) - sizes, dtype=np.int64)

    @functools.cached_property
    def _codes(self):
        """Code points of all lines. A line end after each line makes empty lines count, too."""
        text = "\n".join([*self.lines, ""])
        return np.frombuffer(text.encode("utf-32-le"), np.uint32)


@functools.lru_cache(8)
def _characters(pattern):
    """Return a bool array `(code points,)`: True for the characters of a `regex` set."""
    import regex

    characters = "".join(map(chr, range(0x40000)))  # no letter has a higher code point
    table = np.zeros(0x110000, bool)
    for run in regex.finditer(f"{pattern}+", characters, regex.V1):
        table[run.start() : run.end()] = True
    return table


class FilterReport:
    """Counts of the pairs that were read and dropped, with examples.

    `noun` is a name for the counted items if they are not pairs.
    """

    def __init__(self, names=FILTERS, noun="pairs"):
        self.noun, self.pairs = noun, 0
        self.dropped = dict.fromkeys(names, 0)
        self.examples = {name: [] for name in names}

    @property
    def kept(self):
        return self.pairs - sum(self.dropped.values())

    def add(self, pairs, dropped, examples):
        self.pairs += pairs
        for name, count in dropped.items():
            self.dropped[name] += count
        for name, rows in examples.items():
            self.examples[name] = [*self.examples[name], *map(tuple, rows)][:SHOWN]

    def record(self):
        return {
            self.noun: self.pairs,
            "kept": self.kept,
            "dropped": self.dropped,
            "examples": self.examples,
        }

    def text(self):
        share = 100 * self.kept / max(1, self.pairs)
        lines = [f"{self.pairs:,} {self.noun} read, {self.kept:,} kept ({share:.1f}%)"]
        for name, count in self.dropped.items():
            if count:
                lines.append(f"  {name:<10}{count:>14,} dropped")
                lines += [
                    f"    pair {number:,}: {source!r} | {target!r}"
                    for number, source, target in self.examples[name]
                ]
        return "\n".join(lines)


def excerpt(raw):
    """Return the beginning of a text, or the end of a path, for a report."""
    return raw[:SHOWN_LENGTH] if isinstance(raw, str) else str(raw)[-SHOWN_LENGTH:]


def examples_of(verdicts, first, sources, targets, names=FILTERS, describe=excerpt):
    """Return the first pairs that each filter drops, for `FilterReport`.

    `first` is the number of the first pair. `describe` is a function from a source to a short text.
    """
    examples = {}
    for number, name in enumerate(names, start=1):
        rows = np.flatnonzero(verdicts == number)[:SHOWN].tolist()
        if rows:
            examples[name] = [
                (first + row, describe(sources[row]), excerpt(targets[row])) for row in rows
            ]
    return examples


def counts_of(verdicts, names=FILTERS):
    """Return a dictionary from the name of each filter to the number of pairs it drops."""
    counts = np.bincount(verdicts, minlength=len(names) + 1).tolist()
    return dict(zip(names, counts[1:], strict=True))
