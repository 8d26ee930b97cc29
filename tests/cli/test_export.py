"""The inputs that the command `export` compares an artefact on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keras_bahdanau.cli.commands import export
from keras_bahdanau.cli.model_file import ModelFile

DRAFT = """
import os, signal, sys, time
from pathlib import Path
from keras_bahdanau.cli.console import ends_well, interrupted_by_sigterm
from keras_bahdanau.exporters.publishing import unfinished

@ends_well()
def export():
    with interrupted_by_sigterm(), unfinished(Path("new/out.tflite")) as draft:
        (draft / "out.tflite").write_bytes(b"half")
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)

try:
    export()
except SystemExit as ended:
    sys.exit(ended.code)
"""


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
    sources, texts = export._comparison_inputs(
        ModelFile(Path("model.keras"), {"inputs": inputs}),
        *(name and tmp_path / name for name in files),
    )
    assert [Path(one).name for one in sources] == ["a", "c"]
    assert texts == ["b", "d"]


def test_a_draft_is_removed_at_sigterm(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    answer = subprocess.run(
        [sys.executable, "-c", DRAFT], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (answer.returncode, answer.stderr) == (130, "keras-bahdanau: interrupted.\n")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
def test_an_export_that_is_stopped_leaves_nothing(toy_translator, tmp_path):
    toy_translator.save(tmp_path / "toy.keras")
    asked = "export --model toy.keras --format litert --out new/toy.tflite".split()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = [sys.executable, "-m", "keras_bahdanau.cli", *asked]
    with subprocess.Popen(program, cwd=tmp_path, env=environment) as export:
        while not [*tmp_path.glob("new/.unfinished-*")] and export.poll() is None:
            time.sleep(0.05)
        export.send_signal(signal.SIGTERM)
    assert export.returncode == 130
    assert [path.name for path in tmp_path.iterdir()] == ["toy.keras"]
