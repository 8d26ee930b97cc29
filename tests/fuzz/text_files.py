"""Files that aren't text, damaged files and endless files, wherever a command reads lines."""

import contextlib
import gzip
import os
import re
import socket

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fuzz.attack import anything, attack, judged, nothing, sample
from fuzz.served import letters
from fuzz.targets import REACHED
from fuzz.world import CHECKS, COMMAND

TEXT = "one two\nthree\nfour\n"
LINES = 155  # in good.en and good.de

EMPTY = ("empty", "empty gzip", "/dev/null")


def bomb():
    """Return a gzip file of 4 MB with many members, which expands to 4 GB."""
    return gzip.compress(b"one\n" * 2**22) * 256


def contents():
    """Return a list of (name, extension, bytes or function of a path, whether it is acceptable)."""
    good = gzip.compress(TEXT.encode() * 50)
    return [
        ("UTF-16 with mark", "", TEXT.encode("utf-16"), False),
        ("UTF-16-LE", "", TEXT.encode("utf-16-le"), False),
        ("UTF-16-BE", "", TEXT.encode("utf-16-be"), False),
        ("UTF-32", "", TEXT.encode("utf-32"), False),
        ("UTF-32-LE", "", TEXT.encode("utf-32-le"), False),
        ("latin-1", "", "fünf\n".encode("latin-1"), False),
        ("NUL bytes", "", b"one\0two\n" * LINES, False),
        ("zeros", "", bytes(4096), False),
        ("CR only", "", TEXT.replace("\n", "\r").encode(), False),
        ("a surrogate", "", b"one \xed\xa0\x80\n" * LINES, False),
        ("too long a code", "", b"one \xc0\xaf\n" * LINES, False),
        ("empty", "", b"", False),
        ("all kinds of bytes", "", bytes(range(256)) * 20, False),
        ("no gzip", ".gz", TEXT.encode(), False),
        ("empty gzip", ".gz", b"", False),
        ("cut gzip", ".gz", good[:-9], False),
        ("gzip with a wrong sum", ".gz", good[:-8] + bytes(8), False),
        ("gzip with an unknown method", ".gz", good[:2] + b"\x09" + good[3:], False),
        ("gzip not named so", "", good, True),
        ("gzip bomb", ".gz", bomb(), False),
        ("a directory", "", os.mkdir, False),
        ("a socket", "", _socket, False),
        ("a loop of links", "", lambda path: os.symlink(path, path), False),
        ("a link to nothing", "", lambda path: os.symlink("absent", path), False),
        ("/dev/zero", "", lambda path: os.symlink("/dev/zero", path), False),
        ("/dev/null", "", lambda path: os.symlink("/dev/null", path), False),
        ("FIFO without a writer", "", os.mkfifo, False),
    ]


def _socket(path):
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as one:
        one.bind(os.path.relpath(path))  # shorter: a socket's path has at most 100 letters


ROLES = {
    "translate": "translate --model RUN FILE",
    "source": "train FILE good.de --out new",
    "target": "train good.en FILE --out new",
    "TSV": "train FILE --out new",
    "prepare": "prepare FILE good.de --workers 1 --out new",
    "validation": "train good.en good.de --valid-source FILE --valid-target FILE --out new",
    "evaluate": "evaluate --model RUN FILE FILE",
    "compare": "evaluate --model RUN good.en good.de --compare FILE",
    "alignments": "evaluate --model RUN good.en good.de --alignments FILE",
    "tune": "tune --model RUN FILE FILE --metric chrf",
    "export": "export --model RUN --format litert --out new.tflite --sentences FILE",
}


@attack(9, "files that are no text, in every role", full=297, few=8)
def files_that_are_no_text(world, count):
    rows = [(content, role) for content in contents() for role in ROLES]
    if world.quick:  # reading from a FIFO blocks
        rows = [row for row in rows if not row[0][0].startswith("FIFO")]
    for (name, ending, content, accepted), role in sample(world.random("files"), rows, count):
        with world.scratch() as directory:
            path = directory / f"file{ending}"
            if callable(content):
                content(path)
            else:
                path.write_bytes(content)
            empty = role == "translate" and name in EMPTY  # the answer has no lines
            yield checked(world, directory, f"{name}: {role}", ROLES[role], accepted or empty)


