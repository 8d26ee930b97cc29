"""The C++ programs for devices, compiled as their README says, behave like the Python programs."""

import hashlib
import importlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import conformance_file
import copying_speller
import numpy as np
import older_files
import pytest
import sentencepiece
import toy_sources
from ai_edge_litert.interpreter import Interpreter
from device_files import (
    card_of,
    damaged,
    float_file,
    image_file,
    other_images,
    other_sounds,
    png_of,
    sound_file,
    wrong_sounds,
)
from native_programs import (
    KIT,
    LIBRARY,
    STRICT,
    answer,
    answer_of_full,
    build,
    needs_compiler,
)
from PIL import Image

from keras_bahdanau.exporters import OnDeviceTranslator, export_litert
from keras_bahdanau.exporters.litert.tflite_file import pack, unpack
from keras_bahdanau.pipelines.tasks import load_pipeline
from keras_bahdanau.sources import AudioSource, ImageSource

ROOT = Path(__file__).parents[3]
PROBE = ROOT / "tests" / "support" / "device_probe.cc"
CONFIDENCES = PROBE.with_name("confidence_probe.cc")
DATES = ROOT / "examples" / "dates" / "models" / "dates.tflite"


@pytest.mark.skipif(not LIBRARY.is_file(), reason=f"needs {LIBRARY.name}")
@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm")
def test_the_header_declares_functions_that_the_library_has_and_no_program_calls_another():
    declared = re.findall(r"\b(LiteRt\w+)\(", (KIT / "litert.h").read_text())
    symbols = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True)
    exported = {line.split()[-1].partition("@")[0] for line in symbols.stdout.decode().splitlines()}
    assert len(declared) == len(set(declared)) > 20
    assert set(declared) - exported == set()
    export = (ROOT / "export").rglob("*")
    sources = [path for path in export if path.suffix in (".h", ".c", ".cc")]
    words = {word for path in sources for word in re.findall(r"\bLiteRt\w+", path.read_text())}
    assert words & exported == set(declared)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_the_header_is_one_of_c_too():
    command = ["gcc", "-std=c11", "-fsyntax-only", *STRICT, "-pedantic", "-x", "c"]
    subprocess.run([*command, KIT / "litert.h"], check=True)


@needs_compiler
@pytest.mark.slow
def test_the_example_in_the_readme_compiles(tmp_path):
    example = re.search(r"```cpp\n(.*?)```", (KIT / "README.md").read_text(), re.DOTALL)[1]
    (tmp_path / "example.cc").write_text(example)
    command = ["g++", "-std=c++20", "-fsyntax-only", *STRICT, "-I", KIT]
    subprocess.run([*command, tmp_path / "example.cc"], check=True)


