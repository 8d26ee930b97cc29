"""Filters of parallel text: drop useless or wrong pairs, counted by reason."""

import functools
import re

import numpy as np

from keras_bahdanau.text.features import is_blank

# A pair is counted by the first filter in this order that drops it.
FILTERS = ("empty", "broken", "long", "ratio", "copy", "script", "duplicate")
KEPT = 0
SHOWN, SHOWN_LENGTH = 3, 60  # examples of each filter in a report, and characters of a side
# Control characters of ASCII and of Latin-1 other than white space, and replacement characters.
_BROKEN = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd-\uffff]")
_LETTER = r"[\p{L}--[\p{Script=Common}\p{Script=Inherited}]]"


def verdicts_of(filters, sources, targets, side=None):
    """The filter that drops each pair, except duplicates: uint8 `(pairs,)`.

    `KEPT`, or 1 and the index of the filter in `FILTERS`. `side` makes a `TextSide` of the sources.
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
    """As in Moses' clean-corpus-n, also with limit 9, but in characters instead of words."""
    shorter = np.minimum(source.lengths, target.lengths)
    longer = np.maximum(source.lengths, target.lengths)
    # an empty side has no ratio; it has its own filter
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
            # (pairs,): a text without letters, such as a number, is never in a wrong script
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
    """Lines of one side, and their code points; `lengths`, int `(pairs,)`, counts characters."""

    def __init__(self, lines):
        self.lines = lines
        self.lengths = np.fromiter(map(len, lines), np.int64, len(lines))

    def blank(self):
        """Bool `(pairs,)`: lines of only white space."""
        return np.fromiter(map(is_blank, self.lines), bool, len(self.lines))

    def broken(self):
        """Bool `(pairs,)`: lines with a character that does not occur in text."""
        broken = np.zeros(len(self.lines), bool)
        for row, line in enumerate(self.lines):
            # except for U+FFFD, characters of the set can't be printed
            if not line.isprintable() or "\ufffd" in line:
                broken[row] = _BROKEN.search(line) is not None
        return broken

    def count(self, pattern):
        """Int `(pairs,)`: number of characters of each line that are in a set."""
        matches = _characters(pattern)[self._codes]  # (characters of all lines,)
        if not matches.any():
            return np.zeros(len(self.lines), np.int64)
        sizes = self.lengths + 1
        return np.add.reduceat(matches, np.cumsum(sizes) - sizes, dtype=np.int64)

    @functools.cached_property
    def _codes(self):
        """Code points of all lines, a line end after each, so that empty lines count."""
        text = "\n".join([*self.lines, ""])
        return np.frombuffer(text.encode("utf-32-le"), np.uint32)


@functools.lru_cache(8)
def _characters(pattern):
    """Bool `(code points,)`: the characters of a set, as `regex` writes it."""
    import regex

    characters = "".join(map(chr, range(0x40000)))  # no letter has a higher code point
    table = np.zeros(0x110000, bool)
    for run in regex.finditer(f"{pattern}+", characters, regex.V1):
        table[run.start() : run.end()] = True
    return table


class FilterReport:
    """Numbers of pairs (or items named by `noun`) that were read and dropped, with examples."""

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
        lines = [f"{self.pairs:,} {self.noun} read, {self.kept:,} kept ({share:.1f} %)"]
        for name, count in self.dropped.items():
            if count:
                lines.append(f"  {name:<10}{count:>14,} dropped")
                lines += [
                    f"    pair {number:,}: {source!r} | {target!r}"
                    for number, source, target in self.examples[name]
                ]
        return "\n".join(lines)


def excerpt(raw):
    """The beginning of a text, or the end of a path, for a report."""
    return raw[:SHOWN_LENGTH] if isinstance(raw, str) else str(raw)[-SHOWN_LENGTH:]


def examples_of(verdicts, first, sources, targets, names=FILTERS, describe=excerpt):
    """The first pairs that each filter drops: see `FilterReport`; `first` is its first number.

    `describe`, a function of a source, returns a short text.
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
    """Dictionary from the names of filters to the number of pairs that each drops."""
    counts = np.bincount(verdicts, minlength=len(names) + 1).tolist()
    return dict(zip(names, counts[1:], strict=True))
