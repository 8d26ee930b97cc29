"""SentencePiece in JavaScript (Node, no packages) gives the same ids and text as the library."""

import base64
import json
import shutil
import subprocess
from pathlib import Path

import conformance_file
import pytest
import sentencepiece

from keras_bahdanau.text import Subwords

CHECKOUT = Path(__file__).parents[3]
MODULE = CHECKOUT / "keras_bahdanau" / "exporters" / "browser" / "page" / "sentencepiece.mjs"
PROGRAM = CHECKOUT / "tests" / "support" / "conformance.mjs"

PLACES = """
import { readFileSync } from "node:fs";
import { SentencePiece } from %s;
const bytesOf = (text) => new Uint8Array(Buffer.from(text, "base64"));
const { model, texts } = JSON.parse(readFileSync(0, "utf8"));
const vocabulary = new SentencePiece(bytesOf(model));
const rows = texts.map((text) => vocabulary.tokens(bytesOf(text)));
console.log(JSON.stringify(rows.map((row) => row.map(({ id, begin, end }) => [id, begin, end]))));
"""

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")


def held_against(path):
    """Return the program's report on a conformance file."""
    done = subprocess.run(
        ["node", PROGRAM, MODULE, path], capture_output=True, encoding="utf-8", check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "encodings", [700, pytest.param(33_000, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_every_kind_of_vocabulary_gives_the_ids_and_texts_of_the_library(encodings, tmp_path):
    path = tmp_path / "conformance.json"
    conformance_file.write(path, encodings)
    found = held_against(path)
    assert found["wrong"] == 0, found["first"]
    assert min(found["encodings"], found["decodings"]) >= encodings


def test_a_difference_is_found(tmp_path):
    model = conformance_file.trained(["a b"] * 9, model_type="word", vocab_size=6)
    path = tmp_path / "conformance.json"
    row = {"encodings": [{"text": "a b", "ids": [4]}], "decodings": [{"ids": [4], "text": "☃"}]}
    encoded = base64.b64encode(model).decode()
    path.write_text(json.dumps({"vocabularies": [{"name": "words", "model": encoded, **row}]}))
    found = held_against(path)
    assert (found["encodings"], found["decodings"], found["wrong"]) == (1, 1, 2)


def in_base64(content):
    return base64.b64encode(content).decode()


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["char", "identity", "bytes"])
def test_a_token_stands_for_the_bytes_that_the_library_says(kind):
    if kind == "bytes":
        settings = {"model_type": "bpe", "byte_fallback": True, "hard_vocab_limit": False}
        model = conformance_file.trained(["a b ab é"] * 9, vocab_size=280, **settings)
    else:
        normalization = "identity" if kind == "identity" else "nmt_nfkc_cf"
        settings = {"exact": False, "symbols": ["V;PST"], "normalization": normalization}
        model = Subwords.train(["fin éAb 각"], 40, model_type="char", **settings).model
    texts = [
        *conformance_file.texts(150, seed=7),
        "ﬁ  ﬀ☃☃ V;PST각 é ",
        "▁",
        "a ▁▁",
        b"\xc3a\xe2\x96",
    ]
    contents = [one if isinstance(one, bytes) else one.encode() for one in texts]
    library = sentencepiece.SentencePieceProcessor(model_proto=model)
    rows = [library.encode(one, out_type="proto").pieces for one in contents]
    given = {"model": in_base64(model), "texts": [*map(in_base64, contents)]}
    done = subprocess.run(
        ["node", "--input-type=module", "-e", PLACES % json.dumps(MODULE.as_uri())],
        input=json.dumps(given),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert json.loads(done.stdout) == [[[p.id, p.begin, p.end] for p in row] for row in rows]