@pytest.fixture(scope="module")
def compiled(once):
    """The directory of the compiled programs."""
    return once("programs for devices", build)


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    """`probe(kind, files)`: the lines printed by `device_probe.cc`, compiled with sanitizers."""
    path = tmp_path_factory.mktemp("probe") / "probe"
    checked = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover")
    libpng = subprocess.run(["pkg-config", "--cflags", "--libs", "libpng"], capture_output=True)
    command = ["g++", "-std=c++20", *checked, *STRICT, "-I", KIT, PROBE, "-o", path]
    subprocess.run([*command, *libpng.stdout.decode().split()], check=True)

    def run(kind, files):
        done = subprocess.run([path, kind, *files], capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode().splitlines()

    return run


def in_python(program, *arguments, data=b""):
    return answer([sys.executable, KIT / f"{program}.py", *arguments], data)


def demand(complaint):
    """Return the part of an error message that says what must hold."""
    return complaint.partition(" Received: ")[0]


def assert_refused_alike(found, expected):
    """Assert that both programs write the same lines first and then the same single error."""
    assert found[:2] == expected[:2] and found[0] == 2
    assert len(found[2]) == len(expected[2]) == 1
    assert found[2][0].startswith("error: ") and ". Received: " in found[2][0]
    assert demand(found[2][0]) == demand(expected[2][0])


def lines_to_translate():
    rng, words = random.Random(0), ["one", "two", "three", "four", "five"]
    sentences = [" ".join(rng.choices(words, k=rng.randrange(1, 9))) for _ in range(120)]
    odd = ["", "  ", "qqq ☃", "a b", "on e\ttwo", "two\u3000three", "ﬁve", "😀", "▁one▁", "\0"]
    return [*sentences, *odd]


THREADS = """
#define main program
#include "translate.cc"
#undef main
#include <atomic>
#include <thread>

int main(int count, char** arguments) {
  on_device::Options options;
  options.model = arguments[1];
  Translator translator(options);
  const std::vector<std::string> sentences(arguments + 2, arguments + count);
  std::vector<std::string> alone;
  const auto ask = [&](size_t number) {
    return translator.Translate(sentences[number % sentences.size()], "line").front().text;
  };
  for (size_t i = 0; i < sentences.size(); ++i) alone.push_back(ask(i));
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (size_t i = thread; i < 2000; i += 8) right += ask(i) == alone[i % sentences.size()];
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::cout << right << std::endl;
}
"""


@needs_compiler
@pytest.mark.slow
def test_threads_that_share_a_translator_get_the_texts_of_one(toy_litert, tmp_path):
    (tmp_path / "threads.cc").write_text(THREADS)
    packages = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "sentencepiece"], capture_output=True, text=True
    ).stdout.split()
    library = (LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}", "-pthread")
    program = ("-std=c++20", "-O1", "-I", KIT, tmp_path / "threads.cc", "-o", tmp_path / "threads")
    subprocess.run(["g++", *program, *packages, *library], check=True)
    sentences = ["one", "two one", "three four five", "", "five two", "one one four four two"]
    assert answer([tmp_path / "threads", toy_litert, *sentences])[:2] == (0, ["2000", ""])


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--greedy",), ("--threads", "2")])
def test_lines_have_the_translations_of_python(compiled, toy_litert, options):
    data = "\n".join(lines_to_translate()).encode()
    found = answer([compiled / "translate", toy_litert, *options], data)
    assert found == in_python("translate", toy_litert, *options, data=data)
    code, texts, complaints = found
    assert (code, complaints) == (0, []) and len(texts) == len(lines_to_translate()) + 1
    assert len(set(texts)) > 50 and texts[120] == texts[121] == ""
    data = b"\xef\xbb\xbfthree one two\r\n\r\nfive"
    texts = answer([compiled / "translate", *options, toy_litert], data)[1]
    assert texts == ["drei eins zwei", "", "fünf", ""]
    arguments = [*options, "--", toy_litert, "three one two", "", "five\n"]
    assert answer([compiled / "translate", *arguments])[1] == texts


