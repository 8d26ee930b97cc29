"""The Kotlin translator, on a JVM with LiteRT, behaves like the Python translator."""

import hashlib
import json
import random
import subprocess
import sys
from pathlib import Path

import conformance_file
import copying_speller
import kotlin_programs
import numpy as np
import older_files
import pytest
from device_files import damaged
from kotlin_programs import KIT
from native_programs import LIBRARY, answer, answer_of_full

from keras_bahdanau.exporters import OnDeviceTranslator, export_litert
from keras_bahdanau.exporters.litert.tflite_file import pack, unpack

ROOT = Path(__file__).parents[3]
DATES = ROOT / "examples" / "dates" / "models" / "dates.tflite"
WORDS = ROOT / "examples" / "pronounce" / "models" / "cmudict-small.tflite"
SPEECH = ROOT / "examples" / "an4" / "models" / "an4.tflite"
GOLDEN = ROOT / "tests" / "golden" / "0.1.0" / "translator.tflite"
PYTHON = ROOT / "export" / "on_device" / "translate.py"
TOOLS = ("java", "javac", "g++", "cmake", "pkg-config", "kotlin")
LACKING = kotlin_programs.lacking(*TOOLS) or (None if LIBRARY.is_file() else LIBRARY.name)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(LACKING is not None, reason=f"needs {LACKING}"),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """`program(main, *arguments)`: the command that runs a class from the kit or the tests."""
    classes, build = (tmp_path_factory.mktemp(name) for name in ("classes", "build"))
    support = Path(kotlin_programs.__file__).parent
    programs = [support / f"{name}.kt" for name in ("Answers", "Damaged", "Threads")]
    kotlin_programs.compile_kotlin([*KIT.glob("*.kt"), *programs], classes)
    subprocess.run(["cmake", "-S", KIT, "-B", build, f"-DLITERT={LIBRARY}"], check=True)
    subprocess.run(["cmake", "--build", build], check=True)
    return lambda *rest: kotlin_programs.command(classes, *rest, libraries=build)


@pytest.fixture
def kotlin(program):
    """`kotlin(*arguments)`: the exit code, output lines and errors of `Translate.kt`."""
    return lambda *rest, data=b"": answer(program("translation.TranslateKt", *rest), data)


@pytest.fixture(scope="module")
def in_eight_bits(toy_translator, tmp_path_factory):
    path = tmp_path_factory.mktemp("int8") / "toy.tflite"
    signatures = ("greedy", "nbest", "prefix")
    settings = {"max_source_length": 24, "allow_differences": True, "signatures": signatures}
    export_litert(toy_translator, path, quantization="int8", **settings)
    return path


def in_python(*arguments, data=b""):
    return answer([sys.executable, PYTHON, *arguments], data)


