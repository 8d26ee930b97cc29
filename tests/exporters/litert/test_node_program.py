"""The program for devices in Node: it does as the one in Python does."""

import random
import shutil
import subprocess
from pathlib import Path

import keras
import pytest

import keras_bahdanau as kb
from keras_bahdanau import SearchOptions, presets
from keras_bahdanau.exporters import OnDeviceTranslator
from keras_bahdanau.text import Subwords

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "export" / "on_device" / "translate.mjs"
PLAIN = ROOT / "examples" / "dates" / "models" / "dates.tflite"  # with one signature


def missing():
    """The name of a thing that the program needs and that this machine lacks, or None."""
    if shutil.which("node") is None:
        return "node"
    command = ["node", "-e", "require.resolve('@litertjs/core')"]
    found = subprocess.run(command, capture_output=True).returncode == 0
    return None if found else "@litertjs/core in node_modules or NODE_PATH"


needs_node = pytest.mark.skipif(bool(LACKING := missing()), reason=f"needs {LACKING}")


def node(*arguments, lines=()):
    done = subprocess.run(
        ["node", PROGRAM, *map(str, arguments)],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        encoding="utf-8",
    )
    return done.returncode, done.stdout.splitlines(), done.stderr


@pytest.fixture(scope="module")
def speller(tmp_path_factory):
    """A file with characters, a symbol and spaces in, words out; its weights are random."""
    keras.utils.set_random_seed(3)
    settings = {"vocabulary_size": 16, "exact": False, "normalization": "none"}
    source = Subwords.train(
        ["abc dé ☃", "V;PST a"], model_type="char", symbols=["V;PST"], **settings
    )
    target = Subwords.train(["AA B", "D EH1 K", "B"], model_type="word", **settings)
    sizes = {"units": 12, "attention_units": 8, "embedding_units": 8}
    model = presets.characters(source, target, **sizes)
    search = SearchOptions(beam_width=5, max_length=6)
    translator = kb.Translator(source, model, target, search)
    path = tmp_path_factory.mktemp("speller") / "speller.tflite"
    kb.export_litert(
        translator,
        path,
        max_source_length=20,
        max_target_length=8,
        allow_differences=True,
        signatures=("greedy", "nbest", "prefix"),
    )
    return path


@needs_node
@pytest.mark.slow
def test_a_hundred_words_get_the_answers_of_python(speller):
    draw = random.Random(5)
    words = ["".join(draw.choices("abcdé☃ xy", k=draw.randint(0, 12))) for _ in range(95)]
    words += ["V;PST a", "aV;PSTb V;PST", " a", "a  b ", "xyx"]
    python, greedy = OnDeviceTranslator(speller), OnDeviceTranslator(speller, greedy=True)
    code, lines, error = node(speller, lines=words)
    assert (code, lines) == (0, [one.text for one in python.translate(words)]), error
    _, lines, _ = node("--greedy", speller, lines=words)
    assert lines == [one.text for one in greedy.translate(words)]
    for prefix in ("", "D", "EH1 AA", "☃ B"):
        code, lines, error = node("--nbest", "5", "--prefix", prefix, speller, lines=words)
        assert code == 0, error
        found = [(int(number), text, float(score)) for number, text, score in map(parts, lines)]
        lists = enumerate(python.translate_nbest(words, 5, [prefix] * len(words)))
        expected = [(number, one.text, one.score) for number, given in lists for one in given]
        assert [one[:2] for one in found] == [one[:2] for one in expected]
        assert [one[2] for one in found] == pytest.approx([one[2] for one in expected], abs=1e-4)
    _, lines, _ = node("--prefix", "D", speller, lines=words[:9])
    best = python.translate_nbest(words[:9], 1, ["D"] * 9)
    assert lines == [one.text for (one,) in best]


def parts(line):
    return line.split(" ||| ")


@needs_node
@pytest.mark.slow
def test_what_it_cannot_read_is_refused_in_one_line(speller, toy_litert, tmp_path):
    changed = bytearray(speller.read_bytes())
    changed[5000] ^= 1
    (tmp_path / "changed.tflite").write_bytes(changed)
    for arguments, why in (
        ([speller, "a" * 20], "20 tokens in this file. Received: 21"),
        ([tmp_path / "changed.tflite", "a"], "that are not its sha256"),
        ([toy_litert, "one"], "characters or words, without normalization"),
        ([], "must name a model"),
        (["--greedy", "--prefix", "D", speller, "a"], "neither --nbest nor --prefix"),
        (["--nbest", "6", speller, "a"], "from 1 to 5 in this file. Received: nbest=6"),
        (["--prefix", "D " * 9, speller, "a"], "6 tokens in this file. Received: 9 tokens in 'D D"),
        (["--nbest", "2", PLAIN, "a"], "from 1 to 1 in this file. Received: nbest=2"),
        (["--prefix", "D", PLAIN, "a"], "Export it with the signature prefix"),
    ):
        code, lines, error = node(*arguments)
        assert (code, lines) == (2, [])
        assert why in error.splitlines()[-1]