@needs_compiler
@pytest.mark.slow
def test_an_output_without_room_and_an_input_that_cannot_be_read_are_errors(compiled, toy_litert):
    for command in ([compiled / "translate"], [sys.executable, KIT / "translate.py"]):
        for options in ([], ["--json"]):
            code, complaint = answer_of_full([*command, *options, toy_litert, "one"])
            assert code == 2 and "tandard output must accept all lines. Received: " in complaint
    folder = os.open(KIT, os.O_RDONLY)
    done = subprocess.run([compiled / "translate", toy_litert], stdin=folder, capture_output=True)
    os.close(folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"error: Standard input must be readable. Received: an error at line 1." in done.stderr


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    ("nbest", "prefix"),
    [(5, ""), (1, ""), (3, "vier"), (2, " "), (None, "zw☃"), (None, "eins " * 64)],
    ids=["5", "1", "3 with a prefix", "2 with white space", "unknown", "long"],
)
def test_lines_have_the_suggestions_of_python(compiled, suggesting, nbest, prefix):
    options = [f"--prefix={prefix}", *([] if nbest is None else ["--nbest", nbest])]
    data = "\n".join(lines_to_translate()).encode()
    found = answer([compiled / "translate", *options, suggesting], data)
    assert found == in_python("translate", suggesting, *options, data=data)
    code, texts, complaints = found
    assert (code, complaints) == (0, []) and len(texts) > 120 * (nbest or 1)
    assert texts[0].startswith("0 ||| ") == (nbest is not None)
    assert sum(" ||| vier" in text for text in texts) > 370 or prefix != "vier"


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    ("lacking", "options", "named"),
    [
        (True, ("--nbest", "2"), "from 1 to 1 in this file. Received: nbest=2"),
        (True, ("--nbest=2", "--prefix=zwei"), "from 1 to 1 in this file. Received: nbest=2"),
        (True, ("--prefix", "zwei"), "Export it with the signature prefix"),
        (False, ("--nbest", "6"), "from 1 to 5 in this file. Received: nbest=6"),
        (False, ("--prefix", "eins " * 65), "Received: 65 tokens in 'eins eins"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, tuple) else "",
)
def test_suggestions_that_a_file_lacks_are_refused_as_in_python(
    compiled, toy_litert, suggesting, lacking, options, named
):
    arguments = [toy_litert if lacking else suggesting, *options, "two"]
    found = answer([compiled / "translate", *arguments])
    assert found == in_python("translate", *arguments)
    assert found[:2] == (2, [""]) and len(found[2]) == 1 and named in found[2][0]


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "named"),
    [
        *((("--nbest", text), "--nbest must be an integer from 1") for text in ("0", "-1", "2.5")),
        (("--nbest=99999999999",), "--nbest must be an integer from 1 to 1,024"),
        (("--nbest",), "An option must be known"),
        (("--prefix",), "An option must be known"),
        (("--prefix", "\udcff"), "--prefix, with the byte 0xff where UTF-8 allows none"),
        (("--greedy", "--nbest=2"), "need the search, which --greedy leaves out"),
        (("--prefix=zwei", "--greedy"), "need the search, which --greedy leaves out"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_options_of_suggestions_are_refused(compiled, suggesting, options, named):
    code, texts, complaints = answer([compiled / "translate", suggesting, "two", *options])
    assert (code, texts, len(complaints)) == (2, [""], 1) and named in complaints[0]


@pytest.fixture
def forge(tmp_path):
    """`forge(ids, lengths)`: a file whose model always returns these ids and lengths."""
    import tensorflow as tf

    def write(ids, lengths):
        def best(source):
            zero = source[:, :1] * 0
            found = {"ids": zero + [ids], "length": zero[0] + lengths[:1], "finished": zero[0] + 1}
            weights = tf.zeros((1, 4, 4)) + tf.cast(zero[0], tf.float32)
            return {**found, "score": tf.cast(zero[0], tf.float32), "alignment": weights}

        def listing(source):
            zero = source[:, :1] * 0
            found = {"ids": tf.reshape(zero + [ids], (1, len(lengths), -1))}
            found["lengths"] = zero + [lengths]
            found["finished"] = zero + [1] * len(lengths)
            found["alignment"] = tf.zeros((1, 2, 2, 4)) + tf.cast(zero[0], tf.float32)
            return {**found, "scores": tf.cast(found["lengths"], tf.float32)}

        spec = tf.TensorSpec((1, 4), tf.int32, name="source")
        functions = {"translate": best, "translate_nbest": listing}
        functions = {
            name: tf.function(function).get_concrete_function(spec)
            for name, function in functions.items()
        }
        tf.saved_model.save(tf.Module(), str(tmp_path / "model"), functions)
        converter = tf.lite.TFLiteConverter.from_saved_model(
            str(tmp_path / "model"), signature_keys=list(functions)
        )
        _, files, *_ = unpack(DATES.read_bytes())
        files = {name: content for name, content in files.items() if name.endswith(".spm")}
        vocabularies = {"source": "source.spm", "target": "target.spm"}
        card = {"verb": "translate", "vocabularies": vocabularies, "max_source_length": 4}
        path = tmp_path / "forged.tflite"
        path.write_bytes(pack(converter.convert(), files, card))
        return path

    return write


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    ("ids", "lengths", "expected"),
    [
        ([4, 5, 6, 7], [2**31 - 1, -5], ["0 ||| {4}{5} ||| 2147483648.0000"]),
        ([4, 5, 6, 7], [0, 1], ["0 |||  ||| 0.0000", "0 ||| {6} ||| 1.0000"]),
        ([4, 10**6, 6, 7], [2, 2], None),
        ([4, -7, 6, 7], [2, 2], None),
    ],
    ids=["lengths", "nothing", "large", "negative"],
)
def test_numbers_of_a_forged_model_are_bounded(compiled, forge, ids, lengths, expected):
    forged = forge(ids, lengths)
    code, texts, complaints = answer([compiled / "translate", "--nbest=2", forged, "1"])
    if expected is None:
        with pytest.raises(ValueError, match=rf"ids in its vocabulary. Received: {ids[1]}\."):
            OnDeviceTranslator(forged).translate_nbest(["1"], 2)
        assert (code, texts, len(complaints)) == (2, [""], 1)
        assert f"ids in its vocabulary. Received: {ids[1]}." in complaints[0]
    else:
        _, files, *_ = unpack(DATES.read_bytes())
        vocabulary = sentencepiece.SentencePieceProcessor(model_proto=files["target.spm"])
        pieces = [*map(vocabulary.id_to_piece, range(8))]
        assert (code, complaints) == (0, [])
        assert texts == [*(line.format(*pieces) for line in expected), ""]


@needs_compiler
@pytest.mark.slow
def test_a_file_for_prefixes_alone_suggests_texts_of_images(compiled, toy_source, tmp_path):
    model, case = tmp_path / "images.tflite", toy_sources.CASES["images"]
    pipeline = load_pipeline(toy_source("images"))
    export_litert(pipeline, model, max_source_length=48, signatures=["prefix"])
    files = [
        case.write(case.input_of(numbers), tmp_path / f"{number}")
        for number, numbers in enumerate(toy_sources.NUMBERS[:5])
    ]
    for options in (("--nbest", "3"), ("--nbest", "3", "--prefix", "zwei"), ("--prefix", "zwei")):
        found = answer([compiled / "read_files", *options, model, *files])
        assert found == in_python("read_files", *options, model, *files)
        assert found[0] == 0 and len(found[1]) == 1 + len(files) * (3 if "3" in options else 1)
    arguments = ["--json", "--nbest", "3", model, *files]
    found = answer([compiled / "read_files", *arguments])[1]
    for line, other in zip(found, in_python("read_files", *arguments)[1], strict=True):
        one, expected = (json.loads(each or '{"hypotheses": []}') for each in (line, other))
        conformance_file.assert_alike(one["hypotheses"], expected["hypotheses"])


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        *(b"two\n" + bad for bad in (b"\xff", b"on\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80")),
        *(b"\xc0\xaf", b"\xe2\x82(", b"\xf0\x8f\xbf\xbf", b"\xe0\x9f\xbf", b"\xf8\x88\x80\x80\x80"),
        *(b"two\n" + b"one " * 30, b"one 'two' \"\n" * 3 + "\\ ☃'\"".encode() * 30),
        b"x" * 2**20 + b"\n",
    ],
    ids=lambda data: repr(data[:12]),
)
def test_bad_lines_are_refused_as_in_python(compiled, toy_litert, data):
    found = answer([compiled / "translate", toy_litert], data)
    expected = in_python("translate", toy_litert, data=data)
    assert_refused_alike(found, expected)
    assert found[2] == expected[2]


