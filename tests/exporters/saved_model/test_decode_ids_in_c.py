"""A SavedModel of ids gives Python's answers in a C program: `export/tf_serving/decode_ids.c`."""

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest
import sentencepiece
import tensorflow as tf
from native_programs import STRICT, answer, answer_of_full

from keras_bahdanau.exporters.cpp_loader.c_library import find_library

PROGRAM = Path(__file__).parents[3] / "export" / "tf_serving" / "decode_ids.c"
END = 3


def missing():
    """Return the name of a compiler or library missing on this machine, or None."""
    try:
        return None if find_library().suffix == ".2" and shutil.which("gcc") else "gcc on Linux"
    except RuntimeError:
        return "libtensorflow_cc.so.2"


LACKING = missing()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(LACKING is not None, reason=f"needs {LACKING}"),
]


@pytest.fixture(scope="module")
def program(once):
    """The command that runs the compiled program."""
    library = find_library()
    libraries = [library, library.with_name(library.name.replace("_cc", "_framework"))]
    settings = ["-std=c11", "-pedantic", *STRICT, "-I", library.parent / "include"]

    def build(path):
        command = ["gcc", *settings, PROGRAM, "-o", path, *libraries]
        subprocess.run([*command, f"-Wl,-rpath,{library.parent}"], check=True)

    quiet = ["env", "TF_CPP_MIN_LOG_LEVEL=3", "CUDA_VISIBLE_DEVICES=-1"]
    return [*quiet, once("decode_ids", build)]


@pytest.fixture
def decode(program):
    """`decode(saved_model, *arguments, data)`: the program's result, in the form of `answer`."""

    def run(*arguments, data=b""):
        code, texts, complaints = answer([*program, *arguments], data)
        return code, texts, [one for one in complaints if one.startswith("error: ")]

    return run


def sentences(count):
    draw = random.Random(2)
    words = ("one", "two", "three", "four", "five", "six", "☃", "Two")
    found = [" ".join(draw.choices(words, k=draw.randint(0, 7))) for _ in range(count - 3)]
    return ["", "  ", "qqq ☃", *found]


def split(texts, version):
    """Tokenize texts into the input lines that the program reads."""
    vocabulary = version / "assets.extra" / "source.spm"
    rows = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary)).encode(texts)
    lines = (" ".join(map(str, [*ids, END] if ids else [])) for ids in rows)
    return "".join(f"{line}\n" for line in lines).encode()


@pytest.mark.parametrize("signature", ["serving_default", "decode_ids_with_alignment"])
def test_70_sentences_get_the_ids_and_scores_of_keras(
    decode, toy_ids_model, toy_translator, signature
):
    inputs = sentences(70)
    data = split(inputs, toy_ids_model)
    code, (*lines, last), complaints = decode(toy_ids_model, signature, data=data)
    assert (code, last, complaints) == (0, "", [])
    found, expected = [*map(json.loads, lines)], toy_translator.translate(inputs)
    tokens = [toy_translator.target.tokens(one["ids"]) for one in found]
    assert [[*each] for each in tokens] == [one.target_tokens for one in expected]
    scores = [one.score for one in expected]
    assert [one["score"] for one in found] == pytest.approx(scores, abs=1e-5)
    assert len({one.text for one in expected}) > 30


@pytest.mark.parametrize("count", [None, 2, 99])
def test_lists_of_hypotheses_are_those_of_keras(decode, toy_ids_model, toy_translator, count):
    inputs = sentences(20)
    asked = ["decode_ids_nbest", *([] if count is None else [count])]
    data = split(inputs, toy_ids_model)
    code, (*lines, last), complaints = decode(toy_ids_model, *asked, data=data)
    assert (code, last, complaints) == (0, "", [])
    lists = toy_translator.translate_nbest(inputs)
    for line, expected in zip(lines, lists, strict=True):
        found = json.loads(line)["hypotheses"]
        assert len(found) == len(expected[:count])
        for one, hypothesis in zip(found, expected[:count], strict=True):
            tokens = toy_translator.target.tokens(one["ids"])
            assert [*tokens] == hypothesis.target_tokens
            assert one["score"] == pytest.approx(hypothesis.score, abs=1e-5)


@pytest.mark.parametrize(
    ("signature", "lacking", "received"),
    [
        ("decode", "signature 'decode'", {"serving_default", "decode_ids_nbest", "score_ids"}),
        ("", "signature ''", {"serving_default"}),
        ("score_ids", "output 'ids'", {"score", "length", "confidence", "truncated"}),
    ],
)
def test_a_wrong_signature_is_named_in_one_line(
    decode, toy_ids_model, signature, lacking, received
):
    code, texts, (complaint,) = decode(toy_ids_model, signature, data=b"5 3\n")
    assert (code, texts) == (2, [""])
    demand, _, rest = complaint.partition(". Received: ")
    assert demand == f"error: There must be the {lacking}"
    assert received <= {*rest.partition(". Name another signature")[0].split(", ")}


def test_a_signature_with_another_input_is_named_in_one_line(decode, tmp_path):
    class Shout(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
        def upper(self, text):
            return {"text": tf.strings.upper(text)}

    module = Shout()
    tf.saved_model.save(module, str(tmp_path), signatures=module.upper)
    code, texts, (complaint,) = decode(tmp_path)
    assert (code, texts) == (2, [""])
    assert "There must be the input 'source'. Received: text. Name another" in complaint


def test_what_is_no_saved_model_is_refused_in_one_line(decode, tmp_path):
    for arguments in ([tmp_path], [tmp_path / "none"]):
        code, texts, (complaint,) = decode(*arguments)
        assert (code, texts) == (2, [""])
        assert f"Received: path='{arguments[0]}' (Could not find SavedModel" in complaint
    for arguments in ([], ["one", "two", "3", "four"]):
        code, texts, (complaint,) = decode(*arguments)
        assert (code, texts) == (2, [""])
        assert f"Received: {len(arguments)} arguments." in complaint


@pytest.mark.parametrize("count", ["0", "-1", "x", "2x", ""])
def test_a_wrong_count_is_refused_in_one_line(decode, toy_ids_model, count):
    code, texts, (complaint,) = decode(toy_ids_model, "decode_ids_nbest", count)
    assert (code, texts) == (2, [""])
    assert f"COUNT must be a positive integer. Received: '{count}'" in complaint


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (b"5 x 3", "Received: line 2, with another one"),
        (b"5 3.5", "Received: line 2, with another one"),
        (b"99999999999 3", "Received: line 2, with another one"),
        (b"5 " * 20_000, "Received: line 2, with another one"),
        (b"5 " * 2000, "Received: line 2, which has more ids. Split it"),
        (b"5\0 6\n7", "Received: another line 2"),
        (b" " * 2**18, "Received: another line 2"),
    ],
    ids=["a word", "a fraction", "64 bits", "more than any", "too long", "zero byte", "long"],
)
def test_a_wrong_line_ends_it_behind_the_lines_before(decode, toy_ids_model, line, named):
    code, texts, (complaint,) = decode(toy_ids_model, data=b"5 3\n" + line + b"\n5 3\n")
    assert (code, len(texts)) == (2, 2) and "score" in texts[0]
    assert named in complaint


def test_an_output_without_room_is_an_error(program, toy_ids_model):
    code, complaint = answer_of_full([*program, toy_ids_model], b"5 3\n")
    assert code == 2 and "output must accept all lines. Received: an error at line 1" in complaint
