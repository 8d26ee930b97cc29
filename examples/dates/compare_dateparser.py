"""Score a file of dates with dateparser, in its own environment: the table of `score.py`.

    python benchmarks/environments.py dateparser
    benchmarks/.envs/dateparser/bin/python examples/dates/compare_dateparser.py dev.tsv

It is told the locale of each line, as the model is, so that it tries one language and one order.
"""

import argparse
import time
from pathlib import Path

import dateparser
from dateparser.data import languages_info
from exact import read, table


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args(arguments)
    try:
        lines = read(arguments.file)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    answer("1 May 2021", "en")  # loads what it loads once
    start = time.perf_counter()
    answers = [answer(line.text, line.locale) for line in lines]
    seconds = time.perf_counter() - start
    print(table(lines, answers))
    print(f"{1000 * seconds / len(lines):.2f} ms a line")


def answer(text, locale):
    """The date that dateparser finds, in ISO 8601; "" if there is none."""
    name = locale.replace("_", "-")
    known = name in languages_info.language_order
    found = dateparser.parse(text, **({"languages": [name]} if known else {"locales": [name]}))
    return found.date().isoformat() if found else ""


if __name__ == "__main__":
    main()