@pytest.fixture
def bad_models(toy_litert, tmp_path):
    """Paths of damaged files, of other kinds of files, and of valid files with unusable content."""
    content = toy_litert.read_bytes()
    model, packed, *_ = unpack(content)
    files = {"source.spm": packed["source.spm"]}
    vocabularies = {"source": "source.spm", "target": "source.spm"}
    card = {"verb": "translate", "vocabularies": vocabularies, "max_source_length": 9}
    contents = {
        "another bit": content[:1000] + bytes([content[1000] ^ 1]) + content[1001:],
        "half": content[: len(content) // 2],
        "nothing": b"",
        "another archive": b"PK\5\6" + bytes(18),
        "no model": pack(b"no model", files, card),
        "no vocabulary": pack(model, {"source.spm": b"none"}, card),
        "no limit": pack(model, files, {**card, "max_source_length": None}),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return [*(tmp_path / name for name in contents), tmp_path / "none", tmp_path]


@needs_compiler
@pytest.mark.slow
def test_a_program_in_c_lists_the_signatures_that_python_lists(compiled, suggesting, bad_models):
    interpreter = Interpreter(model_path=str(suggesting))
    expected = {""}
    for name in interpreter.get_signature_list():
        runner = interpreter.get_signature_runner(name)
        sides = {"in": runner.get_input_details(), "out": runner.get_output_details()}
        for side, tensors in sides.items():
            for tensor, one in tensors.items():
                shape, dtype = one["shape"].tolist(), one["dtype"].__name__
                expected.add(f"{name} {side} {tensor} {dtype} {shape}")
    code, lines, complaints = answer([compiled / "signatures", suggesting])
    assert (code, complaints) == (0, [])
    assert {*lines} == expected and len(lines) == 43
    for path in [path for path in bad_models if path.name in ("no model", "nothing", "none")]:
        code, texts, (complaint,) = answer([compiled / "signatures", path])
        assert (code, texts) == (2, [""]) and f"Received: '{path}'" in complaint


def compile_checked(source, path):
    """Compile a program that checks each memory access and reports leaks."""
    options = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover", *STRICT)
    flags = ["pkg-config", "--cflags", "--libs", "sentencepiece"]
    found = subprocess.run(flags, capture_output=True).stdout.decode().split()
    command = ["g++", "-std=c++20", *options, "-I", KIT, source, "-o", path, LIBRARY]
    subprocess.run([*command, f"-Wl,-rpath,{LIBRARY.parent}", *found], check=True)


def numbers_of(one, longest):
    """Return the numeric fields of a hypothesis that the probe prints, except None values."""
    of_tokens = one.token_log_probs, one.token_entropies, one.token_words
    padded = np.zeros((len(one.target_tokens), longest))
    padded[:, : one.alignment.shape[1]] = one.alignment
    rows = (*(row for row in of_tokens if row is not None), padded)
    confidence = float("nan") if one.confidence is None else one.confidence
    return [confidence, *np.concatenate([np.ravel(row) for row in rows])]


@needs_compiler
@pytest.mark.slow
def test_texts_have_the_confidences_and_alignments_of_python(suggesting, tmp_path):
    compile_checked(CONFIDENCES, tmp_path / "probe")
    _, files, *_ = unpack(suggesting.read_bytes())
    vocabulary = sentencepiece.SentencePieceProcessor(model_proto=files["source.spm"])
    ids = [*vocabulary.encode("three one"), 3]
    python = OnDeviceTranslator(suggesting)
    lists = {1: python.translate(["three one"]), 3: python.translate_nbest(["three one"], 3)[0]}
    for nbest, expected in lists.items():
        code, lines, complaints = answer([tmp_path / "probe", suggesting, nbest, *ids])
        assert (code, complaints) == (0, [])
        for line, one in zip(lines[:-1], expected, strict=True):
            values = numbers_of(one, python.card["max_source_length"])
            assert [*map(float, line.split())] == pytest.approx(values, abs=1e-4)
    older_file = older_files.sealed(tmp_path / "older.tflite")
    older = OnDeviceTranslator(older_file)
    ids = [*older.vocabulary("source").encode("one two"), 3]
    (expected,) = older.translate(["one two"])
    code, (line, _), complaints = answer([tmp_path / "probe", older_file, 1, *ids])
    assert (code, complaints) == (0, [])
    values = numbers_of(expected, older.card["max_source_length"])
    assert [*map(float, line.split())] == pytest.approx(values, abs=1e-4, nan_ok=True)


@pytest.fixture(scope="module")
def checked(once):
    """The translator, compiled to check each memory access and to report leaks."""
    return once("checked translate", lambda path: compile_checked(KIT / "translate.cc", path))


@needs_compiler
@pytest.mark.slow
def test_the_translator_accesses_and_frees_memory_rightly(checked, suggesting, bad_models):
    data = "\n".join(lines_to_translate()).encode()
    for options in ((), ("--greedy",), ("--json", "--nbest=3", "--prefix=vier")):
        code, texts, complaints = answer([checked, *options, suggesting], data)
        assert (code, complaints) == (0, []) and len(texts) > 100
    for content in (b"on\xc3", b"one " * 40, b"x" * (2**20 + 1)):
        code, _, (complaint,) = answer([checked, suggesting], content)
        assert code == 2 and complaint.startswith("error: ")
    for arguments in ([], *([path, "one"] for path in bad_models)):
        code, _, (complaint,) = answer([checked, *arguments])
        assert code == 2 and complaint.startswith("error: ")


@needs_compiler
@pytest.mark.slow
def test_unknown_tokens_copy_the_characters_that_python_copies(checked, once):
    speller = once("speller.tflite", copying_speller.export)
    data = "\n".join(copying_speller.LINES).encode()
    for options in ("", "--greedy", "--nbest=4", "--prefix=aZ☃", "--nbest=3 --prefix=b"):
        arguments = [*options.split(), speller]
        found = answer([checked, *arguments], data)
        assert found == in_python("translate", *arguments, data=data)
        assert (found[0], found[2]) == (0, []) and {*"ZÄ☃⁇"} <= {*"".join(found[1])}


@needs_compiler
@pytest.mark.slow
def test_bad_models_are_refused_as_in_python(compiled, bad_models):
    for path in bad_models:
        for program in ("translate", "read_files"):
            found = answer([compiled / program, path, "one.wav"])
            assert_refused_alike(found, in_python(program, path, "one.wav"))


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        *((), ("--threads", "0"), ("--threads=1025",), ("--threads", "two"), ("--threads",)),
        *(("--threads", "9" * 5000), ("--none",), ("-x",), ("--greedy",)),
    ],
)
def test_a_wrong_command_line_is_refused(compiled, arguments):
    for program in ("translate", "read_files"):
        code, texts, complaints = answer([compiled / program, *arguments])
        assert (code, texts, len(complaints)) == (2, [""], 1)
        assert complaints[0].startswith("error: ") and len(complaints[0]) < 300
        assert answer([compiled / program, "--help"])[0] == 0


