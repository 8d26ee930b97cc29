"""The client that tokenizes text for a SavedModel of ids: `export/tf_serving/client_ids.mjs`."""

import itertools
import json
import random
import shutil
import subprocess
import time

import copying_speller
import pytest
from serving_double.kit import KIT, programs
from serving_double.process import started

from keras_bahdanau.exporters import IdsSavedModelExporter, export
from keras_bahdanau.exporters.saved_model.version import largest_batch
from keras_bahdanau.exporters.saved_model.version_card import BATCH, load_card
from keras_bahdanau.text.alignments import format_pharaoh, span_links, word_spans

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
LONG = "one " * 600  # more tokens than the model accepts
SERVED = 'config {{ name: "{}" base_path: "{}" model_platform: "tensorflow" }}'
PROGRAM = f"""
import {{ toLines, wrongOutput }} from "{(KIT / "ids_answers.mjs").as_uri()}";
import {{ readFileSync }} from "node:fs";
const lines = (one) => toLines({{ ...one, hypotheses: [one] }}, 0, "")[0];
const wrong = (one) => wrongOutput(one, "decode_ids_nbest_with_alignment", 2) ?? null;
console.log(JSON.stringify(JSON.parse(readFileSync(0)).map((one) => FUNCTION(one))));
"""
LISTED = {
    "ids": [[5, 3], [0, 0]],
    "lengths": [2, 0],
    "scores": [-0.5, -1e9],
    "finished": [True, False],
    "source_length": 2,
    "alignment": [[[1, 0], [0.25, 0.75]], [[0, 0], [0, 0]]],
}
WRONG = [  # (the output that the error names, the change to the answer)
    *((name, {name: None}) for name in LISTED),
    ("ids", {"ids": []}),
    ("lengths", {"ids": [[5, 3]]}),
    ("ids", {"ids": [[5, 3], 7]}),
    ("ids", {"ids": [[5, 3.5], [0, 0]]}),
    ("ids", {"lengths": [3, 0]}),
    ("lengths", {"lengths": [2, -1]}),
    ("lengths", {"lengths": [2]}),
    ("scores", {"scores": [-0.5, "0"]}),
    ("scores", {"scores": [-0.5, None]}),
    ("confidences", {"confidences": [0.5]}),
    ("finished", {"finished": [1, 0]}),
    ("source_length", {"source_length": 3}),
    ("source_length", {"source_length": -1}),
    ("alignment", {"alignment": [[[1, 0]], [[0, 0]]]}),
    ("alignment", {"alignment": [[[1, 0], [0.25]], [[0, 0], [0, 0]]]}),
    ("alignment", {"alignment": [[1, 0], [0.25, 0.75]]}),
    ("token_words", {"token_words": [[0], []]}),
]

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")


@pytest.fixture(scope="module")
def rest():
    """The module `client_rest`; the client of ids must print the same lines and outputs."""
    with programs() as kit:
        yield kit["client_rest"]


@pytest.fixture(scope="module")
def version(toy_translator, once):
    """A SavedModel of ids with all signatures: the path of version 1."""

    def write(path):
        export(
            IdsSavedModelExporter(signatures=("prefix", "alignments")), toy_translator, path.parent
        )

    return once("all-ids/1", write)


@pytest.fixture(scope="module")
def server(toy_ids_model, version, tmp_path_factory):
    """URL of the test double, serving a model with few signatures and one with all of them."""
    config = tmp_path_factory.mktemp("config") / "models.config"
    models = {"few": toy_ids_model.parent, "all": version.parent}
    lines = [SERVED.format(*one) for one in models.items()]
    config.write_text("\n".join(["model_config_list {", *lines, "}"]))
    flags = ["--enable_batching", "--enable_per_model_batching_parameters"]
    with started([f"--model_config_file={config}", *flags]) as ports:
        yield f"http://localhost:{ports['rest']}"


def ask(version, server, *options, lines=(), model="all"):
    """Run the client. Return (exit code, lines of standard output, standard error)."""
    command = ["node", KIT / "client_ids.mjs", "--model", model, "--server", server, *options]
    data = "".join(f"{line}\n" for line in lines)
    assets = version / "assets.extra"
    done = subprocess.run([*command, assets], input=data, capture_output=True, encoding="utf-8")
    return done.returncode, done.stdout.splitlines(), done.stderr


