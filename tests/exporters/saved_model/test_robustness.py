"""Any bytes get a well-formed answer, and a killed export never leaves an incomplete version."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from toy_requests import ALONE, COUNT, byte_requests, random_bytes

from keras_bahdanau.exporters import check, run_in_clean_process

EXPORT = """
import sys
import keras_bahdanau as kb
translator = kb.Translator.load(sys.argv[1])
print("begun", flush=True)
kb.export_saved_model(translator, sys.argv[2])
print("done", flush=True)
"""


def assert_total(answers, count, alone):
    """Assert well-formed answers to `byte_requests(count, alone)`, independent of the batch."""
    translations = [answer["translation"].tolist() for answer in answers]
    batches = translations[: len(translations) - alone]
    together = [text for texts in batches for text in texts]
    for text in together:
        text.decode("utf-8")
    assert len(together) == count
    assert [text for (text,) in translations[len(batches) :]] == together[:alone]


def test_any_bytes_get_an_answer(toy_answers):
    answers = [answer for name, answer in toy_answers.items() if name.startswith("bytes ")]
    assert_total(answers, COUNT, ALONE)


@pytest.mark.slow
def test_ten_thousand_byte_strings_get_an_answer(toy_saved_model):
    requests = byte_requests(10_000, alone=10_000)
    assert_total(run_in_clean_process(toy_saved_model, requests), 10_000, alone=10_000)


@pytest.mark.slow
def test_the_release_of_the_server_gives_the_same_bits(toy_saved_model, tmp_path):
    """The newest server release uses TensorFlow 2.20. This test needs the package index."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "old"], check=True)
    old = tmp_path / "old" / "bin" / "python"
    packages = ["tensorflow==2.20.0", "tensorflow-text==2.20.0"]
    subprocess.run([old, "-m", "pip", "install", "-q", *packages], check=True)
    texts = np.array(random_bytes(200), dtype=object)
    requests = [
        (name, {"text": some})
        for name in ("translate_with_alignment", "translate_nbest")
        for some in np.split(texts, 4)  # a request may have at most 64 rows
    ]
    new_answers = run_in_clean_process(toy_saved_model, requests)
    old_answers = run_in_clean_process(toy_saved_model, requests, python=old)
    for one, other in zip(new_answers, old_answers, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


@pytest.mark.slow
def test_exports_at_the_same_time_both_succeed(toy_translator, tmp_path):
    toy_translator.save(tmp_path / "toy.keras")
    with _begin(tmp_path, "model") as one, _begin(tmp_path, "model") as other:
        assert [child.stdout.readline() for child in (one, other)] == ["done\n"] * 2
    versions = sorted((tmp_path / "model").iterdir())
    assert [path.name for path in versions] == ["1", "2"]
    assert [check(path) for path in versions] == [[], []]


@pytest.mark.slow
def test_a_killed_export_leaves_no_half_version(toy_translator, tmp_path):
    """It leaves no process either, and the next export removes its unfinished draft."""
    toy_translator.save(tmp_path / "toy.keras")
    with _begin(tmp_path, "whole") as child:
        start = time.monotonic()
        assert child.stdout.readline() == "done\n"
        takes = time.monotonic() - start
    delays = np.random.default_rng(0).uniform(0, 1.1 * takes, size=20)
    for delay in delays:
        with _begin(tmp_path, "killed") as child:
            time.sleep(delay)
            child.kill()
        versions = [path for path in (tmp_path / "killed").glob("*") if path.name.isdecimal()]
        assert all(check(path) == [] for path in versions)
    time.sleep(1)
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
    assert not [command for command in commands if os.fsencode(tmp_path) in command]
    with _begin(tmp_path, "killed") as child:
        assert child.stdout.readline() == "done\n"
    assert all(path.name.isdecimal() for path in (tmp_path / "killed").iterdir())


def _begin(directory, name):
    """Start an export and wait until it has loaded its translator."""
    child = subprocess.Popen(
        [sys.executable, "-c", EXPORT, directory / "toy.keras", directory / name],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert child.stdout.readline() == "begun\n"
    return child
