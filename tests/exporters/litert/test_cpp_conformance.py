"""The C++ translator gives the hypotheses in the conformance file, which Python wrote."""

import json
import random
from pathlib import Path

import conformance_file
import pytest
from native_programs import answer, build, needs_compiler

from keras_bahdanau import export_litert
from keras_bahdanau.exporters import OnDeviceTranslator

EXAMPLES = Path(__file__).parents[3] / "examples"
OPTIONS = {"best": (), "greedy": ("--greedy",), "nbest": ("--nbest", "5")}
WORDS = (
    "one",
    "two",
    "three",
    "four",
    "five",
    "Two",
    "ｆｉｖｅ",
    "ﬁve",
    "six",
    " ",
    "☃",
    '"',
    "\\",
)

pytestmark = [pytest.mark.slow, needs_compiler]


@pytest.fixture(scope="module")
def translate(once):
    """The path of the compiled program."""
    return once("programs for devices", build) / "translate"


@pytest.fixture(scope="module")
def in_eight_bits(toy_translator, once):
    """The toy translator as an int8 LiteRT file, with all signatures for text."""
    settings = {"max_source_length": 24, "allow_differences": True, "quantization": "int8"}
    signatures = ("greedy", "nbest", "prefix")
    return once(
        "int8.tflite",
        lambda path: export_litert(toy_translator, path, signatures=signatures, **settings),
    )


def sentences(count):
    """Return single-line texts: most from the toy's vocabulary, the last 100 arbitrary."""
    draw = random.Random(9)
    found = [" ".join(draw.choices(WORDS, k=draw.randrange(9))) for _ in range(count - 100)]
    anything = [one for one in conformance_file.texts(200) if isinstance(one, str)]
    return [*found, *(" ".join(one.split()) for one in anything[:100])]


def dates(count):
    draw = random.Random(3)
    months = ("March", "Mai", "juin", "Sept.", "дек")
    return [
        f"{draw.randint(1, 31)} {draw.choice(months)} {draw.randint(1900, 2050)}"
        for _ in range(count)
    ]


def words(count):
    draw = random.Random(4)
    return [
        "".join(draw.choices("ABCDEFGHIKLMNOPRSTUWY'", k=draw.randint(0, 12))) for _ in range(count)
    ]


def small_letters(count):
    return [word.lower() for word in words(count)]


def written(path, model, inputs):
    """Write a model's conformance file and read it back as a program in any language would."""
    answers = conformance_file.answers_of(model, inputs)
    path.write_text(json.dumps({"answers": answers}, ensure_ascii=False), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))["answers"]["inputs"]


def ask(program, model, texts, *options):
    """Return the program's hypotheses for each text."""
    data = "".join(f"{text}\n" for text in texts).encode()
    code, (*lines, last), complaints = answer([program, "--json", *options, model], data)
    assert (code, last, complaints) == (0, "", [])
    return [json.loads(line)["hypotheses"] for line in lines]


def assert_all_alike(found, expected):
    """Assert that all fields of the hypotheses of each input match, with none missing or added."""
    for one, other in zip(found, expected, strict=True):
        conformance_file.assert_alike(one, other)


def assert_conforms(program, model, inputs, path):
    rows = written(path / "conformance.json", model, inputs)
    fitting = [row for row in rows if "best" in row]
    for search in {*fitting[0]} & {*OPTIONS}:
        expected = [row[search]["hypotheses"] for row in fitting]
        found = ask(program, model, [row["text"] for row in fitting], *OPTIONS[search])
        assert_all_alike(found, expected)
    for row in [row for row in rows if "best" not in row][:3]:
        code, lines, (complaint,) = answer([program, model], row["text"].encode())
        assert (code, lines) == (2, [""])
        assert f"in this file. Received: {len(row['ids'])} tokens" in complaint
    return {*fitting[0]} & {*OPTIONS}


def test_500_sentences_get_the_hypotheses_of_every_search(translate, suggesting, tmp_path):
    inputs = [*sentences(500), "one " * 40]
    assert assert_conforms(translate, suggesting, inputs, tmp_path) == {*OPTIONS}


def test_500_sentences_get_them_of_a_model_in_eight_bits(translate, in_eight_bits, tmp_path):
    assert assert_conforms(translate, in_eight_bits, sentences(500), tmp_path) == {*OPTIONS}


@pytest.mark.parametrize(
    ("model", "inputs"),
    [
        ("dates/models/dates.tflite", dates),
        ("pronounce/models/cmudict.tflite", words),
        ("pronounce/models/ice.tflite", small_letters),
        ("pronounce/models/cmudict-small.tflite", words),
    ],
    ids=["dates", "words", "exact hard attention", "four bits"],
)
def test_500_texts_get_them_of_a_model_of_the_examples(translate, tmp_path, model, inputs):
    assert "best" in assert_conforms(translate, EXAMPLES / model, inputs(500), tmp_path)


@pytest.mark.parametrize("bits", [32, 8])
@pytest.mark.parametrize("prefix", ["vier", "zw☃", "eins fünf"])
def test_500_sentences_get_the_suggestions_of_python(
    translate, suggesting, in_eight_bits, bits, prefix
):
    model, inputs = suggesting if bits == 32 else in_eight_bits, sentences(500)
    python = OnDeviceTranslator(model)
    inputs = [one for one in inputs if len(python.vocabulary("source").encode(one)) < 24]
    expected = [
        [*map(conformance_file.fields_of, each)]
        for each in python.translate_nbest(inputs, 5, [prefix] * len(inputs))
    ]
    assert_all_alike(ask(translate, model, inputs, "--nbest=5", "--prefix", prefix), expected)
    assert sum(len(each) for each in expected) > 4 * len(inputs)
