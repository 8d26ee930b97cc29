"""Hypotheses of any other teacher, from a file: lines, or an n-best list as Moses writes it."""

import os
import re

from keras_bahdanau.data.reading import read_lines
from keras_bahdanau.training.distillation.hypotheses import Hypothesis

_OF_LIST = re.compile(r"(\d{1,9}) \|\|\| (.*?)(?: \|\|\| .*?)??(?: \|\|\| (\S+))?")


def read_given(path, count, n_best=1):
    """Read hypotheses from a file.

    Args:
        path: Path of a text in UTF-8, plain or .gz, with `n_best` lines for each source, best
            first; or with lines `number ||| text ||| score`, as `translate --nbest` prints them,
            where the numbers of the sources count from 0, and fields between text and score are
            ignored.
        count: Integer, number of the sources.
        n_best: Positive integer.

    Returns:
        List of lists of `Hypothesis`, one list a source; without a score, that is NaN.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is no text, or has not as many hypotheses as there are sources.

    Example:
        >>> read_given("train.hyp.de", 2)
        [[Hypothesis(text='ein Mann', score=nan)], [Hypothesis(text='eine Katze', score=nan)]]
    """
    lines = read_lines(path)
    items = [_OF_LIST.fullmatch(line) for line in lines]
    if all(items):
        found = [[] for _ in range(count)]
        numbers = {int(item[1]) for item in items}
        if len(numbers) == count == max(numbers) + 1:
            for item in items:
                found[int(item[1])].append(Hypothesis(item[2], _number(item[3])))
            return found
        received = f"numbers from {min(numbers)} to {max(numbers)}, {len(numbers):,} different"
    elif len(lines) == count * n_best:
        texts = [Hypothesis(line, float("nan")) for line in lines]
        return [texts[first : first + n_best] for first in range(0, len(texts), n_best)]
    else:
        received = f"{len(lines):,} lines, n_best={n_best}"
    raise ValueError(
        "A file of hypotheses must have n_best lines for each source. "
        f"Received: hypotheses={os.fspath(path)!r} with {received}, for {count:,} sources. Give "
        "the hypotheses of these sources, with an empty line where there is none."
    )


def _number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return float("nan")
