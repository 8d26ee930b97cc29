"""What the command `export` compares on."""

from pathlib import Path

import pytest

from keras_bahdanau.cli import exporting


@pytest.mark.parametrize(
    "inputs, files",
    [("lines", ("lines", "texts")), ("lines", ("pairs.tsv", None)), ("files", ("pairs.tsv", None))],
)
def test_inputs_and_their_texts_are_taken_apart(inputs, files, tmp_path):
    for name, content in {
        "lines": "a\nc\n",
        "texts": "b\nd\n",
        "pairs.tsv": "a\tb\nc\td\n",
    }.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "a").touch()
    (tmp_path / "c").touch()
    sources, texts = exporting._compared_on(inputs, *(name and tmp_path / name for name in files))
    assert [Path(one).name for one in sources] == ["a", "c"]
    assert texts == ["b", "d"]
