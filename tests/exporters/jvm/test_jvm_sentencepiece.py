"""SentencePiece on a JVM, in Kotlin and through JNI, gives the same ids and text as the library."""

import base64
import json
import shutil
import subprocess
from pathlib import Path

import conformance_file
import kotlin_programs
import pytest
import sentencepiece
from kotlin_programs import KIT

SUPPORT = Path(__file__).parents[2] / "support"
LACKING = kotlin_programs.lacking("java", "kotlin")
MANY = 33_000

pytestmark = pytest.mark.slow


def found(command):
    """Run a command and return the JSON object that it prints."""
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def held_against(tmp_path_factory):
    """`held_against(path)`: the Kotlin program's report on a conformance file."""
    classes = tmp_path_factory.mktemp("classes")
    names = ("Json", "Normalizer", "Protobuf", "Segmentation", "SentencePiece")
    sources = [KIT / f"{name}.kt" for name in names]
    kotlin_programs.compile_kotlin([*sources, SUPPORT / "Conformance.kt"], classes)
    return lambda path: found(kotlin_programs.command(classes, "ConformanceKt", path))


@pytest.mark.skipif(LACKING is not None, reason=f"needs {LACKING}")
def test_every_kind_of_vocabulary_gives_the_ids_and_texts_of_the_library(held_against, tmp_path):
    path = tmp_path / "conformance.json"
    conformance_file.write(path, MANY)
    counts = held_against(path)
    assert counts["wrong"] == 0, counts["first"]
    assert min(counts["encodings"], counts["decodings"]) >= MANY
    whole = json.loads(path.read_text("utf-8"))
    row = whole["vocabularies"][0]
    row["encodings"][0]["ids"], row["decodings"][1]["text"] = [4], "☃"
    path.write_text(json.dumps({"vocabularies": [row]}), encoding="utf-8")
    assert held_against(path)["wrong"] == 2


def native_library(directory):
    """Compile the functions of `SentencePieceJni`. Return the name of a missing tool, or None."""
    for tool in ("javac", "g++", "pkg-config"):
        if shutil.which(tool) is None:
            return tool
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "sentencepiece"], capture_output=True, text=True
    )
    if flags.returncode:
        return "libsentencepiece-dev"
    home = Path(shutil.which("javac")).resolve().parents[1] / "include"
    command = ["g++", "-std=c++20", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    command += [
        "-I",
        home,
        "-I",
        home / "linux",
        KIT / "sentencepiece_jni.cc",
        *flags.stdout.split(),
    ]
    output = directory / "libtranslation_sentencepiece.so"
    subprocess.run([*command, *flags.stdout.split(), "-o", output], check=True)
    return None


def base64_of(text):
    return base64.b64encode(text.encode()).decode()


def test_the_library_behind_jni_gives_its_own_ids_and_texts_on_500_texts(tmp_path):
    lacks = native_library(tmp_path)
    if lacks:
        pytest.skip(f"needs {lacks}")
    sources = [KIT / "SentencePieceJni.java", SUPPORT / "Native.java"]
    subprocess.run(["javac", "-Xlint:all", "-Werror", "-d", tmp_path, *sources], check=True)
    texts = [text for text in conformance_file.texts(530) if isinstance(text, str)][:500]
    models = conformance_file.vocabularies()
    for name in ("bpe, nmt_nfkc, 4 symbols", "bpe, bytes", "unigram, bytes"):
        (tmp_path / "model").write_bytes(models[name])
        library = sentencepiece.SentencePieceProcessor(model_proto=models[name])
        given = "".join(f"{base64_of(text)}\n" for text in texts)
        settings = {"libraries": tmp_path, "kotlin": False}
        command = kotlin_programs.command(tmp_path, "Native", tmp_path / "model", **settings)
        done = subprocess.run(command, input=given, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        *lines, first, second = done.stdout.splitlines()
        assert (first, second, len(lines)) == ("refused", "refused", 500)
        rows = [line.split(";") for line in lines]
        received = [[int(id) for id in ids.split()] for ids, _ in rows]
        expected = library.encode(texts)
        assert [text for _, text in rows] == [base64_of(library.decode(ids)) for ids in expected]
        # Versions of the library may choose differently among splits with equal probability.
        ties = [pair for pair in zip(received, expected, strict=True) if pair[0] != pair[1]]
        scores = [[sum(map(library.get_score, ids)) for ids in pair] for pair in ties]
        assert all(one == pytest.approx(other, abs=1e-4) for one, other in scores)
        assert len(ties) <= (10 if name.startswith("unigram") else 0)