def other_forms(paths, directory):
    """Write the same images in other color modes of PNG and yield their paths."""
    for number, path in enumerate(paths):
        image = Image.open(path)
        for mode in ("1", "P", "RGB"):
            path = directory / f"{number}.{mode}.png"
            image.convert("RGB").convert(mode).save(path)
            yield path


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", ["images", "audio"])
def test_files_have_the_texts_of_python(compiled, toy_artefact, tmp_path, name):
    case, model = toy_sources.CASES[name], toy_artefact(name, "litert")
    files = [
        case.write(case.input_of(numbers), tmp_path / f"{number}")
        for number, numbers in enumerate(toy_sources.NUMBERS)
    ]
    if name == "images":
        files += other_forms(files[:8], tmp_path)
    files += [case.write_other(row, tmp_path / f"o{row[0]}") for row in toy_sources.NUMBERS[::5]]
    for options in ((), ("--greedy", "--threads", "2")):
        found = answer([compiled / "read_files", *options, model, *files])
        assert found == in_python("read_files", *options, model, *files)
        assert found[0] == 0
        assert found[1][:20] == [*map(toy_sources.text_of, toy_sources.NUMBERS)]


BAD_FILES = {
    "images": {
        "truncated": image_file("L", 16, 40)[:60],
        "empty": b"",
        "without pixels": png_of(40, 16),
        "huge": png_of(9000, 9000, (b"IDAT", b"")),
        "large": image_file("L", 16, 40) + bytes(2**24),
        "no image": sound_file(99),
    },
    "audio": {
        "truncated": sound_file(99)[:30],
        "empty": b"",
        **{f"wrong {number}": content for number, content in enumerate(wrong_sounds())},
        "999 Hz": sound_file(99, rate=999),
        "65 channels": sound_file(99, channels=65),
        "floats of 16 bits": float_file(np.zeros(9, "<f2")),
        "long": sound_file(48 * 160 + 1),
        "long at another rate": sound_file(48 * 441 + 1, rate=44_100),
        "no sound": image_file("L", 16, 40),
    },
}


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", ["images", "audio"])
def test_bad_files_are_refused_as_in_python(compiled, toy_artefact, tmp_path, name):
    case, model = toy_sources.CASES[name], toy_artefact(name, "litert")
    good = case.write(case.input_of((0, 1)), tmp_path / "good")
    for form, content in BAD_FILES[name].items():
        (tmp_path / form).write_bytes(content)
    for path in [*(tmp_path / form for form in BAD_FILES[name]), tmp_path / "none", tmp_path]:
        found = answer([compiled / "read_files", model, good, path, good])
        assert_refused_alike(found, in_python("read_files", model, good, path, good))
        assert found[1] == ["eins zwei", ""]
    assert_refused_alike(
        answer([compiled / "translate", model, "one"]), in_python("translate", model, "one")
    )


