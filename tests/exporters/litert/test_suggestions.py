"""The n-best hypotheses on a device, and those that begin with what a user has typed."""

import importlib.util
import io
import json
import sys
import zipfile
from pathlib import Path

import conformance_file
import extract
import numpy as np
import older_files
import pytest
import steps
from conftest import toy_pairs
from frames import frames_of, new_frames_pipeline

import keras_bahdanau as kb
from keras_bahdanau import cli, exporters
from keras_bahdanau.exporters import (
    LiteRTExporter,
    LiteRTTranslator,
    OnDevicePipeline,
    OnDeviceTranslator,
    check,
)
from keras_bahdanau.exporters.litert.device_signatures import decode_nbest_on_device
from keras_bahdanau.exporters.litert.on_device import OnDeviceTranslation

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "export" / "on_device" / "translate.py"
SENTENCES = ["three one two", "", "five", "qqq ☃", "one one four four two", "two"]
PREFIXES = ["vier", "eins", "", "zw☃", "eins eins", "zwei"]
LONGEST = 12


@pytest.fixture
def program():
    """The program as a module."""
    spec = importlib.util.spec_from_file_location("translate", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def translate(program, capsys):
    """`translate(*arguments)`: exit code, standard output and standard error of the program."""

    def run(*arguments):
        code = program.main([*map(str, arguments)])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def command(monkeypatch, capsys):
    """`command(*arguments, stdin=...)`: exit code, standard output and error of the package."""

    def run(*arguments, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as ended:
            cli.main([str(argument) for argument in arguments])
        return ended.value.code, *capsys.readouterr()

    return run


def assert_same(found, expected):
    """Assert equal texts and tokens, and nearly equal scores and alignments, for two lists."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one.text, one.finished) == (other.text, other.finished)
        assert (one.source_tokens, one.target_tokens) == (other.source_tokens, other.target_tokens)
        assert one.score == pytest.approx(other.score, abs=1e-5)
        np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-5)
        if isinstance(other, kb.Translation):
            numbers = np.full(len(other.target_tokens), -1)
            for number, word in enumerate(other.words):
                numbers[word.first : word.last + 1] = number
            assert one.token_words.tolist() == numbers.tolist()


@pytest.fixture(params=["in Python", pytest.param("in LiteRT", marks=pytest.mark.slow)])
def answer(request):
    """`answer(function, *arrays)`: the outputs of a tensor function, run in Python or converted."""
    return steps.litert if request.param == "in LiteRT" else lambda function, *args: function(*args)


@pytest.mark.slow
def test_the_signature_for_a_prefix_gives_the_hypotheses_of_keras(toy_translator, answer):
    sentence, prefix = "three one two", "vier"
    source = toy_translator.source.rows([sentence]).padded([0], (1, 6))
    ids = toy_translator.target.encode([prefix])[0][:-1]
    given = np.full((1, LONGEST), 7, np.int32)  # only the first ids count
    given[0, : len(ids)] = ids

    def function(source, prefix, length):
        return decode_nbest_on_device(
            toy_translator, LONGEST, prefix=prefix, prefix_length=length, source=source
        )

    found = answer(function, source, given, np.array([len(ids)], np.int32))
    found = {name: np.asarray(value) for name, value in found.items()}
    search = kb.SearchOptions(max_length=LONGEST)
    (expected,) = toy_translator.translate_nbest([sentence], search=search, prefixes=[prefix])
    assert found["ids"].shape == (1, 5, LONGEST) and found["finished"].dtype == np.int32
    assert found["lengths"][0].tolist() == [len(one.target_tokens) for one in expected]
    for rank, one in enumerate(expected):
        tokens = toy_translator.target.tokens(found["ids"][0, rank, : len(one.target_tokens)])
        assert tokens.tolist() == one.target_tokens
        assert one.text.startswith("vier")
        assert found["scores"][0, rank] == pytest.approx(one.score, abs=1e-5)
        targets, sources = one.alignment.shape
        alignment = found["alignment"][0, rank, :targets, :sources]
        np.testing.assert_allclose(alignment, one.alignment, atol=1e-5)


@pytest.mark.slow
def test_a_file_lists_the_hypotheses_of_keras(toy_translator, suggesting):
    found = OnDeviceTranslator(suggesting).translate_nbest(SENTENCES)
    for one, expected in zip(found, toy_translator.translate_nbest(SENTENCES), strict=True):
        assert_same(one, expected)
    assert [len(one) for one in found] == [5, 1, 5, 5, 5, 5]


@pytest.mark.slow
def test_a_prefix_stays_as_in_the_search_of_keras(toy_translator, suggesting):
    found = OnDeviceTranslator(suggesting).translate_nbest(SENTENCES, prefixes=PREFIXES)
    expected = toy_translator.translate_nbest(SENTENCES, prefixes=PREFIXES)
    for prefix, one, other in zip(PREFIXES, found, expected, strict=True):
        assert_same(one, other)
        if prefix.isalpha() and one[0].source_tokens:
            assert all(suggestion.text.startswith(prefix) for suggestion in one)
    assert all(one.target_tokens[:2] == ["▁zw", "<unk>"] for one in found[3])  # for a snowman
    # An empty source gives an empty text, whatever the prefix.
    assert [one.text for one in found[1]] == [""]


@pytest.mark.slow
def test_one_best_text_is_that_of_translate(suggesting):
    translator = OnDeviceTranslator(suggesting)
    best = translator.translate(SENTENCES)
    for nbest in (1, 3):
        found = translator.translate_nbest(SENTENCES, nbest)
        assert max(map(len, found)) == nbest
        for (first, *_), expected in zip(found, best, strict=True):
            assert_same([first], [expected])


@pytest.mark.slow
def test_an_empty_prefix_is_none_and_any_ids_and_lengths_have_an_answer(suggesting, toy_translator):
    from ai_edge_litert.interpreter import Interpreter

    nbest, begun = map(
        Interpreter(model_path=str(suggesting)).get_signature_runner,
        ("translate_nbest", "translate_prefix"),
    )
    source = toy_translator.source.rows(["three one two"]).padded([0], (1, 24))

    def answer(length, *ids):
        prefix = np.zeros((1, 64), np.int32)
        prefix[0, : len(ids)] = ids
        given = {"prefix": prefix, "prefix_length": np.array([length], np.int32)}
        return begun(source=source, **given)

    free = nbest(source=source)
    for given in ((0,), (-7, 5, 6), (0, 9, 9)):
        for name, value in answer(*given).items():
            np.testing.assert_allclose(value, free[name], atol=1e-6, err_msg=name)
    unknown = answer(3, 1, 1, 1)
    np.testing.assert_array_equal(answer(3, 10**6, -5, 2**31 - 1)["ids"], unknown["ids"])
    ended = answer(2**31 - 1, 5, 3, 6)
    assert ended["ids"][0, 0, :2].tolist() == [5, 3] and ended["lengths"][0, 0] == 2
    assert not ended["lengths"][0, 1:].any() and (ended["scores"][0, 1:] < -1e8).all()


@pytest.mark.slow
def test_a_prefix_that_is_too_long_is_refused_in_one_line(suggesting, command, translate):
    translator = OnDeviceTranslator(suggesting)
    assert translator.longest_prefix == 64
    (found,) = translator.translate_nbest(["one"], prefixes=["eins " * 64])
    assert [(one.text, one.finished) for one in found] == [(" ".join(["eins"] * 64), False)]
    long = "eins " * 65
    with pytest.raises(ValueError, match="prefix may have at most 64 tokens.* Received: 65 to"):
        translator.translate_nbest(["one"], prefixes=[long])
    asked = command("translate", "--model", suggesting, "--prefix", long, stdin="one\n")
    for code, out, err in (asked, translate(suggesting, "one", "--prefix", long)):
        assert (code, out) == (2, "") and err.splitlines()[-1].count("Received: 65 tokens") == 1


@pytest.mark.slow
def test_text_that_utf8_can_not_encode_is_refused_in_one_line(suggesting):
    translator = OnDeviceTranslator(suggesting)
    for sentence, prefix in (("two\ud800", ""), ("two", "zw\ud800")):
        with pytest.raises(
            ValueError, match=r"^A text must .* Received: '(two|zw)\\ud800'. Decode"
        ):
            translator.translate_nbest([sentence], prefixes=[prefix])


@pytest.mark.slow
def test_the_program_and_the_command_print_suggestions_as_for_keras(
    toy_translator, suggesting, tmp_path, command, translate
):
    model = tmp_path / "toy.keras"
    toy_translator.save(model)
    lines = [sentence for sentence in SENTENCES if sentence != "qqq ☃"]
    options = ("--alignment", "--nbest", 3, "--prefix", "vier")
    text = "".join(f"{line}\n" for line in lines)
    expected = command("translate", "--model", model, *options, stdin=text)
    assert expected[0] == 0 and expected[1].count("\n") == 3 * 4 + 1
    for code, out, _ in (
        command("translate", "--model", suggesting, *options, stdin=text),
        translate(suggesting, *lines, *options),
    ):
        assert code == 0
        for line, other in zip(out.splitlines(), expected[1].splitlines(), strict=True):
            found, wanted = line.split(" ||| "), other.split(" ||| ")
            assert float(found.pop(2)) == pytest.approx(float(wanted.pop(2)), abs=1.1e-4)
            assert found == wanted  # number, text and links
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{line}\tvier\n" for line in lines if line), encoding="utf-8")
    asked = ("evaluate", "--metrics", "exact,top3", pairs, "--model")
    (_, of_keras, _), (code, of_file, _) = command(*asked, model), command(*asked, suggesting)
    assert code == 0
    assert [line for line in of_keras.splitlines() if "op" in line and "3" in line][0] in of_file
    best = command("translate", "--model", model, "--prefix", "vier", stdin=text)[1]
    assert translate(suggesting, *lines, "--prefix", "vier")[1] == best


@pytest.mark.slow
def test_a_file_for_prefixes_alone_lists_too(toy_translator, tmp_path):
    path = tmp_path / "prefix.tflite"
    kb.export_litert(
        toy_translator,
        path,
        "int8",
        max_source_length=8,
        max_target_length=8,
        signatures=["prefix"],
    )
    assert check(path) == []
    on_device = OnDeviceTranslator(path)
    assert (on_device.most, on_device.longest_prefix) == (5, 8)
    (found,) = on_device.translate_nbest(["two"])
    assert found[0].text == "zwei" and len(found) == 5
    with zipfile.ZipFile(path) as archive:
        _, row = json.loads(archive.read("card.json"))["parity"]
    assert 0.5 < row["nbest"] <= 1  # the file is 8-bit


@pytest.mark.slow
def test_the_file_describes_what_it_suggests_and_is_compared(suggesting, command):
    assert check(suggesting) == []  # no bool tensors, every shape fixed
    code, out, _ = command("check", suggesting)
    assert code == 0
    answers = (
        "alignment, confidences, finished, ids, lengths, scores, token_entropies, token_log_probs, "
        "token_words"
    )
    assert f"translate_nbest: source -> {answers}\n" in out
    assert f"translate_prefix: prefix, prefix_length, source -> {answers}\n" in out
    assert "n-best" in out
    with zipfile.ZipFile(suggesting) as archive:
        keras, row = json.loads(archive.read("card.json"))["parity"]
    assert (keras["nbest"], row["nbest"]) == (None, 1)


@pytest.mark.slow
def test_other_sources_have_the_signatures_under_their_verb(tmp_path):
    pipeline = new_frames_pipeline()
    path = kb.export_litert(
        pipeline,
        tmp_path / "frames.tflite",
        max_source_length=8,
        max_target_length=5,
        signatures=("nbest", "prefix"),
    )
    on_device, inputs = OnDevicePipeline(path), frames_of(1, 5, 8)
    begun = [hypotheses[-1].text[:1] for hypotheses in pipeline.decode_nbest(inputs)]
    for prefixes in (None, begun):
        expected = pipeline.decode_nbest(inputs, prefixes=prefixes)
        for row, one in enumerate(inputs):
            features = {"values": one, "lengths": len(one)}
            labels = expected[row][0].source_tokens
            prefix = "" if prefixes is None else prefixes[row]
            assert_same(on_device.decode_nbest(features, labels, prefix=prefix), expected[row])


@pytest.mark.slow
def test_exact_hard_attention_suggests_as_in_keras(tmp_path):
    sides = kb.text.Subwords.train_pair(toy_pairs(), vocabulary_size=48)
    sizes = {"units": 12, "embedding_units": 8, "attention_units": 6, "depth": 1}
    model = kb.presets.characters(*sides, hard_alignment="first-monotonic", **sizes)
    model.build()
    extract.randomize(model)
    assert isinstance(model.decoder, kb.HardDecoder)
    search = kb.SearchOptions(beam_width=3, max_length=6)
    translator = kb.Translator(sides[0], model, sides[1], search)
    path = kb.export_litert(
        translator,
        tmp_path / "hard.tflite",
        max_source_length=8,
        max_target_length=6,
        signatures=("nbest", "prefix"),
    )
    on_device, sentences = OnDeviceTranslator(path), ["three one two", "", "five"]
    for prefixes in (None, ["vier", "eins", "zwei"]):
        found = on_device.translate_nbest(sentences, prefixes=prefixes)
        expected = translator.translate_nbest(sentences, prefixes=prefixes)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
        assert len(found[0]) > 1 and len({one.text for one in found[0]}) > 1
    assert all(one.text.startswith("vier") for one in found[0])


@pytest.mark.slow
def test_the_command_line_names_the_signatures(toy_translator, command, tmp_path, monkeypatch):
    toy_translator.save(tmp_path / "toy.keras")
    asked = []
    monkeypatch.setattr(exporters, "export", lambda exporter, *_, **__: asked.append(exporter))
    monkeypatch.setattr(
        exporters, "export_all", lambda *_, **settings: asked.append(settings) or []
    )
    for format, out in (("litert", "new.tflite"), ("saved-model", "new"), ("all", "new")):
        options = ["--model", tmp_path / "toy.keras", "--format", format, "--out", tmp_path / out]
        assert command("export", *options, "--signatures", "prefix")[0] == 0
    litert, saved_model, everything = asked
    assert litert.signatures == saved_model.signatures == everything["signatures"] == ("prefix",)
    code, _, err = command("export", *options, "--signatures", "best")
    assert code == 2 and "'greedy', 'nbest', 'prefix', 'steps'" in err


@pytest.mark.parametrize("signatures", ["nbest", ("best",), ("nbest", "steps", "PREFIX")])
def test_an_unknown_signature_is_refused(signatures):
    with pytest.raises(ValueError, match="'greedy', 'nbest', 'prefix', 'steps'. Received: sig"):
        LiteRTExporter(signatures=signatures)


def test_a_file_without_the_signatures_gives_one_text_and_says_what_it_lacks(
    toy_litert, toy_translator
):
    translator = OnDeviceTranslator(toy_litert)
    assert (translator.most, translator.longest_prefix) == (1, 0)
    (found,) = translator.translate_nbest(["two"])
    assert_same(found, toy_translator.translate(["two"]))
    with pytest.raises(ValueError, match="must be from 1 to 1 in this file. Received: nbest=2"):
        translator.translate_nbest(["two"], 2)
    with pytest.raises(ValueError, match="Export it with the signature prefix"):
        translator.translate_nbest(["two"], prefixes=["zwei"])
    with pytest.raises(ValueError, match="Received: 2 prefixes, 1 sentences"):
        translator.translate_nbest(["two"], prefixes=["zwei", ""])
    with pytest.raises(ValueError, match="Received: 0 prefixes, 1 sentences"):
        LiteRTTranslator(toy_litert).translate(["two"], prefixes=[])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--nbest", 2), "must be from 1 to 1 in this file. Received: nbest=2"),
        (("--nbest", 0), "Received: nbest=0"),
        (("--prefix", "zwei"), "lacks it. Export it with the signature prefix"),
    ],
)
def test_the_program_refuses_what_a_file_lacks_in_one_line(translate, toy_litert, options, named):
    code, out, err = translate(toy_litert, "two", *options)
    assert (code, out) == (2, "") and named in err and err.count("\n") == 1
    assert translate(toy_litert, "two", "--nbest", 1)[1].startswith("0 ||| zwei ||| -0.0")


def test_json_has_all_that_is_known_of_the_text_of_each_line(translate, toy_litert):
    code, out, _ = translate(toy_litert, *SENTENCES, "--json")
    expected = OnDeviceTranslator(toy_litert).translate(SENTENCES)
    lines = [json.dumps({"hypotheses": [conformance_file.fields_of(one)]}) for one in expected]
    assert code == 0 and [json.dumps(json.loads(line)) for line in out.splitlines()] == lines
    assert expected[1].token_words.tolist() == []
    assert all(len(one.token_words) == len(one.target_tokens) for one in expected)


@pytest.mark.slow
def test_json_has_all_that_is_known_of_each_suggestion(translate, suggesting):
    code, out, _ = translate(suggesting, *SENTENCES, "--json", "--nbest", 3, "--prefix", "vier")
    prefixes = ["vier"] * len(SENTENCES)
    lists = OnDeviceTranslator(suggesting).translate_nbest(SENTENCES, 3, prefixes)
    expected = [{"hypotheses": [*map(conformance_file.fields_of, one)]} for one in lists]
    assert code == 0 and [*map(json.loads, out.splitlines())] == expected


def test_json_has_the_names_and_values_of_the_package(translate, command, toy_litert):
    code, out, _ = command("translate", "--model", toy_litert, "--json", stdin="three one two\n")
    (found,) = json.loads(translate(toy_litert, "three one two", "--json")[1])["hypotheses"]
    expected = json.loads(out)
    words = expected.pop("words")
    numbers = [[number] * (word["last"] + 1 - word["first"]) for number, word in enumerate(words)]
    assert code == 0 and found.pop("finished") and not expected.pop("rejected")
    assert found.pop("token_words") == [*sum(numbers, []), -1]
    conformance_file.assert_alike([found], [expected])
    assert len(expected.keys() & {"number", "path"}) == 0 and len(found) == 6


def test_json_has_null_for_what_an_older_file_lacks_and_for_no_finite_number(translate, program):
    code, out, _ = translate(older_files.RELEASED, "one two", "--json")
    (found,) = json.loads(out)["hypotheses"]
    (expected,) = OnDeviceTranslator(older_files.RELEASED).translate(["one two"])
    assert (code, found) == (0, conformance_file.fields_of(expected))
    assert [found[name] for name in ("confidence", *conformance_file.OF_TOKENS)] == [None] * 4
    numbers = np.array([np.nan, -np.inf, 0.5], np.float32)
    infinite = expected._replace(score=float("-inf"), confidence=float("nan"))
    line = program.json_of([infinite._replace(token_entropies=numbers)])
    (found,) = json.loads(line, parse_constant=pytest.fail)["hypotheses"]
    assert (found["score"], found["confidence"]) == (None, None)
    assert found["token_entropies"] == [None, None, 0.5]


@pytest.mark.parametrize(
    "options",
    [
        *("--greedy --nbest 2", "--greedy --prefix zwei", "--nbest two", "--prefix \udcff"),
        *("--json --matrix", "--json --alignment"),
    ],
)
def test_a_wrong_command_line_is_refused(translate, toy_litert, options):
    with pytest.raises(SystemExit, match="2"):
        translate(toy_litert, "two", *options.split())


def test_the_fields_of_a_suggestion_are_those_of_a_translation():
    fields = kb.Translation.__dataclass_fields__
    of_host = {"truncated", "calibration", "rejected", "rejected_text"}
    assert {*OnDeviceTranslation._fields} == {*fields, "token_words"} - of_host
