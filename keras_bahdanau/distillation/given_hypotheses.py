"""Hypotheses of any other teacher, from a file: lines, or an n-best list as Moses writes it."""

import os
import re
from typing import NamedTuple

from keras_bahdanau.data.pair_file import cell_of
from keras_bahdanau.data.reading import read_lines
from keras_bahdanau.distillation.hypotheses import Hypothesis

_BAR = re.compile(r" \|\|\|(?= |$)")
_NUMBER = re.compile(r" *[0-9]{1,9} *")
_SHOWN = 60  # characters of a line in a message


class _Item(NamedTuple):
    """A line of an n-best list: the number of its source, and its hypothesis."""

    number: int
    hypothesis: Hypothesis


def read_given(path, count, n_best=1):
    """Read hypotheses from a file.

    Args:
        path: Path of a text in UTF-8, plain or .gz, with `n_best` lines for each source, best
            first; or with lines `number ||| text ||| score`, as `translate --nbest` prints them,
            where the numbers of the sources count from 0. Of the fields behind the text, the score
            is the last that is a number, and the others are ignored.
        count: Integer, number of the sources.
        n_best: Positive integer.

    Returns:
        List of lists of `Hypothesis`, one list a source; without a score, that is NaN.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is no text, has not as many hypotheses as there are sources, or only some
            of its lines are those of a list.

    Example:
        >>> read_given("train.hyp.de", 2)
        [[Hypothesis(text='ein Mann', score=nan)], [Hypothesis(text='eine Katze', score=nan)]]
    """
    lines = read_lines(path)
    items = [_item(line) for line in lines]
    if any(items):
        _check_all(path, lines, items)
        found = [[] for _ in range(count)]
        numbers = {item.number for item in items}
        if len(numbers) == count == max(numbers) + 1:
            for item in items:
                found[item.number].append(item.hypothesis)
            return found
        received = f"numbers from {min(numbers)} to {max(numbers)}, {len(numbers):,} different"
    elif len(lines) == count * n_best:
        texts = [Hypothesis(cell_of(line), float("nan")) for line in lines]
        return [texts[first : first + n_best] for first in range(0, len(texts), n_best)]
    else:
        received = f"{len(lines):,} lines, n_best={n_best}"
    raise ValueError(
        "A file of hypotheses must have n_best lines for each source. "
        f"Received: hypotheses={os.fspath(path)!r} with {received}, for {count:,} sources. Give "
        "the hypotheses of these sources, with an empty line where there is none."
    )


def _item(line):
    """The `_Item` of a line; None if it is not `number ||| text`, with fields behind it or none."""
    number, *fields = _BAR.split(f" {line.strip()}")
    if not fields or not _NUMBER.fullmatch(number):
        return None
    text, *others = fields
    scores = [score for score in map(_score, others) if score is not None]
    score = scores[-1] if scores else float("nan")
    return _Item(int(number), Hypothesis(cell_of(text.removeprefix(" ")), score))


def _score(field):
    try:
        return float(field)
    except ValueError:
        return None


def _check_all(path, lines, items):
    """Raise ValueError if some lines are those of a list, and others are not."""
    if None in items:
        place = items.index(None)
        raise ValueError(
            "Either all lines of hypotheses have the form 'number ||| text ||| score', or none. "
            f"Received: hypotheses={os.fspath(path)!r} with line {place + 1:,}, "
            f"{lines[place][:_SHOWN]!r}, beside {len(items) - items.count(None):,} lines of that "
            "form. Mend the line, or give texts alone."
        )
