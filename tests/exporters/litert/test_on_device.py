"""The kit for devices: one .tflite file, three packages, no TensorFlow."""

import dataclasses
import hashlib
import importlib.util
import io
import json
import multiprocessing
import os
import pickle
import random
import shutil
import subprocess
import sys
import venv
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from frames import frames_of, new_frames_pipeline

import keras_bahdanau as kb
from keras_bahdanau.exporters import OnDevicePipeline, OnDeviceTranslator
from keras_bahdanau.exporters.litert.tflite_file import pack, unpack
from keras_bahdanau.layers.readers import reader
from keras_bahdanau.text.alignments import format_pharaoh, span_links, word_spans

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "0.1.0"
PROGRAM = ROOT / "export" / "on_device" / "translate.py"
RUNNER = ROOT / "keras_bahdanau" / "exporters" / "litert" / "on_device"
WORDS = ROOT / "examples" / "pronounce" / "models" / "cmudict-small.tflite"
ALIGNMENTS = ROOT / "keras_bahdanau" / "text" / "alignments.py"
LACKING = """
import importlib.abc, runpy, sys

class Lacking(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"keras", "keras_bahdanau", "tensorflow", "tensorflow_text"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Lacking())
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

SENTENCES = [
    "three one two",
    "",
    "five",
    "one one four four two",
    "  ",
    "qqq ☃",
    "one☃e two",
    "two",
]
INPUT = "".join(sentence + "\n" for sentence in SENTENCES).encode()
TOO_LONG = "one " * 30


@pytest.fixture(scope="module")
def results(toy_translator):
    """The results from Keras for `SENTENCES`."""
    return toy_translator.translate(SENTENCES)


@pytest.fixture(scope="module")
def aligned(toy_translator, results):
    """The expected output of `--alignment`, with word numbers that count unknown characters."""
    words = toy_translator.words(SENTENCES)
    links = [
        span_links(of_source, word_spans(r.target_tokens), r.alignment)
        for of_source, r in zip(words, results, strict=True)
    ]
    lines = zip(results, links, strict=True)
    return "".join(f"{r.text} ||| {format_pharaoh(found)}\n" for r, found in lines)


@pytest.fixture
def translate(toy_litert, monkeypatch, capsys):
    """`translate(*arguments, model=..., data=...)`: exit code, standard output and error."""
    spec = importlib.util.spec_from_file_location("translate", PROGRAM)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)

    def run(*arguments, model=toy_litert, data=INPUT):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code = program.main([str(model), *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


def run(*command, **options):
    environment = {name: os.environ[name] for name in os.environ if name != "PYTHONPATH"}
    done = subprocess.run(
        [*map(str, command)], input=INPUT, capture_output=True, env=environment, **options
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def copied_alone(directory):
    """Copy the files and the folder that a user copies to a device. Return the program's path."""
    for path in (PROGRAM, ALIGNMENTS):
        shutil.copy(path, directory)
    shutil.copytree(RUNNER, directory / RUNNER.name)
    return directory / PROGRAM.name


def test_it_answers_as_keras_does_without_tensorflow(toy_litert, aligned):
    command = (sys.executable, "-c", LACKING, PROGRAM, toy_litert, "--alignment")
    assert run(*command) == aligned


@pytest.mark.slow
def test_the_encoder_reads_the_padding_of_no_source(toy_translator, tmp_path, monkeypatch):
    read, cut = reader.read_up_to, []

    def counting(layer, inputs, steps):
        cut.append((layer.name, inputs.shape[1], steps.shape.rank))
        return read(layer, inputs, steps)

    monkeypatch.setattr(reader, "read_up_to", counting)
    kb.export_litert(toy_translator, tmp_path / "toy.tflite", max_source_length=24, signatures=())
    assert {*cut} == {("forward", 24, 0), ("backward", 24, 0)}
    layers = [*toy_translator.model._flatten_layers()]
    left = [layer.stops_early for layer in layers if hasattr(layer, "stops_early")]
    assert left and not any(left)  # restored after the export


