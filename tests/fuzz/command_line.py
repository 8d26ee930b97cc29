"""Hostile numbers for every numeric option of a command; introspection finds the options."""

import inspect
import typing

from fuzz.attack import anything, attack, judged, sample
from fuzz.targets import REACHED
from fuzz.world import CHECKS, COMMAND

NUMBERS = (
    *("-1", "0", "100000000000", "1e20", "1e300", "1e400", "-1e300", "nan", "inf", "-inf"),
    *("9" * 400, "0x10", "1_000", "\u0663", "", " ", "1.5", "1,5", "--1", "\udcff"),
)
TINY = "--vocabulary-size 40 --embedding-units 8 --units 8 --attention-units 8 --epochs 1"
ARGUMENTS = {
    "train": f"good.en good.de --out new {TINY}",
    "distill": f"good.en good.de --out new --teacher RUN {TINY}",
    "translate": "--model RUN good.en",
    "read": "--model RUN good.en",
    "evaluate": "--model RUN good.en good.de",
    "tune": "--model RUN good.en good.de --metric chrf --dry-run",
    "calibrate": "--model RUN good.en good.de --dry-run",
    "align": "--model RUN one",
    "export": "--model RUN --format litert --out new.tflite",
    "check": "LITERT",
    "demo": "",
    "prepare": "good.en good.de --out new --workers 1",
}
LISTS = {"beam_widths", "length_normalizations", "ctc_weights"}  # comma-separated numbers
PATIENT = {"epochs", "minutes", "patience"}  # large values only take time, as requested


def numeric_options():
    """Yield pairs of a command and one of its numeric options."""
    from keras_bahdanau import cli

    for command in ARGUMENTS:
        for name, parameter in inspect.signature(cli.command(command).callback).parameters.items():
            annotated, *_ = typing.get_args(parameter.annotation) or [None]
            if {annotated, *typing.get_args(annotated)} & {int, float} or name in LISTS:
                yield command, f"--{name.replace('_', '-')}"


def filled(world, command):
    """Return valid arguments of a command."""
    line = ARGUMENTS[command].replace("RUN", str(world.run))
    return [
        command,
        *(line.replace("LITERT", str(world.litert)) if "LITERT" in line else line).split(),
    ]


def run(world, arguments, right, seconds=40):
    """Return the `Case` for a command line. Its checks run first, and then the whole command."""
    name = " ".join(arguments[:1] + arguments[-2:])[:80]
    with world.scratch() as directory:
        for file in world.files.iterdir():
            (directory / file.name).symlink_to(file)
        answer = world.light.call(CHECKS, *arguments, directory=directory, seconds=20)
        if answer.code == REACHED and world.quick:
            answer = answer._replace(code=0)
        elif answer.code == REACHED:
            answer = world.heavy.call(COMMAND, *arguments, directory=directory, seconds=seconds)
        return judged(name, answer, right)


@attack(6, "hostile numbers for every numeric option", full=400, few=12)
def hostile_numbers(world, count):
    cases = [(c, option, number) for c, option in numeric_options() for number in NUMBERS]
    for command, option, number in sample(world.random("numbers"), cases, count):
        if option.removeprefix("--") not in PATIENT:
            yield run(world, [*filled(world, command), f"{option}={number}"], anything)


@attack(6, "bounds of length so large that they overflow", full=12)
def overflowing_lengths(world, count):
    expected = run_of(world, [])
    lines = ["--max-length-ratio=1000", "--max-length-ratio=1e300", "--max-length-ratio=3e38"]
    lines += ["--max-length-offset=1000000", "--max-length-offset=2147483647"]
    lines += ["--max-length=2147483647", "--max-length=100000", "--min-length=0"]
    lines += ["--length-normalization=1e300", "--coverage-penalty=1e300", "--beam-width=1000000000"]
    lines += ["--beam-width=10000"]
    for line in lines[:count]:
        same = expected if "max-length" in line else None

        def right(answer, same=same):
            return answer.out == same if same else answer.out.count(b"\n") == expected.count(b"\n")

        yield run(world, [*filled(world, "translate"), line], right, seconds=60)


def run_of(world, options):
    """Return the output of `translate` with valid options."""
    arguments = [*filled(world, "translate"), *options]
    return world.heavy.call(COMMAND, *arguments, directory=world.files).out
