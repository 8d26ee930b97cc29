"""File formats by their first bytes: each is named, and text is recognized as text."""

import bz2
import gzip
import io
import lzma
import sqlite3
import tarfile
import zipfile

import numpy as np
import pytest

from keras_bahdanau.files.forms import FIRST_BYTES, FORMS, detect_form


def zipped(*names):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, "application/vnd.oasis.opendocument.spreadsheet")
    return stream.getvalue()


def tarred():
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("train.en"))
    return stream.getvalue()


def saved(save, *values):
    stream = io.BytesIO()
    save(stream, *values)
    return stream.getvalue()


def database(tmp_path):
    path = tmp_path / "pairs.db"
    connection = sqlite3.connect(path)
    connection.execute("create table pairs (source, target)")
    connection.commit()
    connection.close()
    return path.read_bytes()


TMX = b'<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">'
FILES = {
    "a gzip file": gzip.compress(b"a\tb\n"),
    "a bzip2 file": bz2.compress(b"a\tb\n"),
    "an xz file": lzma.compress(b"a\tb\n"),
    "a tar archive": tarred(),
    "a ZIP archive": zipped("train.en"),
    "an Excel or Word file": zipped("docProps/app.xml", "xl/workbook.xml"),
    "an OpenDocument file (.ods)": zipped("mimetype", "content.xml"),
    "a NumPy archive (.npz)": saved(np.savez, np.zeros(3)),
    "a NumPy file (.npy)": saved(np.save, np.zeros(3)),
    "a Parquet file": b"PAR1\x15\x04\x15",
    "a PDF file": b"%PDF-1.5\n%\xd0\xd4",
    "a Git LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\n",
    "an HTML page": b"<!DOCTYPE html>\n<html>",
    "a TMX file": TMX,
    "an XML file": b'<?xml version="1.0"?>\n<pairs>',
    "a JSON array": b'[\n {"en": "a"}]',
    "a JSON Lines file": b'{"en": "a", "de": "b"}\n',
    "a JSON file": b'{\n  "en": "a"}',
    "a PO file": b'# comment\nmsgid ""\nmsgstr ""\n',
}


@pytest.mark.parametrize("name", FILES)
def test_a_form_is_named_by_its_first_bytes(name):
    assert detect_form(FILES[name][:FIRST_BYTES]).name == name
    if detect_form(FILES[name]).is_text:
        assert detect_form(b"\xef\xbb\xbf" + FILES[name]).name == name


def test_a_database_is_named(tmp_path):
    assert detect_form(database(tmp_path)[:FIRST_BYTES]).name == "an SQLite database"


@pytest.mark.parametrize(
    "text",
    ["", "BZh is no word", "PK", "PAR1 is a name", "[1] a note", "{x} y", "<b>a", "%PDF", "Rar"],
)
def test_text_has_no_form(text):
    assert detect_form(text.encode()) is None


def test_a_remedy_is_a_sentence():
    assert {form.name for form in FORMS if not form.remedy.endswith(".")} == set()
    assert len({form.name for form in FORMS}) == len(FORMS)