def texts_for(path, count=500):
    """Return `count` single-line texts, some of them unusual, that fit a model file's length."""
    draw, words = random.Random(1), ["one", "two", "three", "four", "five", "1", "May", "1999"]
    many = [" ".join(draw.choices(words, k=draw.randrange(9))) for _ in range(count // 2)]
    many += [text for text in conformance_file.texts(4 * count) if isinstance(text, str)]
    translator = OnDeviceTranslator(path)
    source, longest = translator.vocabulary("source"), translator.card["max_source_length"]
    fit = [
        text
        for text in many
        if "\n" not in text and not text.endswith("\r") and len(source.encode(text)) < longest
    ]
    assert len(fit) >= count
    return fit[:count]


@pytest.mark.parametrize("name", ["float32", "int8", "dates in int8"])
def test_500_texts_get_the_hypotheses_of_python(kotlin, suggesting, in_eight_bits, name):
    path = {"float32": suggesting, "int8": in_eight_bits, "dates in int8": DATES}[name]
    inputs = texts_for(path)
    rows = conformance_file.answers_of(path, inputs)["inputs"]
    data = "".join(f"{text}\n" for text in inputs).encode()
    options = {"best": (), "greedy": ("--greedy",), "nbest": ("--nbest", "5")}
    searches = [search for search in options if search in rows[0]]
    assert len(searches) == (1 if path == DATES else 3)
    for search in searches:
        code, lines, complaints = kotlin("--json", *options[search], path, data=data)
        assert (code, complaints, len(lines)) == (0, [], 501)
        for line, row in zip(lines, rows, strict=False):
            found = json.loads(line)["hypotheses"]
            conformance_file.assert_alike(found, row[search]["hypotheses"])


def test_all_fields_of_a_translation_are_those_of_python(program, suggesting):
    inputs = [*texts_for(suggesting, 60), "one " * 40]
    data = "".join(json.dumps(text) + "\n" for text in inputs).encode()
    code, lines, complaints = answer(program("AnswersKt", suggesting, "zwei"), data)
    assert (code, complaints) == (0, [])
    *found, refused = map(json.loads, lines[:-1])
    assert refused == {"tokens": 41, "longest": 24} and len(found) == 60
    best, greedy = OnDeviceTranslator(suggesting), OnDeviceTranslator(suggesting, greedy=True)
    for text, searches in zip(inputs, found, strict=False):
        lists = {"nbest": best.translate_nbest([text])[0], "best": best.translate([text])}
        lists["three"], lists["greedy"] = lists["nbest"][:3], greedy.translate([text])
        lists["begun"] = best.translate_nbest([text], prefixes=["zwei"])[0]
        for search, expected in lists.items():
            assert len(searches[search]) == len(expected)
            for one, other in zip(searches[search], expected, strict=True):
                weights, columns = one.pop("alignment"), len(other.source_tokens)
                shape = (len(other.target_tokens), columns)
                np.testing.assert_allclose(np.reshape(weights, shape), other.alignment, atol=1e-5)
                assert one.pop("source_tokens") == other.source_tokens
                conformance_file.assert_alike([one], [conformance_file.fields_of(other)])


def test_threads_that_share_a_translator_get_the_texts_of_one_thread(program):
    words = ("A", "BO", "CAT", "", "IDEA")
    assert answer(program("ThreadsKt", WORDS, *words)) == (0, ["2000", ""], [])


def test_an_older_file_gives_null_for_what_it_lacks(program, tmp_path):
    older = older_files.sealed(tmp_path / "older.tflite")
    code, (line, _), complaints = answer(program("AnswersKt", older), b'"one two"\n')
    (expected,) = OnDeviceTranslator(older).translate(["one two"])
    (found,) = json.loads(line)["best"]
    assert (code, complaints) == (0, []) and found.pop("source_tokens") == expected.source_tokens
    assert len(found.pop("alignment")) == len(expected.target_tokens)
    conformance_file.assert_alike([found], [conformance_file.fields_of(expected)])
    assert (found["confidence"], found["token_words"]) == (None, None)


@pytest.mark.parametrize(
    "options",
    [(), ("--greedy",), ("--nbest", "3"), ("--nbest=1",), ("--prefix=zw☃",), ("--threads", "2")],
    ids=lambda options: " ".join(options) or "none",
)
def test_lines_are_those_of_python(kotlin, suggesting, options):
    lines = [b"\xef\xbb\xbfthree one two\r", b"", b" ", "ﬁve\t☃".encode(), b"one one", b"five"]
    for data in (b"\n".join(lines), b"", b"\n"):
        assert kotlin(*options, suggesting, data=data) == in_python(*options, suggesting, data=data)
    arguments = [*options, "--", suggesting, "three one", "", "five\n"]
    found = kotlin(*arguments)
    assert found == in_python(*arguments)
    assert found[0] == 0 and len(found[1]) > 3


def test_unknown_tokens_copy_the_characters_that_python_copies(kotlin, once):
    speller = once("speller.tflite", copying_speller.export)
    data = "\n".join(copying_speller.LINES).encode()
    for options in ("", "--greedy", "--nbest=4", "--prefix=aZ☃", "--nbest=3 --prefix=b"):
        arguments = [*options.split(), speller]
        found = kotlin(*arguments, data=data)
        assert found == in_python(*arguments, data=data)
        assert (found[0], found[2]) == (0, []) and {*"ZÄ☃⁇"} <= {*"".join(found[1])}


def test_bad_lines_are_refused_as_in_python(kotlin, toy_litert):
    for data in (
        *(b"two\n" + bad for bad in (b"\xff", b"on\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80")),
        *(b"\xc0\xaf", b"\xe2\x82(", b"\xf0\x8f\xbf\xbf", b"\xf8\x88\x80\x80\x80"),
        *(b"two\n" + b"one " * 30, "\\ ☃'\"\u200b\x7f".encode() * 30, b"x" * 2**20 + b"\n"),
    ):
        found = kotlin(toy_litert, data=data)
        assert found == in_python(toy_litert, data=data)
        assert found[0] == 2 and len(found[2]) == 1


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
        "no model": pack(b"no model", files, card),
        "no vocabulary": pack(model, {"source.spm": b"none"}, card),
        "no limit": pack(model, files, {**card, "max_source_length": None}),
        "another limit": pack(model, files, {**card, "max_source_length": 99_999}),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return [*(tmp_path / name for name in contents), tmp_path / "none", tmp_path]


def demand(complaint):
    """Return the part of an error message that says what must hold."""
    return complaint.partition(" Received: ")[0]


def test_bad_models_are_refused_as_in_python(kotlin, bad_models):
    for path in [*bad_models, SPEECH]:
        code, lines, complaints = kotlin(path, "one")
        assert (code, lines, len(complaints)) == (2, [""], 1), path
        assert complaints[0].startswith("error: ") and ". Received: " in complaints[0]
        if path.name != "another limit":  # Python pads the input to the model's length
            assert demand(complaints[0]) == demand(in_python(path, "one")[2][0])
    assert "are not its sha256" in kotlin(GOLDEN, "one")[2][0]  # the golden file has no seal


def test_damaged_files_under_a_seal_are_read_or_refused(program, suggesting, tmp_path):
    draw, paths = random.Random(2), []
    model, packed, *_ = unpack(suggesting.read_bytes())
    card = json.loads(packed.pop("card.json"))
    for number in range(150):
        files = {**packed, "source.spm": damaged(packed["source.spm"], draw)}
        whole = pack(model[:9], packed if number % 2 else files, card)
        if number % 2:  # the damage is in the archive or the card
            whole = bytearray(whole[:-64])
            for _ in range(draw.choice((1, 2, 5))):
                place = draw.choice(
                    (len(whole) - draw.randrange(1, 200), draw.randrange(len(whole)))
                )
                whole[place] = draw.randrange(256)
            whole = bytes(whole) + hashlib.sha256(whole).hexdigest().encode()
        paths.append(tmp_path / f"{number}.tflite")
        paths[-1].write_bytes(whole)
    code, lines, complaints = answer(program("DamagedKt", *paths))
    assert (code, complaints, len(lines)) == (0, [], 151)
    assert set(lines[:-1]) == {"read", "refused"}


def test_options_that_a_file_lacks_are_refused_as_in_python(kotlin, toy_litert, suggesting):
    for arguments in (
        ("--nbest", "2", toy_litert, "two"),
        ("--nbest=2", "--prefix=zwei", toy_litert, "two"),
        ("--prefix", "zwei", toy_litert, "two"),
        ("--nbest", "6", suggesting, "two"),
        ("--prefix", "eins " * 65, suggesting, "two"),
    ):
        found = kotlin(*arguments)
        assert found == in_python(*arguments)
        assert (found[0], len(found[2])) == (2, 1)
    code, _, complaints = kotlin("--greedy", DATES, "1")
    assert code == 2 and "without the signature translate_greedy" in complaints[-1]


def test_a_wrong_command_line_is_refused(kotlin, suggesting):
    for arguments, why in (
        ((), "must name a model"),
        *(
            (("--threads", number), "from 1 to 1,024")
            for number in ("0", "1025", "two", "9" * 5000)
        ),
        *(((f"--nbest={number}",), "from 1 to 1,024") for number in ("0", "-1", "2.5", "")),
        *(((option,), "must be known") for option in ("--none", "-x", "--threads", "--prefix")),
        (("--prefix", "\ufffd", suggesting, "one"), "must be UTF-8"),
        (("--greedy", "--prefix=zwei", suggesting, "one"), "which --greedy leaves out"),
    ):
        code, texts, complaints = kotlin(*arguments)
        assert (code, texts, len(complaints)) == (2, [""], 1)
        assert complaints[0].startswith("error: ") and why in complaints[0]
        assert len(complaints[0]) < 300
    assert kotlin("--help")[0] == 0


def test_an_output_without_room_is_an_error(program, suggesting):
    code, complaint = answer_of_full(program("translation.TranslateKt", suggesting, "one"))
    assert code == 2 and "standard output must accept all lines. Received: No space" in complaint


def test_it_ends_with_its_reader(program, suggesting):
    command = program("translation.TranslateKt", suggesting, *["one two"] * 2000)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout.readline() == b"eins zwei\n"
        process.stdout.close()
        assert process.wait(timeout=120) == 141
