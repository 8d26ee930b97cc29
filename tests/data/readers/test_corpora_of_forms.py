"""Parallel text in every format: same pairs, whether read whole or in blocks; one-line errors."""

import bz2
import encodings.aliases
import gzip
import json
import time
from xml.sax.saxutils import escape

import pytest

from keras_bahdanau.data.readers import line_corpora, open_corpus, text_corpus
from keras_bahdanau.data.readers import tmx as tmx_module

PAIRS = [("one & <two>", "eins & <zwei>"), ("", "leer"), ("tree 🌳", "Baum 🌳"), ("é", "日本")] * 3
TMX = """<?xml version="1.0" encoding="{encoding}"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>{body}</body></tmx>"""


def tmx(units, encoding="utf-8"):
    body = "".join(
        "<tu>" + "".join(f'<tuv xml:lang="{k}"><seg>{v}</seg></tuv>' for k, v in unit) + "</tu>\n"
        for unit in units
    )
    return TMX.format(encoding=encoding, body=body).encode(encoding)


FORMS = {
    "p.tsv": "".join(f"{s}\t{t}\n" for s, t in PAIRS).encode(),
    "crlf.txt": "\ufeff".encode() + "\r\n".join(f"{s}\t{t}" for s, t in PAIRS).encode(),
    "p.tsv.gz": gzip.compress("".join(f"{s}\t{t}\n" for s, t in PAIRS).encode()),
    "p.jsonl": "".join(json.dumps({"target": t, "source": s}) + "\n" for s, t in PAIRS).encode(),
    "p.tmx": tmx([[("en", escape(s)), ("de-AT", escape(t))] for s, t in PAIRS]),
    "p.tmx.gz": gzip.compress(
        tmx([[("EN_gb", escape(s)), ("de", escape(t))] for s, t in PAIRS], "utf-16")
    ),
}


def pairs_of(corpus, most=5):
    pairs, numbers = [], []
    for block in corpus.blocks(most):
        sources, targets = corpus.texts(block)
        assert (len(sources), block.first) == (block.pairs, len(pairs) + 1)
        pairs += zip(sources, targets, strict=True)
        numbers.append(block.number)
    assert numbers == [*range(len(numbers))]
    return pairs


