"""Corpora for `prepare` with several processes: other encodings, and damaged archives."""

import bz2
import gzip
import itertools
import lzma

from fuzz.attack import anything, attack, judged, nothing, sample

WORDS = [("猫", "neko"), ("犬 と 猫", "inu to neko"), ("犬", "inu")] * 40
PLAIN = [("one two", "eins zwei"), ("three", "drei"), ("four", "vier")] * 40
READ = {"utf-8", "utf-8-sig", "utf-16"}  # encodings that the XML parser reads
ASCII = {"utf-8", "utf-8-sig", "utf-7", "hz", "iso2022_jp", "punycode", "unicode_escape"}
ENCODINGS = (
    *("shift_jis", "euc_jp", "iso2022_jp", "big5", "gb18030", "euc_kr", "cp949", "johab", "hz"),
    *("utf-7", "utf-32", "utf-32-le", "utf-16-le", "utf-16-be", "utf-16", "utf-8-sig", "utf-8"),
    *("cp037", "cp1140", "punycode", "unicode_escape"),
)
TMX = """<?xml version="1.0" encoding="{name}"?>
<tmx version="1.4"><header srclang="ja"/><body>{body}</body></tmx>"""


def memory(pairs, name="utf-8"):
    """Return the text of a TMX file that declares an encoding."""
    languages = ('<tuv xml:lang="ja"><seg>', '<tuv xml:lang="en"><seg>')
    end = "</seg></tuv>"
    units = (f"{languages[0]}{ja}{end}{languages[1]}{en}{end}" for ja, en in pairs)
    return TMX.format(name=name, body="".join(f"<tu>{unit}</tu>\n" for unit in units))


def table(pairs):
    return "".join(f"{source}\t{target}\n" for source, target in pairs)


def encoded(text, name):
    """Encode a text, replacing characters that the encoding doesn't have."""
    try:
        return text.encode(name)
    except UnicodeEncodeError:
        return text.encode(name, "replace")


def contents():
    """Yield (name of the case, name of the file, bytes, whether it may be accepted)."""
    for name in ENCODINGS:
        data = encoded(memory(WORDS, name), name)
        yield f"TMX in {name}", "a.tmx", data, name in READ
        yield f"TMX in {name}, packed", "a.tmx.gz", gzip.compress(data), name in READ
        data = encoded(memory(WORDS), name)
        yield f"TMX in {name} that says UTF-8", "a.tmx", data, name in READ | ASCII
        yield f"TSV in {name}", "a.tsv", encoded(table(WORDS), name), name in ASCII
    good = gzip.compress(memory(PLAIN).encode())
    bad = {
        "cut": good[:-9],
        "cut in the middle": good[: len(good) // 2],
        "a wrong sum": good[:-8] + bytes(8),
        "bytes behind it": good + b"more",
        "an unknown method": good[:2] + b"\x09" + good[3:],
        "a flipped byte": good[:60] + bytes([good[60] ^ 255]) + good[61:],
        "no gzip": memory(PLAIN).encode() + b"\x1f\x8b",
        "bzip2": bz2.compress(memory(PLAIN).encode()),
        "xz": lzma.compress(memory(PLAIN).encode()),
    }
    for name, data in bad.items():
        may = name in ("no gzip", "bytes behind it")
        yield f"gzip: {name}", "a.tmx.gz", data, may and name == "bytes behind it"
    inner = memory(PLAIN)
    for name, text in {
        "half of it": inner[: len(inner) // 2],
        "an entity": inner.replace("three", "&x;"),
        "a bomb of entities": inner.replace("<tmx", ENTITIES + "<tmx", 1).replace("three", "&j;"),
        "a NUL": inner.replace("three", "th\0ree"),
        "other languages": inner.replace('"ja"', '"fr"', 90),
    }.items():
        yield f"TMX: {name}", "a.tmx", text.encode(), name == "other languages"


ENTITIES = '<!DOCTYPE tmx [<!ENTITY a "lol">{}]>'.format(
    "".join(f'<!ENTITY {b} "{f"&{a};" * 20}">' for a, b in itertools.pairwise("abcdefghij"))
)


@attack(9, "prepare --workers 2: encodings, broken archives and markup", full=120)
def prepared_corpora(world, count):
    """A refusal is one line and leaves no files or processes, and no worker waits forever."""
    cases = sample(world.random("corpora"), contents(), count)
    for name, file, content, accepted in cases:
        with world.scratch() as directory:
            (directory / file).write_bytes(content)
            arguments = ["prepare", file, "--workers", "2", "--vocabulary-size", "20"]
            arguments += ["--shard-pairs", "1000", "--out", "new"]
            answer = world.heavy.call(
                *("fuzz.targets:command_without_children", *arguments), directory=directory
            )
            yield judged(name, answer, anything if accepted else nothing)