def checked(world, directory, name, line, accepted):
    """Run a command's checks; return the `Case`. Unless `accepted`, the file must be refused."""
    path = next(directory.glob("file*"))
    line = line.replace("RUN", str(world.run)).replace("FILE", str(path))
    line = line.replace("good.", f"{world.files}/good.")
    return judged(name, _checks(world, directory, line), anything if accepted else nothing)


def _checks(world, directory, line):
    """Run a command's checks; return the `Answer`, with exit code 0 if they pass."""
    limits = {"seconds": 10, "memory": 2**31, "patience": 15}
    answer = world.light.call(CHECKS, *line.split(), directory=directory, **limits)
    return answer._replace(code=0) if answer.code == REACHED else answer


def drawn(strategy, count):
    """Return `count` examples of a Hypothesis strategy, the same in each run."""
    found = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example):
        found.append(example)

    collect()
    return found[:count]


LINKS = st.lists(
    st.text("0123456789-? ,\t\u0663\u00b2", max_size=8)
    | st.sampled_from(["0-0", "1?0", "0-0 1-1"]),
    min_size=3,
    max_size=3,
)
LINK = re.compile(r"[0-9]+[-?][0-9]+")


@attack(9, "alignments of random signs", full=300, few=4)
def random_alignments(world, count):
    """Alignments are accepted only if each word is a link in Pharaoh format."""
    for lines in drawn(LINKS, count):
        with world.scratch() as directory:
            (directory / "links").write_text("".join(f"{line}\n" for line in lines), "utf-8")
            (directory / "three").write_text("one\ntwo\nthree\n")
            valid = all(LINK.fullmatch(link) for line in lines for link in line.split())
            line = f"evaluate --model {world.run} three three --alignments links"
            answer = _checks(world, directory, line)
            yield judged(repr(lines), answer, anything if valid else nothing)


SENTENCES = st.lists(st.text(max_size=30) | st.sampled_from(["one two", ""]), max_size=8)


@attack(9, "random lines on standard input of translate", full=40)
def random_lines(world, count):
    """Each line of text gives a line of output; other bytes are refused."""
    lines = drawn(SENTENCES, count // 2)
    inputs = ["".join(f"{one}\n" for one in some).encode("utf-8", "replace") for some in lines]
    for data in inputs + drawn(st.binary(max_size=60), count - count // 2):
        arguments = ("translate", "--model", str(world.run))
        answer = world.heavy.call(COMMAND, *arguments, directory=world.files, stdin=data)
        expected = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
        if answer.code == 2:
            answer = answer._replace(out=b"")
        yield judged(repr(data), answer, lambda ended, n=expected: ended.out.count(b"\n") == n)


@attack(1, "translate: one very long line between short ones", full=6)
def long_lines(world, count):
    """Other lines keep their answers, and standard error names the long one."""
    cases = [
        ("1 MB of letters", letters(10**6), world.run),
        ("1 MB of words", b"one " * 250_000, world.run),
        ("10,000 letters", letters(10_000), world.run),
        ("a word of 100,000 letters, words as tokens", b"a" * 100_000, world.words),
        ("100,000 signs of one letter, words as tokens", b"e\xcc\x81" * 50_000, world.words),
        ("20 MB without a line end", b"one two " * 2_500_000, world.run),
    ]
    for name, line, model in cases[:count]:
        arguments = ("translate", "--model", str(model))
        call = world.heavy.call
        short = call(COMMAND, *arguments, directory=world.files, stdin=b"one two\nthree\n").out
        data = b"one two\n" + line + b"\nthree\n"
        answer = call(COMMAND, *arguments, directory=world.files, stdin=data, seconds=20)

        def right(ended, short=short):
            lines, (first, last) = ended.out.splitlines(), short.splitlines()
            return len(lines) == 3 and lines[0] == first and lines[2] == last

        yield judged(name, answer, right)
