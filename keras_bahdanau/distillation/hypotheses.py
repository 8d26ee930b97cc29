"""Hypotheses of a teacher, and the files that contain them.

A line of `hypotheses.tsv` contains the number of the pair, the score, the state ("whole",
"unfinished" or "cut"), the text, and, if requested, the weights between words. Files of other
teachers contain plain lines, or n-best lists in Moses format.
"""

import itertools
import operator
import os
import re
from typing import NamedTuple

from keras_bahdanau.data.pair_file import cell_of
from keras_bahdanau.data.readers.lines import read_lines

WHOLE, UNFINISHED, CUT = "whole", "unfinished", "cut"
_BAR = re.compile(r" \|\|\|(?= |$)")
_NUMBER = re.compile(r" *[0-9]{1,9} *")
_EXCERPT = 60  # characters of a line shown in a message


class Hypothesis(NamedTuple):
    """A text for one source.

    Attributes:
        text: String.
        score: Float, or NaN if unknown.
        state: `WHOLE`, `UNFINISHED` if the search reached its length limit, or `CUT` if the source
            was too long for the teacher.
        weights: String, the attention between words (see `word_weights.format_weights`).
    """

    text: str
    score: float
    state: str = WHOLE
    weights: str = ""


def line_of(number, hypothesis, weighted=False):
    r"""Format a line of `hypotheses.tsv`; `weighted` adds the weights between words.

    >>> line_of(7, Hypothesis("ein Mann", -0.21))
    '7\t-0.2100\twhole\tein Mann\n'
    """
    text, score, state, weights = hypothesis
    cells = [str(number), f"{score:.4f}", state, cell_of(text), *([weights] if weighted else [])]
    return "\t".join(cells) + "\n"


def read_hypotheses(path, count):
    """Yield the lists of `Hypothesis` of `hypotheses.tsv`, one list for each of `count` inputs."""
    number = 0
    with open(path, encoding="utf-8", newline="\n") as file:
        rows = (line.removesuffix("\n").split("\t") for line in file)
        groups = itertools.groupby(rows, operator.itemgetter(0))
        try:
            for number, (name, group) in enumerate(groups, start=1):
                hypotheses = [
                    Hypothesis(text, float(score), state, *weights)
                    for _, score, state, text, *weights in group
                ]
                if name != str(number) or number > count:
                    break
                yield hypotheses
            else:
                if number == count:
                    return
        except (TypeError, ValueError):
            pass
    raise ValueError(
        f"A file of hypotheses must be intact. Received: path={str(path)!r}, which is damaged. "
        "Remove it; the same command writes it again."
    )


def read_external(path, count, n_best=1):
    """Read hypotheses of any other teacher, and return a list of `Hypothesis` per source.

    The file is UTF-8 text, plain or .gz. It contains either `n_best` lines for each of `count`
    sources, best first, or lines `number ||| text ||| score` as written by `translate --nbest`,
    with numbers from 0. The score is the last field that is a number, or NaN if there is none;
    other fields are ignored. Raises ValueError if the number of hypotheses is wrong, or if formats
    are mixed.
    """
    lines = read_lines(path)
    items = [_numbered(line) for line in lines]
    if any(items):
        _check_form(path, lines, items)
        numbers = {number for number, _ in items}
        if len(numbers) == count == max(numbers) + 1:
            hypotheses = [[] for _ in range(count)]
            for number, hypothesis in items:
                hypotheses[number].append(hypothesis)
            return hypotheses
        received = f"numbers from {min(numbers)} to {max(numbers)}, {len(numbers):,} different"
    elif len(lines) == count * n_best:
        texts = [Hypothesis(cell_of(line), float("nan")) for line in lines]
        return [texts[first : first + n_best] for first in range(0, len(texts), n_best)]
    else:
        received = f"{len(lines):,} lines, n_best={n_best}"
    raise ValueError(
        "A file of hypotheses must have n_best lines for each source. "
        f"Received: hypotheses={os.fspath(path)!r} with {received}, for {count:,} sources. Pass "
        "the hypotheses of these sources, with an empty line for each missing one."
    )


def _numbered(line):
    """Parse a line `number ||| text ...` into (number of the source, `Hypothesis`), or None."""
    number, *fields = _BAR.split(f" {line.strip()}")
    if not fields or not _NUMBER.fullmatch(number):
        return None
    text, *scores = fields
    scores = [score for score in map(_score, scores) if score is not None]
    score = scores[-1] if scores else float("nan")
    return int(number), Hypothesis(cell_of(text.removeprefix(" ")), score)


def _score(field):
    try:
        return float(field)
    except ValueError:
        return None


def _check_form(path, lines, items):
    """Raise ValueError if only some lines are in n-best format."""
    if None in items:
        index = items.index(None)
        raise ValueError(
            "Either all lines or no lines of `hypotheses` must have the form "
            "'number ||| text ||| score'. "
            f"Received: hypotheses={os.fspath(path)!r} with line {index + 1:,}, "
            f"{lines[index][:_EXCERPT]!r}, and {len(items) - items.count(None):,} lines in that "
            "format. Correct the line, or write only texts."
        )
