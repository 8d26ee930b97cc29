"""The Node program for devices behaves like the Python program."""

import json
import random
import shutil
from pathlib import Path

import conformance_file
import keras
import node_packages
import older_files
import pytest
from native_programs import answer_of_full

import keras_bahdanau as kb
from keras_bahdanau import SearchOptions, presets
from keras_bahdanau.exporters import OnDeviceTranslator
from keras_bahdanau.text import Subwords

CHECKOUT = Path(__file__).parents[3]
PROGRAM = CHECKOUT / "export" / "on_device" / "translate.mjs"
SENTENCEPIECE = CHECKOUT / "keras_bahdanau" / "exporters" / "browser" / "page" / "sentencepiece.mjs"
WORDS = CHECKOUT / "examples" / "pronounce" / "models" / "cmudict-small.tflite"
THREADS = CHECKOUT / "tests" / "support" / "threads.mjs"
SPEECH = CHECKOUT / "examples" / "an4" / "models" / "an4.tflite"
CONFIDENCES = CHECKOUT / "tests" / "support" / "confidences.mjs"
LACKING = node_packages.lacking("@litertjs/core")


needs_node = pytest.mark.skipif(bool(LACKING), reason=f"needs {LACKING}")


def node(*arguments, lines=(), content=None, program=PROGRAM, folder=None):
    text = "".join(f"{line}\n" for line in lines).encode()
    content = text if content is None else content
    return node_packages.run(program, *arguments, content=content, folder=folder)


@pytest.mark.few(1)
@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
@pytest.mark.parametrize(
    "name", ["on_device/translate.mjs", "on_device/run_arrays.mjs", "tf_serving/client_ids.mjs"]
)
def test_the_programs_show_their_usage(name):
    code, lines, errors = node("--help", program=CHECKOUT / "export" / name)
    assert (code, errors) == (0, "") and lines[0].startswith(f"Usage: node {Path(name).name} [")
    assert any(line.startswith("  --help ") for line in lines)
    assert "16 kHz" not in " ".join(lines) and "as high as" not in " ".join(lines)
    code, _, errors = node(program=CHECKOUT / "export" / name)
    assert code == 2 and "See --help." in errors


@pytest.fixture(scope="module")
def translator():
    """A translator with random weights: characters, a symbol and spaces in, words out."""
    keras.utils.set_random_seed(3)
    settings = {"vocabulary_size": 16, "exact": False, "normalization": "none"}
    source = Subwords.train(
        ["abc dé ☃", "V;PST a"], model_type="char", symbols=["V;PST"], **settings
    )
    target = Subwords.train(["AA B", "D EH1 K", "B"], model_type="word", **settings)
    sizes = {"units": 12, "attention_units": 8, "embedding_units": 8}
    model = presets.characters(source, target, **sizes)
    search = SearchOptions(beam_width=5, max_length=6)
    return kb.Translator(source, model, target, search)


@pytest.fixture(scope="module")
def speller(translator, tmp_path_factory):
    """The translator's file with the signatures for greedy search, n-best lists and prefixes."""
    folder = tmp_path_factory.mktemp("speller")
    return exported(translator, folder, ("greedy", "nbest", "prefix"))


@pytest.fixture(scope="module")
def bare(translator, tmp_path_factory):
    """The translator's file with only the signature for the best hypothesis."""
    return exported(translator, tmp_path_factory.mktemp("bare"), ())


def exported(translator, folder, signatures):
    path = folder / "speller.tflite"
    lengths = {"max_source_length": 20, "max_target_length": 8}
    kb.export_litert(translator, path, **lengths, allow_differences=True, signatures=signatures)
    return path