def in_node(function, cases):
    """Return the results of a function in `PROGRAM` for each case."""
    program = PROGRAM.replace("FUNCTION", function)
    command = ["node", "--input-type=module", "--eval", program]
    done = subprocess.run(command, input=json.dumps(cases), capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_output_that_is_missing_or_wrong_is_named():
    cases = [LISTED, {**LISTED, "confidences": [0.5, 0]}, None, 5, {"ids": 5}]
    assert in_node("wrong", cases) == [None, None, "ids", "ids", "ids"]
    found = in_node("wrong", [{**LISTED, **changed} for _, changed in WRONG])
    assert found == [name for name, _ in WRONG]


@pytest.mark.slow
def test_the_links_of_a_long_answer_are_found_in_time():
    many = 160_000
    cases = [
        {
            **{"sources": ["\u2581a"], "words": 1, "text": ""},
            **{"tokens": [token] * many, "alignment": [[1]] * many, **words},
        }
        for token in ("a", "\u2581a", "<unk>")
        for words in ({}, {"token_words": [0] * many})
    ]
    wide = {"sources": ["\u2581a"] * many, "words": many, "alignment": [[1] * many], "text": ""}
    start = time.monotonic()
    found = in_node("lines", [*cases, {**wide, "tokens": ["a"]}])
    assert all(line.startswith(" ||| 0-0") for line in found) and time.monotonic() - start < 60


def test_words_are_linked_as_in_python(rest):
    draw = random.Random(5)
    pieces = ["▁one", "▁one", "▁", "t", "t", "<PST>▁", "<unk>", "</s>", "▁two", ""]
    cases = []
    for sources, targets in itertools.product(range(12), range(12)):
        weights = [[draw.choice([0, 0.125, 0.5]) for _ in range(sources)] for _ in range(targets)]
        tokens = [draw.choices(pieces, k=size) for size in (sources, targets)]
        case = {"sources": tokens[0], "tokens": tokens[1], "alignment": weights, "text": ""}
        cases.append({**case, "words": draw.randrange(6)})
    expected = [
        rest.word_links(
            {
                "source_tokens": one["sources"],
                "source_length": len(one["sources"]),
                "target_tokens": one["tokens"],
                "target_length": len(one["tokens"]),
                "alignment": one["alignment"],
            },
            "w " * one["words"],
        )
        for one in cases
    ]
    assert in_node("lines", cases) == [f" ||| {links}" for links in expected]
    assert len(set(expected)) > 50


@pytest.mark.slow
def test_texts_are_those_of_keras(server, toy_ids_model, toy_translator):
    lines = [*SENTENCES * 5, "one " * 300]  # more than fit in one request
    code, texts, error = ask(toy_ids_model, server, lines=lines, model="few")
    assert code == 0, error
    assert texts[:-1] == [one.text for one in toy_translator.translate(SENTENCES)] * 5
    assert len(texts) == len(lines)


def named(options):
    """Return the signature of a SavedModel of text that matches the client's options."""
    kind = "_prefix" if "--prefix" in options else "_nbest" if "--nbest" in options else ""
    ending = "_with_alignment" if "--alignment" in options else ""
    return f"translate{kind}{ending}" if kind or ending else "serving_default"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "nbest", "prefix"),
    [
        ([], 1, ""),
        (["--alignment"], 1, ""),
        (["--nbest", "1"], 1, ""),
        (["--nbest", "5", "--alignment"], 5, ""),
        (["--prefix", "vier"], 5, "vier"),
        (["--prefix", "zw☃", "--nbest", "3", "--alignment"], 3, "zw☃"),
        (["--prefix", ""], 5, ""),
    ],
)
def test_lines_and_json_are_those_of_client_rest(
    rest, server, version, toy_translator, options, nbest, prefix
):
    signature = named(options)
    code, lines, error = ask(version, server, *options, lines=SENTENCES)
    assert (code, error) == (0, "")
    code, objects, error = ask(version, server, "--json", *options, lines=SENTENCES)
    assert (code, error) == (0, "")
    answers = rest.checked(signature, len(SENTENCES), [*map(json.loads, objects)], "it")
    assert lines == [
        line
        for number, answer in enumerate(answers)
        for line in rest.to_lines(signature, answer, number, SENTENCES[number])
    ]
    lists = toy_translator.translate_nbest(SENTENCES, nbest, prefixes=[prefix] * len(SENTENCES))
    for answer, expected in zip(answers, lists, strict=True):
        assert_those_of_keras(answer, expected, "--alignment" in options)
    if "--alignment" in options:
        assert [line.split(" ||| ")[-1] for line in lines] == [
            format_pharaoh(span_links(words, word_spans(one.target_tokens), one.alignment))
            for words, expected in zip(toy_translator.words(SENTENCES), lists, strict=True)
            for one in expected
        ]


def assert_those_of_keras(answer, expected, aligned):
    """Assert that a JSON answer matches a list of translations, or a single translation."""
    assert answer["truncated"] is False
    listed = "translations" in answer
    plural = {name: f"{name}s" for name in ("translation", "score", "confidence", "target_length")}

    def output(name):
        return answer[plural.get(name, name)] if listed else [answer[name]]

    assert output("translation") == [one.text for one in expected]
    assert output("target_tokens") == [one.target_tokens for one in expected]
    assert output("target_length") == [len(one.target_tokens) for one in expected]
    assert output("finished") == [one.finished for one in expected]
    for name in ("score", "confidence"):
        assert output(name) == pytest.approx([getattr(one, name) for one in expected], abs=1e-5)
    for name in ("token_log_probs", "token_entropies"):
        for found, one in zip(output(name), expected, strict=True):
            assert found == pytest.approx([*getattr(one, name)], abs=1e-4)
    assert [len(words) for words in output("token_words")] == output("target_length")
    assert ("alignment" in answer) == ("source_tokens" in answer) == aligned
    if aligned:
        assert answer["source_tokens"] == expected[0].source_tokens
        assert answer["source_length"] == len(expected[0].source_tokens)
        for found, one in zip(output("alignment"), expected, strict=True):
            assert len(found) == len(one.alignment)
            for row, weights in zip(found, one.alignment, strict=True):
                assert row == pytest.approx([*weights], abs=1e-5)


