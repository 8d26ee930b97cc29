"""The list of all attacks."""

from typing import NamedTuple

from fuzz.outcomes import Case, judged

ATTACKS = {}


class Attack(NamedTuple):
    """One way to attack the package.

    Attributes:
        item: Integer. The number of the promise in SECURITY.md.
        name: String. The attack's line in the table.
        cases: Function of a `World` and a number of cases that yields `Case` objects.
        full: Integer. The number of cases for the table.
        few: Integer. The number of cases in the fast tests; 0 for none.
    """

    item: int
    name: str
    cases: object
    full: int
    few: int


def attack(item, name, full, few=0):
    """Return a decorator that adds a generator of cases to `ATTACKS`."""

    def decorate(function):
        ATTACKS[function.__name__] = Attack(item, name, function, full, few)
        return function

    return decorate


def sample(random, rows, count):
    """Return `count` random rows in their order, or all rows if there are fewer."""
    rows = list(rows)
    if len(rows) <= count:
        return rows
    return [rows[place] for place in sorted(random.sample(range(len(rows)), count))]


def anything(answer):
    """Accept any answer with exit code 0."""
    return True


def nothing(answer):
    """Accept no answer with exit code 0: the input must be refused."""
    return False


__all__ = ["ATTACKS", "Attack", "Case", "anything", "attack", "judged", "nothing", "sample"]
