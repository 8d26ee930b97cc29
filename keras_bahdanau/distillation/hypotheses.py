"""Hypotheses of a teacher, and the file that holds them.

`hypotheses.tsv` has a line each: the number of the pair, the score, the state ("whole",
"unfinished" or "cut"), the text, and, where they are asked for, the weights of its words.
"""

import itertools
import operator
from typing import NamedTuple

from keras_bahdanau.data.pair_file import cell_of

WHOLE, UNFINISHED, CUT = "whole", "unfinished", "cut"


class Hypothesis(NamedTuple):
    """A text for one source.

    Attributes:
        text: String.
        score: Float; NaN if it is not known.
        state: String: `WHOLE`; `UNFINISHED`, if it was as long as the search allows; or `CUT`, if
            its source was longer than the teacher reads.
        weights: String, the attention between words: see `word_weights.format_weights`.
    """

    text: str
    score: float
    state: str = WHOLE
    weights: str = ""


def line_of(number, hypothesis, weighted=False):
    r"""A line of the file.

    Args:
        number: Positive integer, that of the pair.
        hypothesis: `Hypothesis`.
        weighted: True for a line with the weights of its words.

    Example:
        >>> line_of(7, Hypothesis("ein Mann", -0.21))
        '7\t-0.2100\twhole\tein Mann\n'
    """
    text, score, state, weights = hypothesis
    cells = [str(number), f"{score:.4f}", state, cell_of(text), *([weights] if weighted else [])]
    return "\t".join(cells) + "\n"


def read_hypotheses(path, count):
    """Read the file, one input after the other.

    Args:
        path: Path of the file.
        count: Integer, number of the inputs.

    Yields:
        Lists of `Hypothesis`, one list an input; so no more of a large file is in memory than is
        asked for.

    Raises:
        ValueError: If it is damaged.

    Example:
        >>> [best for best, *_ in read_hypotheses("runs/student/distilled/hypotheses.tsv", 1)]
        [Hypothesis(text='ein Mann', score=-0.21, state='whole', weights='')]
    """
    number = 0
    with open(path, encoding="utf-8", newline="\n") as file:
        rows = (line.removesuffix("\n").split("\t") for line in file)
        groups = itertools.groupby(rows, operator.itemgetter(0))
        try:
            for number, (name, several) in enumerate(groups, start=1):
                found = [
                    Hypothesis(text, float(score), state, *weights)
                    for _, score, state, text, *weights in several
                ]
                if name != str(number) or number > count:
                    break
                yield found
            else:
                if number == count:
                    return
        except (TypeError, ValueError):
            pass
    raise ValueError(
        f"Hypotheses must be as they were written. Received: path={str(path)!r}, which is "
        "not. Remove it: the same command writes it again."
    )