@needs_compiler
@pytest.mark.slow
def test_a_model_of_text_reads_no_files(compiled, toy_litert):
    found = answer([compiled / "read_files", toy_litert, "one.png"])
    assert_refused_alike(found, in_python("read_files", toy_litert, "one.png"))


@pytest.fixture(scope="module")
def file_features():
    """The module of the Python program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(KIT)
        yield importlib.import_module("file_features")
    for name in ("file_features", "translate"):
        del sys.modules[name]


def expected_line(file_features, path, card):
    """Return the line that the probe should print for a file, computed in Python."""
    try:
        features, _ = file_features.features_of(str(path), card)
    except file_features.InputError as error:
        return f"refused: {error}"
    name = "samples" if "samples" in features else "pixels"
    return f"{name} {features['lengths']} {hashlib.sha256(features[name].tobytes()).hexdigest()}"


def files_of(source, wide):
    if isinstance(source, AudioSource):
        return [sound_file(samples) for samples in (1, 159, 160, 161, 700, 2400, 4800)]
    return [image_file(mode, 16, width) for mode in ("1", "L", "P", "RGB") for width in wide]


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        *(ImageSource(16, 48, channels=c, ink=i) for c in (1, 3) for i in ("dark", "light")),
        AudioSource(20),
    ],
    ids=["dark", "light", "dark colours", "light colours", "sound"],
)
def test_files_have_the_features_of_python_bit_for_bit(probe, file_features, tmp_path, source):
    card, rng = card_of(source, 30 if isinstance(source, AudioSource) else 12), random.Random(0)
    contents = files_of(source, (1, 8, 37, 48))
    contents += [damaged(rng.choice(contents[1:]), rng) for _ in range(400)]
    (tmp_path / "card").write_text(json.dumps(card))
    paths = [tmp_path / f"{number}" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    found = probe("features", [tmp_path / "card", *paths])
    expected = [expected_line(file_features, path, card) for path in paths]
    read = [line for line in expected if not line.startswith("refused")]
    assert len(expected) > len(read) > 7
    for one, other in zip(found, expected, strict=True):
        assert one == other or demand(one) == demand(other) != other


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [ImageSource(16, 48), ImageSource(16, 48, channels=3, ink="light"), AudioSource(20)],
    ids=["dark", "light colours", "sound"],
)
def test_files_of_any_size_or_rate_have_the_features_of_python(
    probe, file_features, tmp_path, source
):
    sound = isinstance(source, AudioSource)
    card, contents = card_of(source, 70 if sound else 12), [other_images, other_sounds][sound]()
    (tmp_path / "card").write_text(json.dumps(card))
    paths = [tmp_path / f"{number}" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    lines = probe("numbers", [tmp_path / "card", *paths])
    for path, line in zip(paths, lines, strict=True):
        expected, _ = file_features.features_of(str(path), card)
        name, length, digits = line.split(" ")
        array = expected.pop(name)
        assert expected == {"lengths": int(length)}
        found = np.frombuffer(bytes.fromhex(digits), array.dtype).astype(float)
        # They are equal if rate and size are unchanged; otherwise they may differ by rounding.
        np.testing.assert_allclose(found, array.ravel(), atol=2e-6 if sound else 1, rtol=2e-6)


@needs_compiler
@pytest.mark.slow
def test_an_archive_of_any_bytes_is_read_or_refused(probe, tmp_path):
    names, rng = {"source": "source.spm", "target": "source.spm"}, random.Random(0)
    card = {"verb": "translate", "vocabularies": names, "max_source_length": 9}
    model = b"TFL3" * 16
    whole = pack(model, {"source.spm": b"vocabulary" * 9}, card)
    paths = [tmp_path / f"{number}" for number in range(1000)]
    for number, path in enumerate(paths):
        content = bytearray(whole[:-64])
        for _ in range(number and rng.choice((1, 2, 8))):
            place = rng.randrange(len(model), len(content))
            content[place] = rng.choice((0, 1, 255, rng.randrange(256)))
        path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    found = probe("archives", paths)
    assert len(found) == 1000 and found[0].startswith("card.json ")
    assert 100 < sum(line.startswith("refused") for line in found) < 950


def shown(value):
    """Format a value as the probe does."""
    if isinstance(value, str):
        return f"'{value.encode().hex()}'"
    if isinstance(value, dict):
        members = sorted((name.encode(), shown(one)) for name, one in value.items())
        return "{" + "".join(f"{name.hex()}:{one}," for name, one in members) + "}"
    if isinstance(value, list):
        return "[" + "".join(f"{shown(one)}," for one in value) + "]"
    return f"{value:.17g}." if isinstance(value, float) else json.dumps(value)


TEXTS = [
    *("", " ", "{", "[", "]", "{]", "[1,]", "[,1]", '{"a":1,}', '{"a"}', "{a:1}", "[1 2]", '"a'),
    *("tru", "nul", "01", "-", "-01", "1.", ".5", "1e", "1.e5", "+1", "1-2", "--1", "0x10", "1e5e"),
    *('"\\x"', '"\\u12"', '"\\u12g4"', '"\t"', "1 1", "\x00", "'a'", "//", "[" * 100_000),
    *(b'"\xff"', "0", "-0", "1", "-12", "1.5", "1e5", "1E+2", "-2.5e-3", "9223372036854775807"),
    *("true", "false", "null", ' [ 1 , {"a" : [ ] } ]\n', '"\\"\\\\\\/\\b\\f\\n\\r\\t"'),
    *(
        '"\\u00e9\\u20ac"',
        '"\\ud83d\\ude00"',
        '{"a":1,"a":2}',
        '{"":{}}',
        '"☃"',
        "[[[[]]]]",
        "1e308",
    ),
]


@needs_compiler
@pytest.mark.slow
def test_json_has_the_values_of_python(probe, tmp_path):
    paths = [tmp_path / f"{number}" for number in range(len(TEXTS))]
    for path, text in zip(paths, TEXTS, strict=True):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    read = 0
    for text, line in zip(TEXTS, probe("json", paths), strict=True):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            assert line == "refused: it is not valid JSON", text
            continue
        assert line == shown(value), text
        read += 1
    assert 15 < read < len(TEXTS) - 30
