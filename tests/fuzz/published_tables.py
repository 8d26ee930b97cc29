"""Tables, memories and lists of other programs and data sets are read correctly or reported."""

import bz2
import csv
import gzip
import importlib.util
import io
import itertools
import json
import lzma
import pickle
import re
import sqlite3
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from fuzz.attack import attack
from fuzz.outcomes import Case, Outcome, judged, judged_call
from fuzz.targets import asked

PAIRS = [
    ('He said "I see", twice.', 'Il dit "je vois".'),
    ("the tree, big", "l'arbre"),
    ("é 🌳", "日本"),
]
PLAIN = [("I see the cat", "je vois le chat"), ("I see the dog", "je vois le chien"), ("go", "va")]
FORMS = [("walk", "V;PST", "walked"), ("go", "V;PRS;3;SG", "goes"), ("cat", "N;PL", "cats")]
SOUNDS = [("read", "R EH1 D"), ("read", "R IY1 D"), ("go", "G OW1")]


class File(NamedTuple):
    """A file and the expected result of reading it.

    Attributes:
        name: String. The file name, whose extension matters.
        content: Bytes.
        pairs: List of the pairs that must be read, or None for an error or any pairs with a report.
        line: String. A regular expression that the error or a report must match.
    """

    name: str
    content: bytes
    pairs: list | None
    line: str = ""


@attack(9, "tables, memories and lists as other programs write them", full=500, few=200)
def published_files(world, count):
    """Each file is read correctly, or one line reports what is wrong and suggests a remedy."""
    cases = [*itertools.islice(published(), count)]
    with world.scratch() as directory:
        (directory / "cases").write_bytes(pickle.dumps([(*case,) for _, case in cases]))
        target = ("fuzz.published_tables:read_files", "cases", "answers")
        answer = world.light.call(*target, directory=directory, seconds=200)
        path = directory / "answers"
        results = pickle.loads(path.read_bytes()) if path.exists() else [None] * len(cases)
    for (label, case), result in zip(cases, results, strict=True):
        if result is None:
            yield judged(label, answer, lambda _: False)
        elif result[0] == "ValueError" and (case.pairs or not re.search(case.line, result[1])):
            yield Case(label, Outcome.SILENT, detail=result[1])
        else:
            right = lambda found, case=case: is_right(case, *found)  # noqa: E731
            yield judged_call(label, answer._replace(left=[]), result, right)


def is_right(case, pairs, reports):
    """Return whether the pairs are as expected, and a report matches the case's line, if any."""
    reported = any(re.search(case.line, line) for line in reports)
    return pairs == case.pairs if not case.line else reported and case.pairs in (None, pairs)


def read_files(cases, answers):
    """Call `read_examples` on many files, as training and evaluation do; write the results."""
    from keras_bahdanau.cli.inputs import read_examples

    def read(name, content, *_):
        path, reports = Path(name), []
        path.write_bytes(content)
        return read_examples("lines", path, say=reports.append).pairs, reports

    results = [asked(read, *case) for case in pickle.loads(Path(cases).read_bytes())]
    Path(answers).write_bytes(pickle.dumps(results))


def published():
    """Yield (label, `File`) for each form."""
    for makers in (
        tables,
        encodings,
        lexicons,
        inflections,
        memories,
        records,
        packed,
        pandas_tables,
    ):
        for label, *case in makers():
            yield f"{makers.__name__}: {label}", File(*case)


def joined(rows, separator="\t", end="\n"):
    return "".join(separator.join(row) + end for row in rows).encode()


