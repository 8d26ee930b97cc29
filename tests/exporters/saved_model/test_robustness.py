"""Any bytes in, a well-formed answer out; and no half version, whenever an export is killed."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from keras_bahdanau.exporters import check, run_in_clean_process

EXPORT = """
import sys
import keras_bahdanau as kb
translator = kb.Translator.load(sys.argv[1])
print("begun", flush=True)
kb.export_saved_model(translator, sys.argv[2])
print("done", flush=True)
"""


def random_bytes(count):
    """Strings of any bytes, of characters of all planes, and of the words of the toy."""
    source = random.Random(0)
    words = [b"one", b"two", b" ", b"\x00", "▁☃".encode(), b"</s>", b"<pad>"]
    kinds = (
        lambda: source.randbytes(source.randrange(40)),
        lambda: bytes(source.choices(range(32, 127), k=source.randrange(60))),
        lambda: b"".join(source.choices(words, k=source.randrange(12))),
        lambda: "".join(chr(source.randrange(1, 0xD800)) for _ in range(8)).encode(),
    )
    return [source.choice(kinds)() for _ in range(count)]


def translations(version, batches):
    """The translations of each batch of byte strings, from one process."""
    requests = [("serving_default", {"text": np.array(rows, dtype=object)}) for rows in batches]
    return [answer["translation"].tolist() for answer in run_in_clean_process(version, requests)]


def assert_total(version, count, alone):
    texts = random_bytes(count)
    batches = [texts[first : first + 50] for first in range(0, count, 50)]
    answers = translations(version, [*batches, *([text] for text in texts[:alone])])
    together = [text for answer in answers[: len(batches)] for text in answer]
    for text in together:
        text.decode("utf-8")
    assert [text for (text,) in answers[len(batches) :]] == together[:alone]


def test_any_bytes_get_an_answer(toy_saved_model):
    assert_total(toy_saved_model, 150, alone=20)


@pytest.mark.slow
def test_ten_thousand_byte_strings_get_an_answer(toy_saved_model):
    assert_total(toy_saved_model, 10_000, alone=10_000)


@pytest.mark.slow
def test_the_release_of_the_server_gives_the_same_bits(toy_saved_model, tmp_path):
    """The newest tagged server is TensorFlow 2.20; this needs the package index."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "old"], check=True)
    old = tmp_path / "old" / "bin" / "python"
    packages = ["tensorflow==2.20.0", "tensorflow-text==2.20.0"]
    subprocess.run([old, "-m", "pip", "install", "-q", *packages], check=True)
    texts = np.array(random_bytes(200), dtype=object)
    requests = [
        (name, {"text": some})
        for name in ("translate_with_alignment", "translate_nbest")
        for some in np.split(texts, 4)  # a request may have 64 rows
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
    """Nor a process; what it leaves of its draft is gone after the next export."""
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
    """An export that has loaded its translator."""
    child = subprocess.Popen(
        [sys.executable, "-c", EXPORT, directory / "toy.keras", directory / name],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert child.stdout.readline() == "begun\n"
    return child
