"""Sealed files that the package reads: flipped bits, or pipes, directories and links instead."""

import contextlib
import os
import signal
from pathlib import Path

from fuzz.attack import attack, judged, nothing
from fuzz.outcomes import Case, Outcome

SECONDS = 5  # limit for a reader
KINDS = (
    "run",
    "shards",
    "epoch",
    "cache",
    "version",
    "litert",
    "page",
    "onnx",
)  # functions of `sealed_files`
READ_BY_COMMANDS = KINDS[:4]  # at any time during training
REPLACED = {
    "a FIFO": os.mkfifo,
    "a directory": os.mkdir,
    "a hole of 1 TB": lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 2**40),
    "/dev/zero": lambda path: os.symlink("/dev/zero", path),
    "a loop of links": lambda path: os.symlink(path, path),
    "an empty file": lambda path: Path(path).touch(),
    "a text": lambda path: Path(path).write_text("one\n"),
}


@attack(4, "runs, checkpoints, shards, caches, pages: one flipped bit, by their readers", full=200)
def sealed_flips(world, count):
    """No flipped bit goes unnoticed; `count` bits are flipped in each file, or each page."""
    for kind in KINDS:
        yield from _tried(world, "fuzz.seals:try_flips", kind, count)


@attack(9, "pipes, holes and directories in place of files of runs, shards and caches", full=7)
def replaced_files(world, count):
    for kind in READ_BY_COMMANDS:
        yield from _tried(world, "fuzz.seals:try_replaced", kind, count)


def _tried(world, target, kind, count):
    return told_by(world.heavy, world, target, kind, count, name=kind)


def told_by(zygote, world, target, *arguments, name, seconds=300):
    """Yield the cases that a child process prints with `tell`, and a case for the child itself."""
    with world.scratch() as directory:
        answer = zygote.call(target, *arguments, directory=directory, seconds=seconds)
    lines = answer.out.decode().splitlines()
    yield judged(name, answer, lambda _: bool(lines))
    for line in lines:
        outcome, case, detail = line.split("\t")
        yield Case(f"{name}: {case}", Outcome(outcome), detail=detail)


def try_flips(kind, count):
    """Print the outcome, position and error of each flipped bit."""
    import numpy as np
    import sealed_files
    from sealing import flips

    readers = getattr(sealed_files, kind)(Path("files"))
    count = -(-count // len(readers)) if kind == "page" else count
    random = np.random.default_rng(0)
    for path, read in readers.items():
        read()
        for position in flips(path, count, random):
            tell(f"byte {position} of {path.name}", read)


def try_replaced(kind, count):
    """Print the outcome, name and error of each replacement for a file."""
    import sealed_files

    for path, read in getattr(sealed_files, kind)(Path("files")).items():
        good = path.rename(f"{path}.good")
        for name, make in list(REPLACED.items())[:count]:
            make(path)
            tell(f"{name} as {path.name}", read)
            path.rmdir() if path.is_dir() else path.unlink()
        good.rename(path)


def tell(name, call, right=nothing):
    """Print the outcome of a call, which should return a correct result or raise a one-line error.

    `right` is a function that returns whether a result is correct. By default, every result is
    wrong.
    """
    outcome, detail = Outcome.SILENT, ""
    try:
        with _limit():
            result = call()
        if right(result):
            outcome = Outcome.SURVIVED
    except TimeoutError:
        outcome = Outcome.UNBOUNDED
    except (OSError, TypeError, ValueError) as error:
        detail = str(error)
        is_clear = "\n" not in detail and len(detail) < 1000
        told = isinstance(error, OSError) or right is nothing or "Received: " in detail
        outcome = Outcome.REFUSED if is_clear and told else Outcome.TRACEBACK
    except MemoryError:
        outcome = Outcome.UNBOUNDED
    except Exception as error:
        outcome, detail = Outcome.TRACEBACK, repr(error)
    words = (" ".join(text.split())[:300] for text in (name, detail))
    print(outcome.value, *words, sep="\t", flush=True)


@contextlib.contextmanager
def _limit():
    """Raise TimeoutError if the block takes longer than `SECONDS`."""

    def expire(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