def test_threads_that_share_a_file_get_the_texts_of_one_thread():
    translator = OnDeviceTranslator(WORDS)
    words = ["A", "BO", "CAT", "", "IDEA"]

    def ask(number):
        sentence = words[number % 5]
        if number % 5:
            return translator.translate([sentence])[0].text
        return [listed.text for listed in translator.translate_nbest([sentence], 2)[0]]

    alone = list(map(ask, range(25)))
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, range(400))) == [alone[number % 25] for number in range(400)]


def test_a_forked_process_opens_the_file_anew_while_a_thread_holds_it():
    translator = OnDeviceTranslator(WORDS, threads=2)
    (alone,) = translator.translate(["CAT"])
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def ask():
        queue.put(translator.translate(["CAT"])[0].text)

    with translator._turn:
        child = context.Process(target=ask)
        child.start()
    child.join(20)
    assert child.exitcode == 0 and queue.get() == alone.text


def test_a_file_at_work_is_not_pickled():
    with pytest.raises(TypeError, match=r"can't be pickled. Received: path='.*tflite'. Pass the p"):
        pickle.dumps(OnDeviceTranslator(WORDS))


def test_three_files_are_enough_on_a_device(toy_litert, aligned, tmp_path):
    program = copied_alone(tmp_path)
    command = (sys.executable, "-c", LACKING, program, toy_litert, "--alignment")
    assert run(*command, cwd=tmp_path) == aligned


@pytest.mark.slow
def test_three_packages_are_enough_on_a_device(toy_litert, aligned, tmp_path):
    program = copied_alone(tmp_path)
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    packages = ("ai-edge-litert", "numpy", "sentencepiece")
    run(*install, "-c", ROOT / "constraints.txt", *packages)
    assert "tensorflow" not in run(python, "-m", "pip", "list")
    assert run(python, program, toy_litert, "--alignment", cwd=tmp_path) == aligned


def test_a_program_without_its_folder_names_it(tmp_path, capsys):
    directory = tmp_path / "of" / "device"  # outside a checkout
    (directory / "on_device").mkdir(parents=True)  # a folder with that name but no module
    spec = importlib.util.spec_from_file_location("alone", shutil.copy(PROGRAM, directory))
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    assert program.main(["en-de.tflite", "one"]) == 2
    error = capsys.readouterr().err
    assert "on_device, of keras_bahdanau, must be in the directory of translate.py" in error
    assert error.count("\n") == 1


def test_each_line_gives_a_line_and_an_empty_one_stays_empty(translate, results, tmp_path):
    expected = "".join(result.text + "\n" for result in results)
    code, out, _ = translate()
    assert (code, out) == (0, expected) and out.split("\n")[1] == ""
    file = tmp_path / "windows.txt"
    file.write_bytes(b"\xef\xbb\xbf" + INPUT.replace(b"\n", b"\r\n"))
    assert translate("--file", file, "--threads", 2)[:2] == (0, expected)
    assert translate(*SENTENCES)[:2] == (0, expected)
    assert translate(data=b"two")[1] == results[-1].text + "\n"
    assert translate(data=b"")[:2] == (0, "")


def test_the_matrix_shows_the_weights_under_their_tokens(translate, results):
    blocks = translate("--matrix", data=b"three one two\n\nfive\n")[1].split("\n\n")
    assert len(blocks) == 4 and blocks[1] == blocks[-1] == ""
    for block, result in [(blocks[0], results[0]), (blocks[2], results[2])]:
        text, header, *rows = block.split("\n")
        assert text == result.text and header.split() == result.source_tokens
        assert [row.split()[0] for row in rows] == result.target_tokens
        weights = [[float(weight) for weight in row.split()[1:]] for row in rows]
        np.testing.assert_allclose(weights, result.alignment, atol=0.00501)
    assert translate("--matrix", "--alignment", "five")[1].startswith("fünf ||| 0-0\n")