@needs_node
@pytest.mark.slow
def test_a_hundred_words_get_the_answers_of_python(speller):
    draw = random.Random(5)
    words = ["".join(draw.choices("abcdé☃ xy", k=draw.randint(0, 12))) for _ in range(95)]
    words += ["V;PST a", "aV;PSTb V;PST", " a", "a  b ", "xyx"]
    words += [" ", "\u00a0\u3000", "\u200b", "\t\ufeff"]  # read as empty
    python, greedy = OnDeviceTranslator(speller), OnDeviceTranslator(speller, greedy=True)
    code, lines, error = node(speller, lines=words)
    assert (code, lines) == (0, [one.text for one in python.translate(words)]), error
    _, lines, _ = node("--greedy", speller, lines=words)
    assert lines == [one.text for one in greedy.translate(words)]
    for prefix in ("", "D", "EH1 AA", "☃ B"):
        code, lines, error = node("--nbest", "5", "--prefix", prefix, speller, lines=words)
        assert code == 0, error
        listed = [(int(number), text, float(score)) for number, text, score in map(parts, lines)]
        lists = enumerate(python.translate_nbest(words, 5, [prefix] * len(words)))
        expected = [(number, one.text, one.score) for number, given in lists for one in given]
        assert [one[:2] for one in listed] == [one[:2] for one in expected]
        assert [one[2] for one in listed] == pytest.approx([one[2] for one in expected], abs=1e-4)
    _, lines, _ = node("--prefix", "D", speller, lines=words[:9])
    best = python.translate_nbest(words[:9], 1, ["D"] * 9)
    assert lines == [one.text for (one,) in best]


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "letters"),
    [("ice", "aábdðeéfghijklmnoprstuvþæö"), ("cmudict-small", "ABCDEFGHIKLMNOPRSTUWY'")],
    ids=["exact hard attention", "four bits"],
)
def test_a_model_of_the_examples_gets_the_answers_of_python(name, letters):
    model = CHECKOUT / "examples" / "pronounce" / "models" / f"{name}.tflite"
    draw = random.Random(6)
    words = ["".join(draw.choices(letters, k=draw.randint(1, 12))) for _ in range(60)]
    code, lines, error = node("--nbest", "5", model, lines=words)
    assert code == 0, error
    expected = [
        f"{number} ||| {one.text} ||| {one.score:.4f}"
        for number, given in enumerate(OnDeviceTranslator(model).translate_nbest(words, 5))
        for one in given
    ]
    pairs = [(parts(line), parts(other)) for line, other in zip(lines, expected, strict=True)]
    same = [one[:2] == other[:2] for one, other in pairs]
    # WebAssembly rounds differently, so hypotheses may swap places.
    assert sum(same) >= 0.99 * len(same)
    assert [float(one[2]) for one, _ in pairs] == pytest.approx(
        [float(other[2]) for _, other in pairs], abs=1e-2
    )


def parts(line):
    return line.split(" ||| ")


@needs_node
@pytest.mark.slow
def test_eight_workers_get_the_texts_of_one_thread():
    words = ("A", "BO", "CAT", "", "IDEA")
    code, (line,), error = node(PROGRAM, WORDS, *words, program=THREADS)
    assert code == 0, error
    assert json.loads(line) == {"right": 2000, "texts": 9}


@needs_node
@pytest.mark.slow
def test_one_text_needs_no_signature_for_lists(bare):
    (expected,) = OnDeviceTranslator(bare).translate(["abc"])
    code, (line,), _ = node("--nbest", "1", bare, "abc")
    assert code == 0
    assert line == f"0 ||| {expected.text} ||| {expected.score:.4f}"


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("search", ["best", "greedy", "nbest"])
def test_json_is_that_of_a_conformance_file(speller, search):
    words = ["abc", "", "V;PST aV;PST", "☃ é"]
    options = {"best": (), "greedy": ("--greedy",), "nbest": ("--nbest", "5")}[search]
    code, lines, error = node("--json", *options, speller, lines=words)
    assert code == 0, error
    expected = conformance_file.answers_of(speller, words)["inputs"]
    for line, row in zip(lines, expected, strict=True):
        conformance_file.assert_alike(
            json.loads(line)["hypotheses"], row[search]["hypotheses"], atol=1e-4
        )


