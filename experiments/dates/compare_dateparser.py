"""Score a file of dates with dateparser, in its own environment.

    python benchmarks/environments.py dateparser
    benchmarks/.envs/dateparser/bin/python experiments/dates/compare_dateparser.py dev.tsv

Like the model, dateparser receives the locale of each line, so it tries only one language and one
date order.
"""

import argparse
import csv
import time
from collections import defaultdict
from pathlib import Path

import dateparser
from dateparser.data import languages_info

COLUMNS = ("text", "date", "locale", "form", "error")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args(arguments)
    try:
        lines = read(arguments.file)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    answer("1 May 2021", "en")  # loads its data once, before the timing
    start = time.perf_counter()
    answers = [answer(line["text"], line["locale"]) for line in lines]
    seconds = time.perf_counter() - start
    rights = defaultdict(list)
    for line, found in zip(lines, answers, strict=True):
        typing = "clean" if line["error"] == "none" else "with errors"
        for form in (line["form"], "all"):
            rights[form, typing].append(found == line["date"])
    for (form, typing), right in sorted(rights.items()):
        print(f"{form}, {typing}: {100 * sum(right) / len(right):.1f}% of {len(right):,}")
    print(f"{1000 * seconds / len(lines):.2f} ms per line")


def read(path):
    """Return a dictionary for each line of a file written by `examples/dates/dates.py`."""
    with open(path, encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file, COLUMNS, delimiter="\t", quoting=csv.QUOTE_NONE)]


def answer(text, locale):
    """Return the date that dateparser finds, in ISO 8601, or "" if there is none."""
    name = locale.replace("_", "-")
    known = name in languages_info.language_order
    found = dateparser.parse(text, **({"languages": [name]} if known else {"locales": [name]}))
    return found.date().isoformat() if found else ""


if __name__ == "__main__":
    main()
