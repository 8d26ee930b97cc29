"""Score a model on a file of dates: exact answers by form, with and without typing errors.

    python examples/dates/score.py dev.tsv --model runs/dates/translator.keras
    python examples/dates/score.py dev.tsv --model dates.tflite

`dates.py` writes such a file. A `.tflite` model reads one line at a time, a `.keras` model batches.
"""

import argparse
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import keras_bahdanau as kb
from keras_bahdanau.text import features

FORMS = ("full", "long", "medium", "short")


class Line(NamedTuple):
    """One line of a file written by `dates.py`."""

    text: str
    date: str
    locale: str
    form: str
    error: str


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", type=Path, required=True, help=".keras or .tflite file")
    parser.add_argument("--wrong", type=int, default=0, help="number of wrong answers to print")
    arguments = parser.parse_args(arguments)
    on_device = arguments.model.suffix == ".tflite"
    load = kb.exporters.LiteRTTranslator if on_device else kb.load_pipeline
    try:
        translator, lines = load(arguments.model), read(arguments.file)
        for locale in sorted({line.locale for line in lines}):
            features.require_token(f"<{locale}>", translator.source)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    start = time.perf_counter()
    results = translator.translate([f"<{line.locale}> {line.text}" for line in lines])
    seconds = time.perf_counter() - start
    answers = [result.text for result in results]
    print(table(lines, answers))
    print(f"{1000 * seconds / len(lines):.2f} ms per line, including Python and vocabularies")
    wrong = [pair for pair in zip(lines, answers, strict=True) if pair[1] != pair[0].date]
    for line, answer in wrong[: arguments.wrong]:
        print(f"{line.locale}\t{line.text}\t{answer}\tshould be {line.date} ({line.error})")


def read(path):
    """Return the lines of a file as a list of `Line`.

    Raises:
        ValueError: If a line has the wrong number of columns, or the file is empty.
    """
    with open(path, encoding="utf-8-sig", newline="\n") as file:
        rows = [line.rstrip("\r\n").split("\t") for line in file]
    for number, row in enumerate(rows or [[]], start=1):
        if len(row) != len(Line._fields):
            raise ValueError(
                f"A line must have {len(Line._fields)} columns, {', '.join(Line._fields)}. "
                f"Received: {path}, where line {number} has {len(row)}."
            )
    return [Line(*row) for row in rows]


def table(lines, answers):
    """Return a table of exact answers in percent by form, for clean and mistyped lines.

    Args:
        lines: List of `Line`.
        answers: List of strings. The model's date for each line.

    Returns:
        String: the table, then the three locales and the three errors with the lowest scores.
    """
    found = defaultdict(list)
    for line, answer in zip(lines, answers, strict=True):
        right = answer == line.date
        typing = "clean" if line.error == "none" else "errors"
        for form in (line.form, "all"):
            for column in (typing, "all"):
                found[form, column].append(right)
        for group in (("locale", line.locale), ("error", line.error), ("digits", _digits(line))):
            found[group].append(right)
    rows = [f"{'':8}{'clean':>8}{'errors':>8}{'all':>8}{'lines':>8}"]
    for form in (*FORMS, "all"):
        shares = "".join(_percent(found[form, column]) for column in ("clean", "errors", "all"))
        rows.append(f"{form:8}{shares}{len(found[form, 'all']):8,}")
    for kind in ("locale", "error", "digits"):
        groups = sorted((_mean(of), name) for (one, name), of in found.items() if one == kind)
        rows.append(f"{kind:8}  " + ", ".join(f"{name} {share:.2f}" for share, name in groups[:3]))
    return "\n".join(rows)


def _digits(line):
    return "0-9" if all(one.isascii() for one in line.text if one.isdigit()) else "native"


def _percent(found):
    return f"{_mean(found):8.2f}" if found else f"{'-':>8}"


def _mean(found):
    return 100 * sum(found) / len(found)


if __name__ == "__main__":
    main()