@needs_node
@pytest.mark.slow
def test_json_of_an_older_file_has_null_for_what_it_lacks(tmp_path):
    older = older_files.sealed(tmp_path / "older.tflite")
    code, (line,), error = node("--json", older, "one two")
    assert code == 0, error
    (row,) = conformance_file.answers_of(older, ["one two"])["inputs"]
    expected = row["best"]["hypotheses"]
    conformance_file.assert_alike(json.loads(line)["hypotheses"], expected, atol=1e-4)
    assert expected[0]["confidence"] is None and expected[0]["token_words"] is None


@needs_node
@pytest.mark.slow
def test_texts_have_the_confidences_of_python_and_of_older_files_none(speller, tmp_path):
    python = OnDeviceTranslator(speller)
    lists = {"": python.translate(["abc"]), "_nbest": python.translate_nbest(["abc"])[0]}
    for kind, expected in lists.items():
        code, (line,), error = node(PROGRAM, speller, kind, "abc", program=CONFIDENCES)
        assert code == 0, error
        for (confidence, *found), one in zip(json.loads(line), expected, strict=True):
            assert confidence == pytest.approx(one.confidence, abs=1e-4)
            assert found[0] == pytest.approx(one.token_log_probs.tolist(), abs=1e-4)
            assert found[1] == pytest.approx(one.token_entropies.tolist(), abs=1e-4)
            assert found[2] == one.token_words.tolist()
    older = older_files.sealed(tmp_path / "older.tflite")
    code, (line,), error = node(PROGRAM, older, "", "one two", program=CONFIDENCES)
    assert (code, json.loads(line)) == (0, [[None, [], [], []]]), error


@needs_node
@pytest.mark.slow
def test_only_a_line_feed_ends_a_line(speller):
    sentences = ["ab\rc", "d\u2028e", "", "x a"]
    expected = [one.text for one in OnDeviceTranslator(speller).translate(sentences)]
    content = "\ufeffab\rc\r\nd\u2028e\n\nx a".encode()
    code, lines, error = node(speller, content=content)
    assert (code, lines) == (0, expected), error


@needs_node
@pytest.mark.slow
def test_an_output_without_room_is_an_error(bare):
    code, complaint = answer_of_full(["node", PROGRAM, bare, "a"])
    assert code == 2 and "Standard output must accept all lines. Received: ENOSPC" in complaint


@needs_node
@pytest.mark.slow
def test_bytes_that_are_no_utf8_end_it_behind_the_lines_before(speller):
    (expected,) = OnDeviceTranslator(speller).translate(["abc"])
    code, lines, error = node(speller, content=b"abc\nab\xff\nabc\n")
    assert (code, lines) == (2, [expected.text])
    assert "must be UTF-8. Received: line 2" in error.splitlines()[-1]


@needs_node
@pytest.mark.slow
def test_it_runs_by_another_name_in_a_directory_with_spaces(speller, tmp_path):
    folder = tmp_path / "a directory, 100%20"
    packages = Path(node_packages.package("@litertjs/core")).parents[
        2
    ]  # with its dependencies, which have the same publisher
    shutil.copytree(packages, folder / "node_modules" / packages.name)
    shutil.copy(speller, folder / "a speller.tflite")
    (folder / "tr.mjs").symlink_to(PROGRAM)
    (expected,) = OnDeviceTranslator(speller).translate(["abc"])
    code, lines, error = node("a speller.tflite", "abc", program="tr.mjs", folder=folder)
    assert (code, lines) == (0, [expected.text]), error


