"""Write dates as people write them, from the patterns of CLDR, each with its ISO 8601 form.

    python examples/dates/dates.py train --count 500000 --out train.tsv
    python examples/dates/dates.py dev --count 8000 --out dev.tsv

A line has five columns, separated by tabs: text, date, locale, form and error, such as
`Arpil 3, 2021`, 2021-04-03, en, long and swapped. No date is in more than one of the parts "train",
"dev" and "test", regardless of the seed.
"""

import argparse
import random
import sys
from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

import regex
from babel import Locale
from babel.dates import DateTimeFormat
from rapidfuzz.distance import OSA
from typing_errors import CHANGES, plain

FORMS = ("full", "long", "medium", "short")

LOCALES = (
    *("ar", "bg", "bn", "ca", "cs", "da", "de", "el", "en", "en_GB", "es", "et", "fa", "fi", "fr"),
    *("he", "hi", "hr", "hu", "id", "it", "ja", "ko", "lt", "lv", "nb", "nl", "pl", "pt", "ro"),
    *("ru", "sk", "sl", "sr", "sv", "th", "tr", "uk", "vi", "zh"),
)
FIRST, LAST = date(1900, 1, 1), date(2099, 12, 31)
OF_TWO_DIGITS = range(1969, 2069)  # years that two digits stand for, as in POSIX
HELD_OUT = {"dev": slice(0, 4000), "test": slice(4000, 8000), "train": slice(8000, None)}
ZEROS = {"arab": "٠", "arabext": "۰", "beng": "০", "deva": "०", "thai": "๐"}  # by CLDR's names


class Line(NamedTuple):
    """One line of a file, with its columns in order."""

    text: str
    date: str
    locale: str
    form: str
    error: str


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=HELD_OUT, help="parts have no dates in common")
    parser.add_argument("--count", type=int, default=8000, help="number of lines (8000)")
    parser.add_argument("--seed", type=int, default=0, help="seed for the lines (0)")
    parser.add_argument(
        "--errors", type=float, default=0.5, help="fraction of lines with a typing error (0.5)"
    )
    parser.add_argument(
        "--locales", default=",".join(LOCALES), help="comma-separated subset of %(default)s (all)"
    )
    parser.add_argument("--out", help="new file for the lines (standard output)")
    arguments = parser.parse_args(arguments)
    if not 0 < arguments.count <= 100_000_000:
        parser.error("--count must be from 1 to 100,000,000")
    if not 0 <= arguments.errors <= 1:
        parser.error("--errors must be from 0 to 1")
    locales = arguments.locales.split(",")
    if not {*locales} <= {*LOCALES}:
        parser.error(f"--locales must name any of {', '.join(LOCALES)}")
    made = lines(arguments.part, arguments.count, arguments.seed, arguments.errors, locales)
    out, is_file = (arguments.out, True) if arguments.out else (sys.stdout.fileno(), False)
    try:
        with open(out, "x", encoding="utf-8", newline="\n", closefd=is_file) as file:
            file.writelines("\t".join(line) + "\n" for line in made)
    except BrokenPipeError:
        sys.exit(1)  # the reader has closed the pipe
    except OSError as error:
        parser.error(str(error))


def lines(part, count, seed=0, errors=0.5, locales=LOCALES):
    """Yield `count` `Line`s, the same for the same arguments."""
    draw = random.Random(f"{part} {seed}")
    every = days(part)
    near = [day for day in every if day.year in OF_TWO_DIGITS]
    for _ in range(count):
        locale, form = draw.choice(locales), draw.choice(FORMS)
        written = Written(locale, form, draw.choice(near if is_short(locale, form) else every))
        if draw.random() < 0.5:
            written = written.in_native_digits()
        text, error = written.text, "none"
        if draw.random() < errors:
            text, error = with_error(written, draw)
        yield Line(text, written.day.isoformat(), locale, form, error)


@cache
def days(part):
    """Return the dates of a part, in a fixed random order."""
    every = [FIRST + timedelta(number) for number in range((LAST - FIRST).days + 1)]
    random.Random("dates").shuffle(every)
    return every[HELD_OUT[part]]


@cache
def is_short(locale, form):
    """Return True if a form writes the year with two digits."""
    return "(yy)" in _pattern(locale, form)


class Written:
    """`text`, a date in a form of a locale, with the digits that start at `zero`."""

    def __init__(self, locale, form, day, zero="0"):
        self.locale, self.form, self.day, self.zero = locale, form, day, zero
        fields = DateTimeFormat(day, _locale(locale))
        self._pattern = _pattern(locale, form)
        self._fields = {name: fields[name] for name in regex.findall(r"%\((\w+)\)s", self._pattern)}
        self.text = self._filled(self._fields)

    def in_native_digits(self):
        """Return the date in the native digits of the locale's script, if it has them."""
        systems = _locale(self.locale).other_numbering_systems
        zero = ZEROS.get(systems.get("native"), "0")
        return Written(self.locale, self.form, self.day, zero)

    def as_other_months(self):
        """Return a list of texts in which each other month name replaces this one."""
        named = [name for name in self._fields if name in ("MMM", "MMMM", "LLL", "LLLL")]
        others = _month_names(self.locale, self.day.month) if named else ()
        return [self._filled({**self._fields, named[0]: other}) for other in others]

    def _filled(self, fields):
        return (self._pattern % fields).translate(_digits_from(self.zero))


@cache
def _digits_from(zero):
    return {ord("0") + n: chr(ord(zero) + n) for n in range(10)}


@cache
def _locale(name):
    return Locale.parse(name)


@cache
def _pattern(locale, form):
    return _locale(locale).date_formats[form].format


@cache
def _month_names(locale, but):
    """Return the names of all months except one, in full and abbreviated."""
    months = _locale(locale).months
    names = [months[use][width] for use in months for width in ("wide", "abbreviated")]
    return {of[month] for of in names for month in of if month != but}


def with_error(written, draw):
    """Return the text with one typing error that keeps the date unambiguous, and its name."""
    for error in 3 * draw.sample(tuple(CHANGES), len(CHANGES)):
        text = CHANGES[error](written.text, draw)
        if text != written.text and is_certain(text, written):
            return text, error
    return written.text, "none"


def is_certain(text, written):
    """Return True if a mistyped text has the same numbers and no other month is equally close."""
    if _numbers(text) != _numbers(written.text):
        return False
    typed = plain(text)
    own = OSA.distance(typed, plain(written.text))
    others = [other for other in written.as_other_months() if _numbers(other) == _numbers(text)]
    return all(OSA.distance(typed, plain(other)) > own for other in others)


def _numbers(text):
    return regex.findall(r"\d+", text)


if __name__ == "__main__":
    main()