def written(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def message_of(error):
    text = str(error.value)
    assert "\n" not in text and "Received: " in text
    return text


@pytest.mark.parametrize("name", FORMS)
def test_each_form_gives_the_same_pairs(tmp_path, name):
    corpus = open_corpus(written(tmp_path, name, FORMS[name]))
    assert pairs_of(corpus) == pairs_of(corpus, 100) == PAIRS


@pytest.mark.parametrize("size", [4, 33, 10**6])
def test_two_files_give_them_in_blocks_of_any_size(tmp_path, monkeypatch, size):
    monkeypatch.setattr(line_corpora, "BLOCK_BYTES", size)
    source = written(tmp_path, "s", "".join(f"{s}\n" for s, _ in PAIRS).encode())
    target = gzip.compress("\n".join(t for _, t in PAIRS).encode())
    corpus = open_corpus(source, written(tmp_path, "t.gz", target))
    assert pairs_of(corpus) == pairs_of(corpus, 1) == PAIRS


def test_long_records_make_small_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(text_corpus, "BLOCK_BYTES", 20)
    corpus = open_corpus(written(tmp_path, "p.tmx", FORMS["p.tmx"]))
    assert pairs_of(corpus, 100) == PAIRS
    assert [block.pairs for block in corpus.blocks(100)] == [1, 4, 4, 3]


def test_units_that_a_parser_holds_back_to_the_end_are_read(tmp_path, monkeypatch):
    """expat 2.6 does this after a comment that is longer than a chunk."""

    class Late(tmx_module._UnitParser):
        held: list = []

        def feed(self, chunk, is_last=False):
            self.held = self.held + super().feed(chunk, is_last)
            return self.held if is_last else []

    monkeypatch.setattr(tmx_module, "_UnitParser", Late)
    assert pairs_of(open_corpus(written(tmp_path, "p.tmx", FORMS["p.tmx"]))) == PAIRS


def test_columns_and_keys_are_named(tmp_path):
    table = written(tmp_path, "p.tsv", b"7\tx\ta\n8\t y\tb \n")
    assert pairs_of(open_corpus(table, columns="-,target,source")) == [("a", "x"), ("b", "y")]
    lines = written(tmp_path, "p.jsonl", b'{"t": {"en": "a\\nb", "de": "\\ud800x"}, "id": 1}\n')
    assert pairs_of(open_corpus(lines, sides="t.en,t.de")) == [("a b", "\ufffdx")]
    units = [[("fr", "f"), ("en-US", "e"), ("de", "d")], [("de", "D")]]
    three = written(tmp_path, "p.tmx", tmx(units))
    for code in ("en", "en-us", "en_US"):
        assert pairs_of(open_corpus(three, sides=f"de,{code}")) == [("d", "e"), ("D", "")]


def test_a_header_of_a_table_is_told_and_stays_a_pair(tmp_path):
    path, told = written(tmp_path, "p.tsv", b"source\ttarget\na\tx\n"), []
    assert pairs_of(open_corpus(path, say=told.append)) == [("source", "target"), ("a", "x")]
    line = "is read as a pair: 'source\\ttarget'. If it is a header, remove it"
    assert told == [f"line 1 of {str(path)!r} {line}"]


def test_marks_of_formatting_are_no_text(tmp_path):
    seg = 'a <bpt i="1">&lt;b<sub>no</sub>&gt;</bpt><hi>b</hi><ept i="1">/b</ept>\nc<ph/>'
    path = written(tmp_path, "p.tmx", tmx([[("en", seg), ("de", "x")]]))
    assert pairs_of(open_corpus(path)) == [("a b c", "x")]


def test_a_placeholder_separates_the_words_around_it(tmp_path):
    seg = "eins<ph>&lt;br/&gt;</ph>zwei <ph/> drei<ph/>, <bpt i='1'/>f<ept i='1'/>ett 猫<ph/>犬"
    path = written(tmp_path, "p.tmx", tmx([[("en", seg), ("de", "x")]]))
    assert pairs_of(open_corpus(path)) == [("eins zwei  drei, fett 猫犬", "x")]


FRENCH_FIRST = [[("fr", "f"), ("en", "e")], [("en", "E")]]


def languages_of(path, **options):
    lines = []
    corpus = open_corpus(path, say=lines.append, **options)
    assert pairs_of(corpus) == pairs_of(corpus, 1)  # and the languages are reported only once
    return pairs_of(corpus), [line.partition("': ")[2] for line in lines]


@pytest.mark.parametrize(
    ("source", "languages"),
    [
        ('srclang="en"', "en -> fr"),
        ('srclang="EN-us"', "en -> fr"),
        ('srclang="fr"', "fr -> en"),
        ('srclang="*all*"', "fr -> en"),
        ("", "fr -> en"),
        ('srclang="ru"', "fr -> en"),
    ],
)
def test_srclang_of_the_header_is_the_source(tmp_path, source, languages):
    content = tmx(FRENCH_FIRST).replace(b'srclang="en"', source.encode())
    pairs, lines = languages_of(written(tmp_path, "p.tmx", content))
    assert lines == [languages]
    assert pairs == (
        [("e", "f"), ("E", "")] if languages == "en -> fr" else [("f", "e"), ("", "E")]
    )


def test_srclang_of_a_unit_wins(tmp_path):
    content = tmx(FRENCH_FIRST).replace(b"<tu>", b'<tu srclang="fr">')
    assert languages_of(written(tmp_path, "p.tmx", content))[1] == ["fr -> en"]


def test_languages_are_one_whatever_their_regions(tmp_path):
    units = [[("fr-FR", "f"), ("en-US", "e")], [("en-GB", "E"), ("FR_ca", "F")]]
    pairs, lines = languages_of(written(tmp_path, "p.tmx", tmx(units)))
    assert (pairs, lines) == ([("e", "f"), ("E", "F")], ["en -> fr"])
    units = [[("pt-PT", "p"), ("pt-BR", "b")]]
    content = tmx(units).replace(b'srclang="en"', b'srclang="pt-br"')
    pairs, lines = languages_of(written(tmp_path, "q.tmx", content))
    assert (pairs, lines) == ([("b", "p")], ["pt-br -> pt-pt"])


def test_units_of_one_language_may_come_first(tmp_path):
    units = [[("en", "a")], [("fr", "f")], *FRENCH_FIRST]
    pairs, _ = languages_of(written(tmp_path, "p.tmx", tmx(units)))
    assert pairs == [("a", ""), ("", "f"), ("e", "f"), ("E", "")]


def test_languages_and_keys_may_be_named_as_columns(tmp_path):
    path = written(tmp_path, "p.tmx", tmx(FRENCH_FIRST))
    assert pairs_of(open_corpus(path, columns="fr,en")) == [("f", "e"), ("", "E")]
    lines = written(tmp_path, "p.jsonl", b'{"a": "x", "b": "y"}\n')
    assert pairs_of(open_corpus(lines, columns="b,a")) == [("y", "x")]


def test_a_gzip_file_is_read_whatever_its_name(tmp_path):
    assert pairs_of(open_corpus(written(tmp_path, "p.tsv", FORMS["p.tsv.gz"]))) == PAIRS
    assert pairs_of(open_corpus(written(tmp_path, "p.tmx", FORMS["p.tmx.gz"]))) == PAIRS


def test_byte_order_marks_of_joined_files_are_no_text(tmp_path):
    mark = "\ufeff".encode()
    path = written(tmp_path, "p.tsv", mark + b"a\tb\n" + mark + b"c\t" + mark + b"d" + mark + b"\n")
    assert pairs_of(open_corpus(path), 1) == [("a", "b"), ("c", "d\ufeff")]


def test_a_unit_inside_of_a_text_ends_nothing(tmp_path):
    path = written(tmp_path, "p.tmx", tmx([[("en", "a<tu/>b"), ("de", "x")]]))
    assert pairs_of(open_corpus(path)) == [("ab", "x")]


def test_a_few_lines_that_are_not_utf8_are_no_error(tmp_path):
    path = written(tmp_path, "p.tsv", b"a\xff\tb\n\xe2\x82\tc\n" + b"d\te\n" * 18)
    assert pairs_of(open_corpus(path))[:3] == [("a\ufffd", "b"), ("\ufffd", "c"), ("d", "e")]


@pytest.mark.parametrize("encoding", ["big5", "shift_jis", "cp1251", "latin-1"])
def test_a_corpus_in_another_encoding_is_refused_before_it_is_read(tmp_path, encoding):
    letters = {"cp1251": "дом и сад", "latin-1": "Äpfel über Öl"}.get(encoding, "日本")
    lines = [f"house {number}\t{letters}\n" for number in range(3)] + ["a\tb\n"] * 20
    path = written(tmp_path, "p.tsv", "".join(lines).encode(encoding))
    with pytest.raises(ValueError, match="must be UTF-8. Received: .*p.tsv', which is not"):
        open_corpus(path)


DAMAGED = {
    "three.tsv": (b"a\tb\nc\td\te\n", "whose line 2 has 3"),
    "features.tsv": (b"walk\twalked\tV;PST\nsee\tsaw\tV;PST\n", "Give the file directly to"),
    "manifest.tsv": (b"manifest.tsv\ttext\n", "lists the file 'manifest.tsv'"),
    "half.jsonl": (b'{"source": "a", "target": "b"}\n{"source":\n', "whose line 2 has no JSON"),
    "keys.jsonl": (b'{"source": "a", "target": 7}\n', "whose line 1 has no such texts"),
    "text.jsonl": (
        b'{"id": "7", "t": {"en": "a", "de": "b"}}\n',
        "keys, id, t.en, t.de: --sides t",
    ),
    "list.jsonl": (
        b'{"source": "a", "target": "b"}\n["a", "b"]\n',
        "whose line 2 has no such texts",
    ),
    "deep.jsonl": (b'{"a":' * 100_000 + b"\n", "whose line 1 has no JSON"),
    "array.jsonl": (
        b'[{"source": "a", "target": "b"}]\n',
        "a JSON array. Write one object per line",
    ),
    "wide.tsv": ("a\tb\n".encode("utf-16-le"), "It may be UTF-16LE: convert it with iconv"),
    "packed.tsv": (bz2.compress(b"a\tb\n"), "a bzip2 file. Unpack it: bunzip2"),
    "packed.tsv.bz2": (bz2.compress(b"a\tb\n"), "a bzip2 file. Unpack it: bunzip2"),
    "page.tmx": (b"<!DOCTYPE html>\n<html>\n", "an HTML page. It may be a failed download"),
    "commas.tsv": (b"a,b\nc,d\n", "separated by commas, as in CSV"),
    "cmudict.tsv": (b"READ  R EH1 D\nREAD(1)  R IY1 D\n", "Give the file directly to `train`"),
    "shift.tmx": (tmx([[("en", "a"), ("ja", "猫")]], "shift_jis"), "encoding is not supported"),
    "cut.tmx": (FORMS["p.tmx"][:400], "is not XML"),
    "three.tmx": (
        tmx([[("en", "a"), ("de", "b"), ("fr", "c")]]),
        "with de, en, fr. Name source and target: --columns",
    ),
    "entity.tmx": (
        tmx([[("en", "&a;"), ("de", "b")]]).replace(b'"tmx14.dtd"', b'"x" [<!ENTITY a "b">]'),
        "the entity 'a'",
    ),
    "unknown.tmx": (tmx([[("en", "&nbsp;"), ("de", "b")]]), "the entity 'nbsp'"),
    "cut.tsv.gz": (FORMS["p.tsv.gz"][:-6], "must be a complete gzip file"),
    "empty.tsv": (b"", "which is empty"),
    "text.xyz": (b"a\tb\n", "Rename it"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_told_in_one_line(tmp_path, name):
    data, reason = DAMAGED[name]
    with pytest.raises(ValueError) as error:
        pairs_of(open_corpus(written(tmp_path, name, data)))
    assert reason in message_of(error) and name in message_of(error)


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        (f"<!--{'-. ' * 7_000_000}-->", "whose tag or comment in line 3 has more than 4,194,304"),
        (f'<a b="{"x" * 9_000_000}"/>', "whose tag or comment in line 3 has more than 4,194,304"),
        ("<a>" * 400_000, "with more than 1,000 nested elements"),
        (f'<tu><tuv xml:lang="{"x" * 10**6}"><seg/></tuv></tu>', "a language of 1,000,000 char"),
    ],
)
def test_markup_without_end_is_refused_at_once(tmp_path, inside, reason):
    data = TMX.format(encoding="utf-8", body=inside).encode()
    path = written(tmp_path, "p.tmx.gz", gzip.compress(data))
    begin = time.process_time()
    with pytest.raises(ValueError) as error:
        pairs_of(open_corpus(path))
    assert reason in message_of(error) and len(message_of(error)) < 400
    assert time.process_time() - begin < 2


def test_a_long_comment_and_a_long_text_are_read(tmp_path):
    comment, text = f"<!--{'-. ' * 10**6}-->", "x " * 1_500_000
    body = f'{comment}<tu><tuv lang="a"><seg>{text}</seg></tuv><tuv lang="b"><seg/></tuv></tu>'
    path = written(tmp_path, "p.tmx", TMX.format(encoding="utf-8", body=body).encode())
    assert pairs_of(open_corpus(path)) == [(text, "")]


def test_an_error_names_some_of_many_languages(tmp_path):
    path = written(tmp_path, "p.tmx", tmx([[(f"l{n:04}", "a") for n in range(5000)]]))
    with pytest.raises(ValueError, match="with l0000, .*, l0008, ...\\. Name source") as error:
        pairs_of(open_corpus(path))
    assert len(message_of(error)) < 400


def test_a_file_in_any_encoding_is_read_or_one_line(tmp_path):
    names = sorted({*encodings.aliases.aliases.values()} - {"mbcs", "oem"})
    read = []
    for name in (*names, "utf-7", "utf-16", "utf-32", "x-unknown", "idna", "punycode"):
        data = TMX.replace("{body}", "").replace("{encoding}", name).encode()
        body = tmx([[("en", "a"), ("de", "b")]]).split(b"<body>")[1]
        try:
            data = (data.split(b"</body>")[0] + body).decode().encode(name)
        except (LookupError, UnicodeError, TypeError):
            pass  # not a text encoding: write ASCII bytes
        path = written(tmp_path, "p.tmx", data)
        try:
            assert pairs_of(open_corpus(path)) == [("a", "b")]
            read.append(name)
        except ValueError as error:
            assert "Received: " in str(error) and "\n" not in str(error), name
    assert {"ascii", "latin_1", "utf_8", "utf-16"} <= {*read}


def test_parallel_files_have_as_many_lines(tmp_path):
    short, long = written(tmp_path, "s", b"a\nb\n"), written(tmp_path, "l", b"a\nb\n\n")
    for pair in ((short, long), (long, short)):
        with pytest.raises(ValueError, match="/s' with 2 lines, but .*/l' has more"):
            pairs_of(open_corpus(*pair), 1)


def test_a_line_without_an_end_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(line_corpora, "BLOCK_BYTES", 100)
    monkeypatch.setattr("keras_bahdanau.data.readers.lines.LONGEST_LINE", 1000)
    path = written(tmp_path, "p.tsv", b"a\tb\n" + b"x" * 1500)
    with pytest.raises(ValueError, match="whose line 2 has more"):
        pairs_of(open_corpus(path))


@pytest.mark.parametrize("text", ["x" * 30, ""])
def test_a_unit_without_an_end_is_bounded(tmp_path, monkeypatch, text):
    monkeypatch.setattr("keras_bahdanau.data.readers.tmx.LONGEST_LINE", 1000)
    short = [("en", "a"), ("de", "b")]
    long = [(f"x-{number}", text) for number in range(300)]
    assert len(pairs_of(open_corpus(written(tmp_path, "p.tmx", tmx([short] * 500))))) == 500
    path = written(tmp_path, "q.tmx", tmx([short, long]))
    with pytest.raises(ValueError, match="whose unit in line .* has more than 1,000 characters"):
        pairs_of(open_corpus(path, sides="en,de"))


@pytest.mark.parametrize(
    "names, options, reason",
    [
        (("a.tsv",), {"sides": "en,de"}, "`sides` is only for"),
        (("a.tsv", "b"), {"columns": "source,target"}, "`columns` is only for"),
        (("a.jsonl",), {"sides": "en"}, "two names"),
    ],
)
def test_options_go_with_forms(names, options, reason):
    with pytest.raises(ValueError) as error:
        open_corpus(*names, **options)
    assert reason in message_of(error)


def test_a_dataset_gives_its_columns(tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = [{"translation": {"en": s, "de": t}} for s, t in PAIRS]
    table = datasets.table.InMemoryTable.from_pylist(rows)
    datasets.Dataset(table, fingerprint="0").save_to_disk(tmp_path / "set")
    corpus = open_corpus(tmp_path / "set", sides="translation.en,translation.de")
    assert pairs_of(corpus) == PAIRS


def test_a_dataset_without_its_package_is_told_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(ImportError) as error:
        open_corpus(tmp_path)
    assert "pip install datasets" in message_of(error)