def test_greedy_takes_the_best_token_at_each_step(translate, toy_translator, toy_litert):
    sentences = ["three one two", "six seven", "eno owt", "two four neves five", "x y z"]
    search = dataclasses.replace(toy_translator.search, beam_width=1)
    expected = toy_translator.translate(sentences, search=search)
    found = OnDeviceTranslator(toy_litert, greedy=True).translate(sentences)
    searched = OnDeviceTranslator(toy_litert).translate(sentences)
    scores = [result.score for result in found]
    np.testing.assert_allclose(scores, [result.score for result in expected], atol=1e-4)
    assert not np.allclose(scores, [result.score for result in searched], atol=1e-4)
    out = translate("--greedy", *sentences)[1]
    assert out == "".join(result.text + "\n" for result in expected)


def test_a_file_without_greedy_search_is_refused_by_what_it_lacks():
    dates = ROOT / "examples" / "dates" / "models" / "dates.tflite"
    with pytest.raises(ValueError, match="lacks it. Export it with the signature greedy"):
        OnDeviceTranslator(dates, greedy=True)


def test_on_a_terminal_it_asks_until_the_end(toy_litert):
    pty = pytest.importorskip("pty")
    typed, terminal = pty.openpty()
    command = [sys.executable, PROGRAM, toy_litert]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, stdin=terminal, **pipes) as process:
        os.write(typed, f"two\n{TOO_LONG}\nfive\n\x04".encode())
        out, error = process.communicate(timeout=60)
    os.close(typed)
    os.close(terminal)
    assert (process.returncode, out.decode()) == (0, "zwei\nfünf\n")
    assert error.count(b"> ") == 4 and error.count(b"error: line 2: A sentence may ha") == 1


@pytest.mark.parametrize(
    ("arguments", "data", "named"),
    [
        ((), f"two\n{TOO_LONG}\n".encode(), "line 2: A sentence may have at most 24 tokens"),
        ((TOO_LONG,), b"", "sentence 1: A sentence may have at most 24 tokens"),
        ((), b"two\n\nt\xffwo\n", "line 3, with the byte 0xff"),
        (("--file", "no/such.txt"), b"", "'no/such.txt': No such file"),
    ],
)
def test_wrong_input_is_refused_in_one_line(translate, arguments, data, named):
    code, _, error = translate(*arguments, data=data)
    assert code == 2
    assert named in error and error.startswith("error: ") and error.count("\n") == 1


def test_of_a_long_sentence_only_the_beginning_is_shown(translate):
    code, _, error = translate(data=b"one " * 50_000)
    assert code == 2 and "Received: 50001 tokens in 'one one " in error and len(error) < 300


def test_a_line_without_end_is_refused(translate):
    code, _, error = translate(data=b"two\n" + b"x" * (2**20 + 1))
    assert code == 2 and error.count("\n") == 1
    assert "at most 1,048,576 bytes. Received: line 2, which has more" in error
    assert translate(data=b" " * (2**20 - 1) + b"\n")[:2] == (0, "\n")


def test_what_came_before_a_wrong_line_is_printed(translate):
    assert translate(data=b"two\n\xff\n")[1] == "zwei\n"


def packed_anew(path, good, model=None, files=None, **card):
    """Write a copy of a valid file with a different model, files or card, and a new seal."""
    contents = unpack(good.read_bytes())
    all_files = {**contents.files, **(files or {})}
    card = {**json.loads(all_files.pop("card.json")), **card}
    path.write_bytes(pack(model or contents.model, all_files, card))
    return path


def model_files(directory, good):
    """Return a dictionary from expected errors to files that are not models."""
    archive = directory / "archive.tflite"
    with zipfile.ZipFile(good) as packed, zipfile.ZipFile(archive, "w") as other:
        for name in packed.namelist():
            other.writestr(name, packed.read(name))
    plain = directory / "plain.tflite"
    plain.write_bytes(b"no zip archive")
    large = directory / "large.tflite"
    with zipfile.ZipFile(large, "w", zipfile.ZIP_DEFLATED) as other:
        other.writestr("card.json", bytes(10**6))
    return {
        "No such file": directory / "missing.tflite",
        "Is a directory": directory,
        "must contain its vocabulary": plain,
        "its last 64 bytes are not its sha256": archive,
        "its archive decompresses to more bytes than the file contains": large,
        "it is a .keras file: `keras-bahdanau export` makes": GOLDEN / "translator.keras",
        "that LiteRT can load": packed_anew(directory / "model.tflite", good, b"no model"),
        "that SentencePiece can load": packed_anew(
            directory / "vocabulary.tflite", good, files={"source.spm": b"none"}
        ),
        "signature_key": packed_anew(directory / "verb.tflite", good, verb="dance"),
    }


