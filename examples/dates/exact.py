"""Lines of dates, and the table of how many are answered exactly."""

from collections import defaultdict
from typing import NamedTuple

FORMS = ("full", "long", "medium", "short")


class Line(NamedTuple):
    """One line of a file of `dates.py`."""

    text: str
    date: str
    locale: str
    form: str
    error: str


def read(path):
    """List of `Line` of a file.

    Raises:
        ValueError: If a line has other columns, or there is none.
    """
    with open(path, encoding="utf-8-sig", newline="\n") as file:
        rows = [line.rstrip("\r\n").split("\t") for line in file]
    for number, row in enumerate(rows or [[]], start=1):
        if len(row) != len(Line._fields):
            raise ValueError(
                f"A line must have {len(Line._fields)} columns, {', '.join(Line._fields)}. "
                f"Received: {path}, whose line {number} has {len(row)}."
            )
    return [Line(*row) for row in rows]


def table(lines, answers):
    """Table of exact answers in percent: a row for each form, clean and with typing errors.

    Args:
        lines: List of `Line`.
        answers: List of strings, the date given for each.

    Returns:
        String: the table, then the three locales and the three errors with the fewest.
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
