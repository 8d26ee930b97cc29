"""Detect file formats and text encodings from bytes, and say how to convert each of them."""

import codecs
import re
from typing import NamedTuple

FIRST_BYTES = 1024  # enough to detect the format of a file


class Form(NamedTuple):
    """A file format.

    Attributes:
        name: String, with an article ("a ZIP archive") except for media formats ("WebP").
        pattern: Bytes, a regular expression that matches the first bytes of the file.
        remedy: String, a sentence that tells the user what to do; "" if there is no advice.
        is_text: Bool. True if the pattern is plain text, which could also begin a corpus file.
        kind: `media_forms.IMAGE` or `media_forms.SOUND`; None for all other formats.
    """

    name: str
    pattern: bytes = b""
    remedy: str = ""
    is_text: bool = False
    kind: str | None = None


_ZIP = rb"PK\x03\x04.{26}"  # the name of the first file follows
_OFFICE = rb"(\[Content_Types\]\.xml|xl/|_rels/|docProps/)"
_SAVE_AS = "Save it as UTF-8 text with columns separated by tabs."
_BY_COMMANDS = "Name it *.{} for `train`, `evaluate` or `prepare`; other commands need text."
_BY_PANDAS = "Read it with pandas.read_{}, and write its columns separated by tabs."

FORMS = (  # formats that the readers of this package do not expect
    Form("a gzip file", rb"\x1f\x8b", "Unpack it: gunzip -k FILE."),
    Form("a bzip2 file", rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", "Unpack it: bunzip2 -k FILE."),
    Form("an xz file", rb"\xfd7zXZ\0", "Unpack it: unxz -k FILE."),
    Form("a Zstandard file", rb"\x28\xb5\x2f\xfd", "Unpack it: unzstd FILE."),
    Form("an LZ4 file", rb"\x04\x22\x4d\x18", "Unpack it: unlz4 FILE."),
    Form("a compress file (.Z)", rb"\x1f\x9d", "Unpack it: uncompress FILE."),
    Form("a 7-Zip archive", rb"7z\xbc\xaf\x27\x1c", "Unpack it: 7z x FILE."),
    Form("a RAR archive", rb"Rar!\x1a\x07", "Unpack it: unrar x FILE."),
    Form("a tar archive", rb".{257}ustar", "Unpack it: tar -xf FILE."),
    Form("an Excel or Word file", _ZIP + _OFFICE, _SAVE_AS),
    Form("an OpenDocument file (.ods)", _ZIP + rb"mimetype.{0,40}application/vnd\.oasis", _SAVE_AS),
    Form("a NumPy archive (.npz)", _ZIP + rb"[^\0]*\.npy", "Write its strings, one per line."),
    Form("a ZIP archive", rb"PK(\x03\x04|\x05\x06)", "Unpack it: unzip FILE."),
    Form("an old Excel file (.xls)", rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _SAVE_AS),
    Form("a NumPy file (.npy)", rb"\x93NUMPY", "Write its strings, one per line."),
    Form("a Parquet file", rb"PAR1[\0-\x1f]", _BY_PANDAS.format("parquet")),
    Form("an Arrow file", rb"ARROW1\0|FEA1[\0-\x1f]|\xff{4}..\0\0", _BY_PANDAS.format("feather")),
    Form("an HDF5 file", rb"\x89HDF\r\n", _BY_PANDAS.format("hdf")),
    Form("an Avro file", rb"Obj\x01", "Write its columns separated by tabs."),
    Form("an SQLite database", rb"SQLite format 3\0", _BY_PANDAS.format("sql")),
    Form("a pickle", rb"\x80[\x02-\x05](\x95|[}\](cN])", _BY_PANDAS.format("pickle")),
    Form("a PDF file", rb"%PDF-[0-9]", "Copy its text: pdftotext FILE."),
    Form("an RTF file", rb"\{\\rtf1", "Save it as UTF-8 text.", True),
    Form("a SentencePiece model", rb"\n\x0e\n\x05<unk>", "Use the text that it was trained on."),
    Form(
        "a Git LFS pointer",
        rb"version https://git-lfs\.github\.com/spec/",
        "Download the actual file: git lfs pull.",
    ),
    Form(
        "an HTML page",
        rb"(?i)\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?<(!doctype html|html|head)\b",
        "It may be a failed download: look at it, and download the actual file.",
        True,
    ),
    Form("a TMX file", rb"\s*<(\?xml.{0,600}?<)?tmx\b", _BY_COMMANDS.format("tmx"), True),
    Form(
        "an XLIFF file",
        rb"\s*<(\?xml.{0,600}?<)?xliff\b",
        "Convert it to TMX: xliff2po, then po2tmx.",
        True,
    ),
    Form("an XML file", rb"\s*<(\?xml\s|srcset|refset|tstset|mteval)", "Convert it to TMX.", True),
    Form("a PO file", rb'(#.*\n)*msgid ""\nmsgstr ""', "Convert it to TMX: po2tmx.", True),
    Form(
        "a JSON array",
        rb'\s*\[\s*[\[{"]',
        "Write one object per line: jq -c '.[]' FILE > FILE.jsonl.",
        True,
    ),
    Form("a JSON Lines file", rb'\s*\{ ?"', _BY_COMMANDS.format("jsonl"), True),
    Form("a JSON file", rb'\s*\{\s+"', "Write one object per line to a .jsonl file.", True),
)
# Frequent characters of each language: decoding with a wrong encoding rarely produces them.
_HAN, _KANA = (
    "的一是不了在人有我他大上和到以就出也你那得下自之年",
    "ぁ-んァ-ヶー、。日本人年大国会学生東京",
)
_CYRILLIC, _WEST = "оеаинтсрвлк", "[À-ÿ’]"
_RUN = "(?<=[^\0-\x7f])[{0}]|[{0}](?=[^\0-\x7f])"  # next to another non-ASCII character
_ENCODINGS = (
    ("SHIFT_JIS", "cp932", _RUN.format(_KANA)),
    ("EUC-JP", "euc_jp", _RUN.format(_KANA)),
    ("GB18030", "gb18030", _RUN.format(f"{_HAN}这个们中来为国地说时要会可对生能而子，。")),
    ("BIG5", "big5hkscs", _RUN.format(f"{_HAN}這個們中來為國地說時要會可對生能而子，。")),
    ("EUC-KR", "cp949", _RUN.format("이다는의에을를가은고하지한도로사기서나그시어요")),
    ("CP1250", "cp1250", "[łąęśżźćěščřžůőű]"),
    ("CP1251", "cp1251", _RUN.format(_CYRILLIC)),
    ("KOI8-R", "koi8_r", _RUN.format(_CYRILLIC)),
    ("CP1253", "cp1253", _RUN.format("αοιετσνηρπκ")),
    ("CP1256", "cp1256", _RUN.format("اليمنورتبة")),
    ("CP1252", "cp1252", f"(?<=[A-Za-z]){_WEST}|{_WEST}(?=[A-Za-z])|[¿¡«»“”]"),
)
_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_LIKELY = 0.1  # minimum fraction of frequent characters among the non-ASCII ones


def detect_form(head: bytes):
    """Return the `Form` that a file's first `FIRST_BYTES` bytes match, or None."""
    return first_match(FORMS, head.removeprefix(codecs.BOM_UTF8))


def first_match(forms, head):
    """Return the first form whose pattern matches the beginning of a file, or None."""
    return next((form for form in forms if re.match(form.pattern, head, re.DOTALL)), None)


def guess_encoding(data: bytes) -> str:
    """Guess the encoding of non-UTF-8 text. Returns its iconv name, or "" if unknown."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name
    ends = data.count(b"\n")
    for name in ("UTF-32LE", "UTF-32BE", "UTF-16LE", "UTF-16BE"):
        if ends and data.decode(name, "replace").count("\n") > 0.8 * ends:
            return name
    if b"\0" in data or _mostly_utf8(data):
        return ""
    shares = {name: _frequent(data, codec, pattern) for name, codec, pattern in _ENCODINGS}
    name = max(shares, key=shares.get)
    if name == "CP1252" and not re.search(rb"[\x80-\x9f]", data):
        name, shares = "ISO-8859-1", {"ISO-8859-1": shares[name]}
    return name if shares[name] > _LIKELY else ""


def _mostly_utf8(data):
    """Return True for UTF-8 text with a few invalid bytes."""
    text = data.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    return sum(character > "\x7f" for character in text) > 2 * wrong


def _frequent(data, codec, pattern):
    """Return the fraction of frequent characters among non-ASCII ones; 0 if decoding fails."""
    try:  # incrementally: the data may end within a character
        text = codecs.getincrementaldecoder(codec)().decode(data)
    except UnicodeDecodeError:
        return 0.0
    frequent = sum(map(len, re.findall(pattern, text)))
    return frequent / max(1, sum(character > "\x7f" for character in text))