def test_a_wrong_model_is_refused_in_one_line(translate, toy_litert, tmp_path):
    for named, path in model_files(tmp_path, toy_litert).items():
        code, out, error = translate(model=path)
        assert (code, out) == (2, ""), named
        assert named in error and path.name in error and error.count("\n") == 1


@pytest.mark.few(1)
@pytest.mark.parametrize("area", ["anywhere", "archive", "end"])
def test_a_changed_bit_is_refused_in_one_line(toy_litert, tmp_path, area):
    content, path = toy_litert.read_bytes(), tmp_path / "flipped.tflite"
    model = len(unpack(content).model)
    first = {"anywhere": 0, "archive": model, "end": len(content) - 86}[area]
    rng = random.Random(0)
    for place in rng.sample(range(first, len(content)), 30):
        flipped = bytearray(content)
        flipped[place] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(ValueError, match="since its export. Received: path=") as error:
            OnDeviceTranslator(path)
        assert "\n" not in str(error.value)


def test_a_changed_bit_of_a_file_of_the_first_version_is_refused(tmp_path):
    content = (GOLDEN / "translator.tflite").read_bytes()
    path, rng = tmp_path / "flipped.tflite", random.Random(0)
    for place in rng.sample(range(len(unpack(content).model)), 20):
        flipped = bytearray(content)
        flipped[place] ^= 1
        path.write_bytes(flipped)
        with pytest.raises(ValueError, match="its card.json has a different sha256"):
            OnDeviceTranslator(path)


@pytest.mark.parametrize(
    "card",
    [
        *({"verb": 3}, {"vocabularies": []}, {"vocabularies": {}}, {"max_source_length": "x"}),
        *({"vocabularies": {"source": [], "target": None}}, {"max_source_length": 1.5}),
        *({"max_source_length": 10**9}, {"reduction": 0}, {"vocabularies": {"target": 1}}),
    ],
    ids=str,
)
def test_a_card_that_does_not_say_how_to_run_it_is_refused_in_one_line(toy_litert, tmp_path, card):
    path = packed_anew(tmp_path / "model.tflite", toy_litert, **card)
    with pytest.raises(ValueError, match="Received: path=.*its card.json|a vocabulary that its"):
        OnDeviceTranslator(path)


@pytest.mark.parametrize("card", [b"", b"[]", b"{", b"3", b"[" * 100_000, b"\xff", b"{}"])
def test_a_card_that_is_none_is_refused_in_one_line(toy_litert, tmp_path, card):
    path = tmp_path / "model.tflite"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("card.json", card)
    with pytest.raises(ValueError, match="must contain its vocabulary") as error:
        OnDeviceTranslator(path)
    assert "\n" not in str(error.value)