def tables():
    """Yield tables as the module `csv` and spreadsheets write them."""
    quoted = "cells of .* are quoted as in CSV"
    for delimiter, quoting, end in itertools.product(
        "\t,;", (csv.QUOTE_MINIMAL, csv.QUOTE_ALL), ("\n", "\r\n")
    ):
        stream = io.StringIO(newline="")
        csv.writer(stream, delimiter=delimiter, quoting=quoting, lineterminator=end).writerows(
            PAIRS
        )
        line = quoted if delimiter == "\t" else "separated by (commas|semicolons)"
        label = f"csv {delimiter!r}, quoting {quoting}, {end!r}"
        yield label, "p.tsv", stream.getvalue().encode(), None, line
    yield "LibreOffice, text in quotation marks", "p.csv", b'"a b","c d"\n"e","f"\n', None, "commas"
    yield "LibreOffice, tabs and marks", "p.tsv", b'"a b"\t"c d"\n"e"\t"f"\n', None, quoted
    yield "Excel, Unicode text", "p.txt", joined(PLAIN).decode().encode("utf-16"), None, "UTF-16"
    yield "Excel, commas in marks", "p.txt", b'"a, b"\tc\r\nd\te\r\n', None, quoted
    yield "Excel, CSV UTF-8", "p.csv", b"\xef\xbb\xbfa;b\r\nc;d\r\n", None, "semicolons"
    yield (
        "Excel, formula and line in a cell",
        "p.tsv",
        b'"a\nb"\tc\nd\te\n',
        None,
        "CSV is not supported",
    )
    for header in ("en\tfr", "English\tFrench", "source\ttarget", "sentence\ttranslation"):
        yield (
            header,
            "p.tsv",
            header.encode() + b"\n" + joined(PLAIN),
            None,
            "line 1 of .* is read as a pair",
        )
    for header, row in (("id\ten\tfr", "0\ta\tb"), ("\ten\tfr", "0\ta\tb")):
        yield header, "p.tsv", f"{header}\n{row}\n".encode(), None, "no header"
    index = [(str(number), *pair) for number, pair in enumerate(PLAIN)]
    yield "index", "p.tsv", joined(index), PLAIN, "count,source,target"
    yield "trailing tab", "p.tsv", joined(PLAIN, end="\t\n"), PLAIN, "source,target,-"
    yield "ragged", "p.tsv", b"a\tb\nc\td\te\n", None, "line 2 has 3"
    yield "empty lines at the end", "p.tsv", joined(PLAIN) + b"\n\n", [*PLAIN, ("", ""), ("", "")]
    tatoeba = [("1276", PLAIN[0][0], "77", PLAIN[0][1]), ("1277", *PLAIN[1][:1], "78", PLAIN[1][1])]
    yield (
        "Tatoeba, pairs with numbers",
        "p.tsv",
        joined(tatoeba),
        PLAIN[:2],
        "count,source,count,tar",
    )
    yield "Tatoeba, sentences", "p.csv", b"1\teng\tGo.\n2\tfra\tVa.\n", None, "count,source,target"
    anki = [(*pair, "CC-BY 2.0 (France) #1") for pair in PLAIN]
    yield "Anki", "fra.txt", joined(anki), None, "'source,target,-' ignores the third"
    yield "Moses and fast_align", "p.txt", joined(PLAIN, " ||| "), None, r"separated by ' \|\|\| '"
    yield "LJSpeech", "metadata.csv", joined([(*pair, "x") for pair in PLAIN], "|"), None, "by '|'"
    voice = (
        "client_id\tpath\tsentence_id\tsentence\tup_votes\tdown_votes\n" + "a\tb.mp3\tc\td\t2\t0\n"
    )
    yield "Common Voice", "validated.tsv", voice.encode(), None, "must have 2 columns"
    yield "letters of a tab", "p.tsv", joined(PLAIN, "\\t"), None, "the letters"


def encodings():
    """Yield texts with other encodings, byte order marks and line ends."""
    texts = {
        "I'm 40 \x93years\x94 old, déjà": ("latin-1",),
        "L’été déjà passé": ("cp1252",),
        "これは私の本です": ("cp932", "euc_jp"),
        "我今天去了學校": ("big5",),
        "我今天去了学校": ("gb18030",),
        "나는 오늘 학교에 갔다": ("euc_kr",),
        "Кошка спит": ("cp1251", "koi8_r"),
        "one and two": ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"),
    }
    for text, codecs in texts.items():
        for codec in codecs:
            yield codec, "p.tsv", f"{text}\tx\ny\tz\n".encode(codec), None, "iconv -f"
    mark = b"\xef\xbb\xbf"
    yield "mark", "p.tsv", mark + joined(PLAIN), PLAIN
    yield "joined files", "p.tsv", mark + joined(PLAIN) + mark + joined(PLAIN), PLAIN * 2
    marked = joined([(f"\ufeff{source}", f"\ufeff{target}") for source, target in PLAIN])
    yield "pasted files", "p.tsv", marked, PLAIN
    yield "CR alone", "p.tsv", joined(PLAIN, end="\r"), None, r"tr '\\r' '\\n'"
    yield "mixed ends", "p.tsv", joined(PLAIN, end="\r\n") + joined(PLAIN), PLAIN * 2
    yield "CR inside", "p.tsv", b"a\rb\tc\nd\te\n", [("a\rb", "c"), ("d", "e")], "carriage returns"
    yield "NUL", "p.tsv", b"a\0b\tc\n", None, "byte 0x00"
    for sign in "\x85\u2028\u2029\x0b\x0c":
        pairs = [(f"a{sign}b", "c"), ("d", "e")]
        yield repr(sign), "p.tsv", joined(pairs), pairs


