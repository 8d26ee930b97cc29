"""Mutated tables: inferred and given columns, features, counts, several answers, gzip."""

import gzip
import pickle

from fuzz.attack import attack
from fuzz.outcomes import judged_call

ROUNDS = 500  # tables per child process
NAMES = ("source", "target", "features", "count", "-")
WORDS = ["walk", "mannerheim", "м а н", "V;PST", "N|PL", "Case=Nom", "2", "0.5", "x; y", "", " "]
STRANGE = ["\u0301", "\u200b", "\u2028", "\x85", "\x0b", "\r", "\ufeff", "\u00a0", "▁", "☃"]
STRANGE += ["\U0001f600", "<s>", "pad", "unk", "s;/s", "/s", ";", "|", ";;|", '"', "'", "N" * 300]
BROKEN = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\0", b"\x1b", b"\x7f", b"\r", b"\t"]
BROKEN += [b"\n", b"\r\n", b"\xef\xbb\xbf", b"\xf4\x90\x80\x80"]
SEPARATORS = [*[None] * 6, ";", ";", "; ", "\t", "", " ", "☃", ";" * 5000, "\t" * 5000]


def random_cell(random):
    """Return a random cell: a typical one, one of unusual characters, or a very long one."""
    kind = random.randrange(60)
    if kind < 48:
        return random.choice(WORDS)
    if kind < 59:
        return "".join(random.choices(WORDS + STRANGE, k=random.randrange(5)))
    return random.choice(["a", "▁", "☃", "V;", "1", "<"]) * random.choice([1000, 40_000])


def random_columns(random, width):
    """Return random names of columns: None, valid ones for the width, or wrong ones."""
    kind = random.randrange(10)
    if kind < 4:
        return None
    if kind < 8:
        names = ["source", "target", *random.choices(["features", "count", "-"], k=width - 2)]
        return ",".join(random.sample(names, len(names)))
    if kind == 8:
        return ",".join(random.choices(NAMES, k=random.randrange(6)))
    return random.choice(["", ",", "source", "target,source,", "quelle", "source" * 2000, "\ud800"])


def random_table(random, width):
    """Return the bytes of a random table; most of its lines have `width` cells."""
    form = random.choice([None, "count", "features", "many"])
    lines = []
    for number in range(random.choice([0, 1, 2, 5, 40])):
        cells = [random_cell(random) for _ in range(width)]
        if form == "count":
            cells[-1] = str(random.randrange(99))
        elif form == "features":
            cells[-1] = random.choice(["V;PST", "N;PL;DAT", "Case=Nom|Number=Sing", "ADJ"])
        elif form == "many":  # more features than allowed
            cells[-1] = ";".join(f"F{number * 40 + one}" for one in range(40))
        if not random.randrange(100):
            cells = cells[: random.randrange(width + 1)] + [""] * random.randrange(2)
        lines.append("\t".join(cells) + random.choice([*[""] * 19, "\r"]))
    content = random.choice([*["\n"] * 6, "\r\n", "\r\n", "\r"]).join(lines).encode()
    return random.choice([b"", b"", b"\xef\xbb\xbf"]) + content + random.choice([b"", b"\n"])


def mutated(random, content):
    """Return the content unchanged, replaced by random bytes, cut short, or with broken bytes."""
    content = bytearray(content)
    kind = random.randrange(10)
    if kind == 0:
        return random.randbytes(random.randrange(60))
    if kind == 1:
        return bytes(content[: random.randrange(len(content) + 1)])
    if kind == 2:
        for _ in range(random.choice([1, 1, 3])):
            place = random.randrange(len(content) + 1)
            content[place:place] = random.choice(BROKEN)
    return bytes(content)


def random_case(random):
    """Return a random (file name, bytes, columns, separator of answers)."""
    width = random.choice([2, 2, 2, 3, 3, 3, 3, 4])
    content = mutated(random, random_table(random, width))
    name = "table.tsv"
    if not random.randrange(5):
        name = "table.tsv.gz"
        content = gzip.compress(content, 1, mtime=0)
        content = mutated(random, content)
    return name, content, random_columns(random, width), random.choice(SEPARATORS)


@attack(9, "tables: mutated cells, columns, features, answers, bytes and gzip", full=10_000, few=40)
def mutated_tables(world, count):
    """Pairs and symbols match a simple reader's, or a short error refuses the table."""
    random = world.random("tables")
    cases = [random_case(random) for _ in range(count)]
    for first in range(0, count, ROUNDS):
        some = cases[first : first + ROUNDS]
        with world.scratch() as directory:
            (directory / "cases").write_bytes(pickle.dumps(some))
            target = ("fuzz.targets:tables", "cases", "answers")
            answer = world.light.call(*target, directory=directory, seconds=200)
            path = directory / "answers"
            found = pickle.loads(path.read_bytes()) if path.exists() else [None] * len(some)
        for case, one in zip(some, found, strict=True):
            name, content, columns, separator = case
            label = f"{name} {content[:40]!r} {columns!r:.40} {separator!r:.9}"
            right = lambda result, case=case: _right(case, result)  # noqa: E731
            yield judged_call(label, answer._replace(left=[]), one, right)


def _right(case, found):
    """Return whether a result matches that of a simple reader without checks."""
    name, content, columns, separator = case
    pairs, symbols, told = found
    content = gzip.decompress(content) if name.endswith(".gz") else content
    text = content.decode("utf-8-sig")
    for place in ("\n", "\t"):
        text = text.replace(f"{place}\ufeff", place)
    lines = text.split("\n")
    lines = [line.rstrip("\r") for line in lines[: len(lines) - (not lines[-1])]]
    inferred = [line.rpartition(": ")[2] for line in told if "inferred from its text" in line]
    names = (columns or [*inferred, "source,target"][0]).split(",")
    expected, known = [], {}
    for line in lines:
        row = [cell.strip(" ") for cell in line.split("\t")] if line else [""] * len(names)
        cells = dict(zip(names, row, strict=True))
        features = cells.get("features", "").replace("|", ";").replace(";", " ").split()
        known.update(dict.fromkeys(f"<{one}>" for one in features))
        source = cells["source"] and " ".join([cells["source"], *(f"<{one}>" for one in features)])
        answers = [cells["target"]]
        if separator is not None:
            answers = [one.strip() for one in cells["target"].split(separator)]
            answers = list(dict.fromkeys(one for one in answers if one)) or [""]
        expected += [(source, one) for one in answers]
    return (pairs, symbols) == (expected, [*known])
