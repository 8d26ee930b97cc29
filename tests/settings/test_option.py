"""Options: their checks, and what is derived from a field."""

import dataclasses
import inspect
import math
from typing import Annotated

import pytest
import typer
import typer.testing

from keras_bahdanau.cli.options import command
from keras_bahdanau.settings.option import (
    check_option,
    documented,
    flag,
    integer,
    names,
    number,
    one_of,
    option,
    optional,
    some_of,
)


@documented
@dataclasses.dataclass(frozen=True, kw_only=True)
class Toaster:
    """Settings of a toaster.

    Raises:
        ValueError: If it burns.
    """

    heat: int = option(3, integer(1, 9), "Heat.")
    bread: str = option("rye", one_of("rye", "wheat"), "Bread: {choices}.")
    lid: bool = option(True, flag(), "Closed lid.", off="open")


@pytest.mark.parametrize(
    ("check", "allowed", "refused"),
    [
        (integer(1, 9), (1, 9), (0, 10, 2.0, True, "1", None, math.nan)),
        (number(0, 1), (0, 1, 0.5, 1.0), (-1e-9, 1.001, math.nan, math.inf, True, "0", None)),
        (number(0, 1, "[)"), (0, 0.999), (1, 1.0)),
        (number(0, 1, "(]"), (1e-9, 1), (0, 0.0)),
        (one_of("a", "b"), ("a", "b"), ("c", "ab", None, 1, ["a"])),
        (some_of("a", "b"), ("a", "b,a"), ("", "a,a", "a,c", "a;b", None, 1)),
        (names(2), ("", "a", "a,b_1/c"), ("a,", "a,b,c", "a b", "/a", "a" * 201, None, 1)),
        (flag(), (True, False), (0, 1, None, "yes")),
        (optional(integer(1, 9)), (None, 1), (0, "None")),
    ],
    ids=lambda value: getattr(value, "demand", None),
)
def test_a_check_allows_what_its_demand_says(check, allowed, refused):
    assert all(check.allows(value) for value in allowed)
    assert not any(check.allows(value) for value in refused)


def test_a_value_that_is_refused_is_named_with_its_option():
    field = Toaster.__dataclass_fields__["heat"]
    check_option(field, 9)
    with pytest.raises(ValueError) as error:
        check_option(field, 10)
    assert str(error.value) == "`heat` must be an integer in [1, 9]. Received: heat=10"


def test_the_fields_are_the_documentation():
    assert inspect.getdoc(Toaster).splitlines() == [
        "Settings of a toaster.",
        "",
        "Args:",
        "    heat: Heat.",
        '    bread: Bread: "rye" or "wheat".',
        "    lid: Closed lid.",
        "",
        "Raises:",
        "    ValueError: If it burns.",
    ]


@dataclasses.dataclass(kw_only=True)
class Slices:
    """Arguments of a command."""

    slices: Annotated[int, typer.Argument()]


@pytest.mark.parametrize(
    ("shown", "defaults"),
    [
        (Toaster(heat=5, lid=False), ["5", "rye", "open"]),
        (None, ["the model's own"] * 3),
    ],
)
def test_the_fields_are_options_of_a_command(shown, defaults):
    given = []
    app = typer.Typer(rich_markup_mode=None)

    @app.command()
    @command(Slices, (Toaster, shown), imports=False)
    def toast(arguments, options):
        given.append((arguments.slices, options))

    run = typer.testing.CliRunner().invoke
    text = " ".join(run(app, ["--help"], env={"COLUMNS": "200"}).output.split())
    for line, default in zip(("Heat.", '"wheat".', "Closed lid."), defaults, strict=True):
        assert f"{line} [default: {default}]" in text
    run(app, ["2"])
    run(app, ["2", "--heat", "7", "--open"])
    run(app, ["2", "--bread", "wheat", "--lid"])
    assert given == [
        (2, {}),
        (2, {"heat": 7, "lid": False}),
        (2, {"bread": "wheat", "lid": True}),
    ]