def lexicons():
    """Yield pronouncing dictionaries."""
    numbered = [("read", SOUNDS[0][1]), ("read(2)", SOUNDS[1][1]), SOUNDS[2]]
    first = [("read", SOUNDS[0][1]), ("read(1)", SOUNDS[1][1]), SOUNDS[2]]
    bare = [(word, re.sub("[0-9]", "", sounds)) for word, sounds in SOUNDS]
    told = "further answers for the same"
    upper = joined(first, "  ").upper()
    shouted = [(word.upper(), sounds) for word, sounds in SOUNDS]
    yield "CMUdict 0.7b", "cmudict-0.7b", b";;; # comment\n" + upper, shouted, told
    yield "cmudict.dict", "cmudict.dict", joined(numbered, " ", " # old\n"), SOUNDS, told
    stressless = re.sub(rb"(?<=[A-Z])[0-9]", b"", joined(numbered, " "))
    yield "cmudict-en-us.dict", "cmudict-en-us.dict", stressless, bare, told
    tabbed = re.sub(rb"(?<=[A-Z])[0-9]", b"", joined(numbered))
    yield "SPHINX_40", "cmudict_SPHINX_40", tabbed, bare, told
    yield (
        "CMUdict in latin-1",
        "cmudict-0.7b",
        upper + "DÉJÀ  D EY2\n".encode("latin-1"),
        None,
        "iconv",
    )
    yield "MFA", "english.dict", joined(SOUNDS), SOUNDS
    chances = [(word, "0.99", "0.1", "1.0", "1.2", sounds) for word, sounds in SOUNDS]
    yield "MFA with probabilities", "english.dict", joined(chances), SOUNDS, "count,count,target"
    wikipron = [("chat", "ʃ a"), ("chien", "ʃ j ɛ̃")]
    yield "WikiPron", "fra.tsv", joined(wikipron), wikipron
    yield "ipa-dict", "en.txt", b"cat\t/k\xc3\xa6t/, /kat/\n", [("cat", "/kæt/, /kat/")]


def inflections():
    """Yield tables in the formats of UniMorph and SIGMORPHON's shared tasks."""
    read = [(f"{lemma} {tokens(features)}", form) for lemma, features, form in FORMS]
    by_column = {
        "UniMorph, 2017 to 2022": (0, 2, 1),
        "2023": (0, 1, 2),
        "features first": (1, 0, 2),
    }
    for label, order in by_column.items():
        rows = [[row[place] for place in order] for row in FORMS]
        yield label, "eng.trn", joined(rows), read, "inferred from its text"
    named = [("walk", "pos=V,tense=PST", "walked"), ("cat", "pos=N,num=PL", "cats")]
    read = [(f"{lemma} {tokens(cell.replace(',', ';'))}", form) for lemma, cell, form in named]
    yield "2016, task 1", "english-task1-train", joined(named), read, "source,features,target"
    four = [("pos=V,tense=PST", "walked", "pos=V,tense=PRS", "walks")]
    yield "2016, task 2", "english-task2-train", joined(four), None, "name all columns"
    covered = [row[:2] for row in FORMS]
    yield "2023, covered", "eng.covered.tst", joined(covered), None, "look like features"
    single = [("Haus", "PL", "Häuser"), ("Hand", "SG", "Hand")]
    yield "single features", "deu.trn", joined(single), None, "'source,features,target' reads"
    header = joined([("lemma", "features", "form"), *FORMS])
    yield "yoyodyne with a header", "train.tsv", header, None, "no header"
    morphs = [("walked", "walk @@ed", "100"), ("cats", "cat @@s", "110")]
    yield (
        "2022, segmentation",
        "eng.word.train.tsv",
        joined(morphs),
        [row[:2] for row in morphs],
        "count",
    )


def tokens(features):
    return " ".join(f"<{feature}>" for feature in features.split(";"))