def test_a_missing_package_is_named_with_what_installs_it(translate, monkeypatch):
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    code, _, error = translate()
    assert code == 2 and error.endswith("pip install ai-edge-litert\n") and error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        *(("--threads", number) for number in ("0", "two", "1025", "1099511627776", "9" * 5000)),
        ("one", "--file", "sentences.txt"),
    ],
)
def test_a_wrong_command_line_is_refused(translate, capsys, arguments):
    with pytest.raises(SystemExit, match="2"):
        translate(*arguments)
    assert "error: " in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_the_hash_and_the_seal_in_cpp_are_those_of_hashlib(toy_litert, tmp_path):
    source, program = tmp_path / "hash.cc", tmp_path / "hash"
    source.write_text(
        '#include <iostream>\n#include <iterator>\n#include "sha256.h"\n'
        "int main() {\n"
        "  std::string all(std::istreambuf_iterator<char>(std::cin), {});\n"
        "  std::cout << sha256::Hex(all) << sha256::IsSealed(all);\n"
        "}\n"
    )
    compiler = ["g++", "-std=c++20", "-Wall", "-Werror", "-I", str(PROGRAM.parent)]
    subprocess.run([*compiler, str(source), "-o", str(program)], check=True)

    def hashed(content):
        return subprocess.run([program], input=content, capture_output=True, check=True).stdout

    content = toy_litert.read_bytes()
    for length in (0, 1, 55, 56, 63, 64, 65, 119, 120, 1000):  # around block boundaries
        expected = hashlib.sha256(content[:length]).hexdigest()
        assert hashed(content[:length]).decode() == f"{expected}0"
    assert hashed(content).endswith(b"1")
    assert hashed(content[:5000] + b"?" + content[5001:]).endswith(b"0")


def test_other_languages_get_the_vocabulary_by_unpacking(toy_litert, tmp_path):
    run(sys.executable, "-m", "zipfile", "-e", toy_litert, tmp_path)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "source.spm"))
    assert [processor.pad_id(), processor.eos_id()] == [0, 3]
    assert (tmp_path / "card.json").is_file()


@pytest.fixture(scope="module")
def frames_pipeline():
    return new_frames_pipeline()


@pytest.fixture(scope="module")
def frames_file(frames_pipeline, tmp_path_factory):
    """The LiteRT file of `frames_pipeline`, for up to 8 frames."""
    path = tmp_path_factory.mktemp("frames") / "frames.tflite"
    return kb.export_litert(frames_pipeline, path, max_source_length=8, max_target_length=5)


@pytest.mark.slow
def test_frames_get_the_text_of_keras(frames_pipeline, frames_file):
    on_device, inputs = OnDevicePipeline(frames_file), frames_of(6, 1, 8)
    texts = set()
    for one, expected in zip(inputs, frames_pipeline.decode(inputs), strict=True):
        labels = [str(number) for number in range(len(one))]
        found = on_device.decode({"values": one, "lengths": len(one)}, labels)
        texts.add(found.text)
        assert (found.text, found.finished) == (expected.text, expected.finished)
        assert found.target_tokens == expected.target_tokens
        assert found.source_tokens == expected.source_tokens == labels
        assert found.score == pytest.approx(expected.score, abs=1e-5)
        np.testing.assert_allclose(found.alignment, expected.alignment, atol=1e-5)
    assert len(texts) > 1


@pytest.mark.slow
def test_more_frames_than_the_file_was_made_for_are_refused(frames_file):
    with pytest.raises(ValueError, match="may have at most 8 positions in this file. Received: 9"):
        OnDevicePipeline(frames_file).decode({"values": np.zeros((9, 3)), "lengths": 9}, [])


@pytest.mark.slow
@pytest.mark.parametrize(
    "features",
    [
        *({"values": np.ones((5, 1)), "lengths": 5}, {"values": np.ones((5, 4)), "lengths": 5}),
        *({"values": np.ones(3), "lengths": 5}, {"values": np.ones((5, 3)), "lengths": [5]}),
        *({"lengths": 5}, {"values": np.ones((5, 3), complex), "lengths": 5}),
        {"values": np.ones((5, 3)), "lengths": 4.5},
    ],
    ids=["narrow", "wide", "flat", "lengths", "missing", "complex", "no integer"],
)
def test_frames_of_another_shape_or_kind_are_refused(frames_file, features):
    with pytest.raises(ValueError, match="`(values|lengths)` must .* Received: "):
        OnDevicePipeline(frames_file).decode(features, ["0"] * 5)


@pytest.mark.slow
def test_frames_are_no_text(frames_file):
    with pytest.raises(ValueError, match="vocabulary of the source. Received: .*target.spm"):
        OnDeviceTranslator(frames_file)
