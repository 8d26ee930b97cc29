"""The list of all attacks."""

from typing import NamedTuple

from fuzz.outcomes import Case, judged

ATTACKS = {}


class Attack(NamedTuple):
    """One way to attack the package.

    Attributes:
        item: Integer, number of the promise that SECURITY.md lists.
        name: String, a line of the table.
        cases: Function of a `World` and of a number of cases, which yields `Case`.
        full: Integer, cases of the whole table.
        few: Integer, cases in the fast tests; 0 for none.
    """

    item: int
    name: str
    cases: object
    full: int
    few: int


def attack(item, name, full, few=0):
    """Decorator that puts a generator of cases into `ATTACKS`."""

    def decorate(function):
        ATTACKS[function.__name__] = Attack(item, name, function, full, few)
        return function

    return decorate


def sample(random, rows, count):
    """So many rows by chance, in their order; all if there are not more."""
    rows = list(rows)
    if len(rows) <= count:
        return rows
    return [rows[place] for place in sorted(random.sample(range(len(rows)), count))]


def anything(answer):
    """Accept any end with exit code 0."""
    return True


def nothing(answer):
    """Accept no end with exit code 0: the input has to be refused."""
    return False


__all__ = ["ATTACKS", "Attack", "Case", "anything", "attack", "judged", "nothing", "sample"]