def memory(*units, header='srclang="en"', start='<?xml version="1.0" encoding="UTF-8"?>'):
    body = "".join(f"<tu>{unit}</tu>\n" for unit in units)
    return f'{start}\n<tmx version="1.4"><header {header}/><body>\n{body}</body></tmx>\n'


def memories():
    """Yield translation memories as different tools write them."""
    unit = '<tuv {0}="{1}"><seg>{2}</seg></tuv><tuv {0}="{3}"><seg>{4}</seg></tuv>'
    en_fr = ("xml:lang", "en", PLAIN[0][0], "fr", PLAIN[0][1])
    fr_en = ("xml:lang", "fr", PLAIN[0][1], "en", PLAIN[0][0])
    right, told = PLAIN[:1], "en -> fr"
    yield "OPUS", "m.tmx", memory(unit.format(*en_fr)).encode(), right, told
    yield "French first", "m.tmx", memory(unit.format(*fr_en)).encode(), right, told
    omegat = ("lang", "EN-US", PLAIN[0][0], "FR", PLAIN[0][1])
    start = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx11.dtd">'
    text = memory(unit.format(*omegat), header='srclang="EN-US"', start=start)
    yield "OmegaT, level 1", "project.tmx", text.encode(), right, told
    start = '<?xml version="1.0" encoding="utf-16"?>\n<!-- Trados -->'
    trados = ("xml:lang", "FR-FR", PLAIN[0][1], "EN-GB", PLAIN[0][0])
    text = memory(unit.format(*trados), header='srclang="en-GB"', start=start)
    yield "Trados, UTF-16", "m.tmx", text.encode("utf-16"), right, told
    marks = (
        '<bpt i="1" x="1">&lt;b&gt;</bpt>je vois<ept i="1">&lt;/b&gt;</ept> <hi>le</hi> chat<ph/>'
    )
    memoq = ("xml:lang", "en", "I see<ph>{1}</ph>the<it pos='begin'>x</it> cat", "fr", marks)
    yield "memoQ, marks", "m.tmx", memory(unit.format(*memoq)).encode(), right, told
    any_source = memory(unit.format(*fr_en), header='srclang="*all*"')
    own_source = any_source.replace("<tu>", '<tu srclang="en">').encode()
    yield "*all*, and srclang of units", "m.tmx", own_source, right, told
    reverse = [(target, source) for source, target in right]
    yield "*all*", "m.tmx", any_source.encode(), reverse, "fr -> en"
    three = unit.format(*en_fr) + '<tuv xml:lang="de"><seg>x</seg></tuv>'
    yield "three languages", "m.tmx", memory(three).encode(), None, "--columns"
    yield "gzip", "m.tmx.gz", gzip.compress(memory(unit.format(*en_fr)).encode()), right, told
    yield "named .xml", "m.xml", memory(unit.format(*en_fr)).encode(), None, "named .tmx"
    start = '<?xml version="1.0"?><!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    text = memory(unit.format("xml:lang", "en", "&a;", "fr", "x"), start=start)
    yield "an entity of a file", "m.tmx", text.encode(), None, "entity"
    start = '<?xml version="1.0" encoding="shift_jis"?>'
    text = memory(unit.format("xml:lang", "en", "cat", "ja", "猫"), start=start)
    yield "Shift_JIS", "m.tmx", text.encode("shift_jis"), None, "encoding is not supported"
    xliff = (
        '<?xml version="1.0"?>\n<xliff version="1.2"><file source-language="en">\n</file></xliff>'
    )
    yield "XLIFF", "m.xlf", xliff.encode(), None, "an XLIFF file"
    yield "PO", "fr.po", b'msgid ""\nmsgstr ""\n\nmsgid "a"\nmsgstr "b"\n', None, "a PO file"


