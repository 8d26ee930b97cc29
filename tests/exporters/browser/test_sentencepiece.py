"""SentencePiece in JavaScript, in Node without packages: ids and texts of the library itself."""

import base64
import json
import shutil
import subprocess
from pathlib import Path

import conformance_file
import pytest

CHECKOUT = Path(__file__).parents[3]
MODULE = CHECKOUT / "keras_bahdanau" / "exporters" / "browser" / "page" / "sentencepiece.mjs"
PROGRAM = CHECKOUT / "tests" / "support" / "conformance.mjs"

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")


def held_against(path):
    """What the program says of a conformance file."""
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