IMPORTING = """
import { readFileSync } from "node:fs";
import { SentencePiece } from %s;
const vocabulary = new SentencePiece(readFileSync(process.argv[2]));
const decode = (ids) => vocabulary.decode(ids), encode = (text) => vocabulary.encode(text);
const todo = (one) => typeof one === "string" ? encode(one) : decode(one);
console.log(JSON.stringify(JSON.parse(process.argv[3]).map(todo)));
"""


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("normalization", ["none", "identity"])
@pytest.mark.parametrize("kind", ["char", "word"])
def test_a_program_of_the_same_name_imports_it_and_decodes_any_ids(kind, normalization, tmp_path):
    settings = {"vocabulary_size": 18, "exact": False, "normalization": normalization}
    subwords = Subwords.train(["abc d e  x", "a b"], model_type=kind, **settings)
    (tmp_path / "target.spm").write_bytes(subwords.model)
    program = tmp_path / PROGRAM.name
    program.write_text(IMPORTING % json.dumps(SENTENCEPIECE.as_uri()))
    draw = random.Random(5)
    spaced = [i for i in range(subwords.vocabulary_size) if subwords.tokens([i])[0][:1] == "▁"]
    likely = [0, 1, 1, 2, *spaced, *spaced, *range(4, subwords.vocabulary_size)]
    rows = [
        [1],
        [1, *spaced[:1]],
        *(draw.choices(likely, k=draw.randint(0, 5)) for _ in range(200)),
    ]
    code, (line,), error = node(tmp_path / "target.spm", json.dumps(rows), program=program)
    assert code == 0, error
    assert json.loads(line) == subwords.decode(rows)


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("normalization", ["nfd", "nmt_nfkc_cf"])
@pytest.mark.parametrize("kind", ["char", "word"])
def test_its_vocabularies_normalize_texts_as_sentencepiece_does(kind, normalization, tmp_path):
    texts = ["한국어 각 가나", "<é> été À", "ﬁn ① が ｶﾞ", "q\u0323\u0301 ệ"]
    settings = {"exact": False, "normalization": normalization, "symbols": ["<é>"]}
    subwords = Subwords.train(texts, 80, model_type=kind, **settings)
    (tmp_path / "target.spm").write_bytes(subwords.model)
    program = tmp_path / PROGRAM.name
    program.write_text(IMPORTING % json.dumps(SENTENCEPIECE.as_uri()))
    draw = random.Random(5)
    characters = [*"".join(texts), *" 뷁한국à①ﬀ𓀀\u11a8\u1161\u0301\u3000", "<é>"]
    texts += [
        "",
        " ",
        *("".join(draw.choices(characters, k=draw.randint(1, 12))) for _ in range(200)),
    ]
    rows = [row.tolist() for row in subwords.encode(texts, end_of_empty=False)]
    rows = [row[:-1] for row in rows]  # without the end token
    cases = json.dumps([*texts, *rows])
    code, (line,), error = node(tmp_path / "target.spm", cases, program=program)
    assert code == 0, error
    assert json.loads(line) == [*rows, *subwords.decode(rows)]


@needs_node
@pytest.mark.slow
def test_what_it_cannot_read_is_refused_in_one_line(speller, bare, tmp_path):
    changed = bytearray(speller.read_bytes())
    changed[5000] ^= 1
    (tmp_path / "changed.tflite").write_bytes(changed)
    for arguments, why in (
        ([speller, "a" * 20], "error: sentence 1: A sentence may have at most 20 tokens in this"),
        ([tmp_path / "changed.tflite", "a"], "that are not its sha256"),
        ([], "must name a model"),
        ([tmp_path / "none.tflite", "a"], "A file must be readable. Received: "),
        (["--greedy", bare, "a"], "must have the signature translate_greedy. Received: translate."),
        (["--greedy", "--prefix", "D", speller, "a"], "neither --nbest nor --prefix"),
        (["--nbest", "6", speller, "a"], "from 1 to 5 in this file. Received: nbest=6"),
        (["--prefix", "D " * 9, speller, "a"], "6 tokens in this file. Received: 9 tokens in 'D D"),
        (["--nbest", "2", bare, "a"], "from 1 to 1 in this file. Received: nbest=2"),
        *((["--nbest", text, speller, "a"], "a positive integer") for text in ("0x2", "1e0", "0")),
        ([speller, "a\udcff"], "command line must be UTF-8. Received: "),
        (["--prefix", "D", bare, "a"], "Export it with the signature prefix"),
        ([SPEECH, "a"], "A file must be readable. Received: 'a'"),
    ):
        code, lines, error = node(*arguments)
        assert (code, lines) == (2, [])
        assert why in error.splitlines()[-1]