def records():
    """Yield JSON as Hugging Face and other libraries write it."""
    lines = [{"source": source, "target": target} for source, target in PAIRS]
    ours = "".join(f"{json.dumps(row)}\n" for row in lines).encode()
    theirs = "".join(
        json.dumps({"id": str(number), "translation": {"en": source, "fr": target}}) + "\n"
        for number, (source, target) in enumerate(PAIRS)
    ).encode()
    yield "JSON lines", "p.jsonl", ours, PAIRS
    yield "JSON lines, gzip", "p.jsonl.gz", gzip.compress(ours), PAIRS
    yield "Hugging Face", "p.jsonl", theirs, None, "translation.en, translation.fr"
    yield "JSON lines named .json", "p.json", ours, None, "Name it *.jsonl"
    yield "JSON lines named .tsv", "p.tsv", ours, None, "Name it *.jsonl"
    yield "array", "p.json", json.dumps(lines).encode(), None, "jq -c"
    yield "indented", "p.json", json.dumps({"data": lines}, indent=1).encode(), None, "a JSON file"
    yield (
        "page of an error",
        "p.tsv",
        b"<!DOCTYPE html>\n<html>\n<head>\n<title>404",
        None,
        "an HTML",
    )
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n"
    yield "pointer of Git LFS", "p.tsv", pointer, None, "git lfs pull"


def packed():
    """Yield files that aren't text, with the extension of a table and with their usual one."""
    text = joined(PLAIN)
    yield "gzip", "p.tsv.gz", gzip.compress(text), PLAIN
    yield "gzip without its name", "p.tsv", gzip.compress(text), PLAIN
    yield "gzip twice", "p.tsv.gz", gzip.compress(gzip.compress(text)), None, "gunzip"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("p.tsv", text)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "pairs.db")
        connection = sqlite3.connect(path)
        connection.execute("create table pairs (source, target)")
        connection.commit()
        connection.close()
        database = path.read_bytes()
    contents = {
        "bz2": (bz2.compress(text), "bunzip2"),
        "xz": (lzma.compress(text), "unxz"),
        "zst": (b"\x28\xb5\x2f\xfd" + text, "unzstd"),
        "zip": (stream.getvalue(), "unzip"),
        "db": (database, "an SQLite database"),
        "pdf": (b"%PDF-1.5\n%\xe2\xe3", "pdftotext"),
        "pkl": (pickle.dumps(PLAIN), "a pickle"),
        "parquet": (b"PAR1\x15\x04\x15\x10", "read_parquet"),
    }
    for ending, (content, line) in contents.items():
        for name in ("p.tsv", f"p.{ending}", f"p.tsv.{ending}", "p.tsv.gz"):
            yield f"{ending} as {name}", name, content, None, line


def pandas_tables():
    """Yield files that pandas writes, if it is installed."""
    if importlib.util.find_spec("pandas") is None:
        return
    import pandas

    frame = pandas.DataFrame(PAIRS, columns=["en", "fr"])
    plain = pandas.DataFrame(PLAIN, columns=["en", "fr"])
    quoted, header = "are quoted as in CSV", "line 1 of .* is read as a pair|no header"
    bare = {"header": False, "index": False}
    yield "to_csv", "p.csv", frame.to_csv().encode(), None, "commas"
    yield "to_csv, tabs", "p.tsv", frame.to_csv(sep="\t", **bare).encode(), None, quoted
    yield "to_csv, plain", "p.tsv", plain.to_csv(sep="\t", **bare).encode(), PLAIN
    text = plain.to_csv(sep="\t", index=False)
    yield "to_csv, a header", "p.tsv", text.encode(), None, header
    yield "to_csv, index and header", "p.tsv", plain.to_csv(sep="\t").encode(), None, header
    text = plain.to_csv(sep="\t", header=False)
    yield "to_csv, index", "p.tsv", text.encode(), PLAIN, "count,source,target"
    text = frame.to_csv(sep="\t", quoting=csv.QUOTE_NONE, quotechar="\0", **bare)
    yield "to_csv, no quotation", "p.tsv", text.encode(), PAIRS
    renamed = frame.rename(columns={"en": "source", "fr": "target"})
    text = renamed.to_json(orient="records", lines=True, force_ascii=False)
    yield "to_json, lines", "p.jsonl", text.encode(), PAIRS
    yield "to_json", "p.json", frame.to_json().encode(), None, "JSON"
    yield "to_json, records", "p.json", frame.to_json(orient="records").encode(), None, "jq -c"
    yield "to_html", "p.html", frame.to_html().encode(), None, "must have 2 columns|HTML"
    for kind in ("parquet", "feather", "excel", "pickle"):
        stream = io.BytesIO()
        try:
            getattr(frame, f"to_{kind}")(stream)
        except ImportError:  # the package for this format is missing
            continue
        yield f"to_{kind}", "p.tsv", stream.getvalue(), None, "a Parquet|an Arrow|an Excel|a pickle"