def links_of(words, answer):
    """Return word links, counting each copied character as part of the word around it."""
    tokens = [token.replace("<unk>", "x") for token in answer.target_tokens]
    return format_pharaoh(span_links(words, word_spans(tokens), answer.alignment))


@pytest.mark.slow
def test_characters_that_a_vocabulary_lacks_are_copied_as_in_keras(tmp_path):
    translator, path = copying_speller.translator(), tmp_path / "speller" / "1"
    exporter = IdsSavedModelExporter(signatures=("prefix", "alignments"))
    export(exporter, translator, path.parent, sentences=copying_speller.TEXTS)
    card = load_card(path)
    assert card["search"]["replace_unknown"] is True
    compared = exporter.compared(translator)
    assert card["max_batch_bytes"] == largest_batch(compared, BATCH, True)["max_batch_bytes"]
    lines = copying_speller.TEXTS  # the client escapes characters that a terminal can't print
    best = [one.text for one in translator.translate(lines)]
    lists = translator.translate_nbest(lines, 3, prefixes=["é"] * len(lines))
    begun = [[str(number), one.text] for number, row in enumerate(lists) for one in row]
    config = tmp_path / "models.config"
    config.write_text(f"model_config_list {{ {SERVED.format('all', path.parent)} }}")
    with started([f"--model_config_file={config}"]) as ports:
        url = f"http://localhost:{ports['rest']}"
        assert ask(path, url, lines=lines) == (0, best, "")
        code, objects, error = ask(path, url, "--json", lines=lines)
        assert (code, error) == (0, "")
        assert [json.loads(one)["translation"] for one in objects] == best
        assert not any("alignment" in json.loads(one) for one in objects)
        code, given, error = ask(path, url, "--nbest", "3", "--prefix", "é", lines=lines)
        assert (code, error) == (0, "")
        assert [line.split(" ||| ")[:2] for line in given] == begun
        code, given, error = ask(path, url, "--alignment", lines=lines)
        assert (code, error) == (0, "")
        expected = [*map(links_of, translator.words(lines), translator.translate(lines))]
        assert [line.split(" ||| ")[-1] for line in given] == expected
    assert {"Z", "Ä", "☃", "⁇"} <= {*"".join([*best, *(text for _, text in begun)])}


@pytest.mark.slow
def test_a_source_that_was_cut_ends_with_the_end_token(server, version):
    code, (line,), error = ask(version, server, "--alignment", "--json", lines=[LONG])
    answer = json.loads(line)
    assert (code, error) == (0, "warning: line 1 is too long and was cut\n")
    assert answer["truncated"] is True
    assert len(answer["source_tokens"]) == answer["source_length"] == 512
    assert answer["source_tokens"][-2:] == ["▁one", "</s>"]
    assert {len(row) for row in answer["alignment"]} == {512}


@pytest.mark.slow
def test_what_is_wrong_gets_one_line(server, toy_ids_model, version, tmp_path):
    other, card = tmp_path / "other", tmp_path / "card"
    for copy in (other, card):
        shutil.copytree(toy_ids_model / "assets.extra", copy / "assets.extra")
    vocabulary = other / "assets.extra" / "source.spm"
    vocabulary.write_bytes(vocabulary.read_bytes() + b" ")
    shutil.copy(version / "assets.extra" / "card.json", card / "assets.extra")
    lacking = "must have the signature decode_ids_{}. Received: serving_default, "
    for one, options, expected, why in (
        (toy_ids_model, ["--label", "none"], 1, "label: none"),
        (toy_ids_model, ["--server", "http://localhost:1"], 1, "answer at http://localhost:1/v1"),
        (toy_ids_model, ["--timeout", "0"], 2, "--timeout seconds"),
        (tmp_path, [], 2, "must be readable. Received: "),
        (other, [], 2, "must be the one of its card"),
        *((toy_ids_model, ["--nbest", k], 2, "positive integer") for k in ("0", "", "0x2", "1.5")),
        (toy_ids_model, ["--nbest", "6"], 2, "at most 5, the width of the model's beam"),
        (toy_ids_model, ["--prefix", "a"], 2, lacking.format("prefix")),
        (
            toy_ids_model,
            ["--prefix", "a", "--alignment"],
            2,
            "--format saved-model-ids --signatures prefix --signatures alignments.",
        ),
        (toy_ids_model, ["--nbest", "2", "--alignment"], 2, "saved-model-ids --signatures align"),
        (card, ["--prefix", "a"], 1, '"decode_ids_prefix" not found in signature def'),
    ):
        code, texts, error = ask(one, server, *options, lines=["two"], model="few")
        assert (code, texts) == (expected, []), error
        assert why in error and error.startswith("error: ") and error.count("\n") == 1
