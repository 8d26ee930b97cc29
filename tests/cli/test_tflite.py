"""Commands that get a .tflite file instead of a .keras file."""

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from keras_bahdanau import cli
from keras_bahdanau.evaluation import evaluate
from keras_bahdanau.exporters import LiteRTPipeline, LiteRTTranslator
from keras_bahdanau.text.alignments import format_pharaoh, word_links

SENTENCES = ["three one two", "", "five", "one one four", "qqq ☃"]
REFERENCES = ["drei eins zwei", "", "fünf", "eins eins vier", "zwei"]
TOO_LONG = " ".join(["one", "two", "three"] * 10)  # 30 words for a file that accepts 24 tokens
PROGRAM = """
import json, sys
from keras_bahdanau import cli
for arguments in json.loads(sys.argv[1]):
    try:
        cli.main(arguments)
    except SystemExit as ended:
        print("exit", ended.code)
print(*sorted({"keras", "tensorflow", "tensorflow_text"} & set(sys.modules)))
"""


@pytest.fixture(scope="module")
def translator(toy_litert):
    return LiteRTTranslator(toy_litert)


@pytest.fixture
def command(monkeypatch, capsys):
    """`command(*arguments, stdin="")`: exit code, standard output and error, in this process."""

    def run(*arguments, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as ended:
            cli.main([str(argument) for argument in arguments])
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The current directory, with the sentences and their references."""
    monkeypatch.chdir(tmp_path)
    for name, lines in (("s.en", SENTENCES), ("s.de", REFERENCES)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_commands_load_neither_tensorflow_nor_keras_for_a_tflite_file(
    toy_litert, toy_translator, files
):
    model = ["--model", str(toy_litert)]
    commands = [
        ["translate", *model, "--alignment", "s.en"],
        ["align", *model, SENTENCES[0], "--plot", "map.png"],
        ["evaluate", *model, "s.en", "s.de", "--json", "scores.json", "--plot", "lengths.png"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)], capture_output=True, text=True
    )
    unknown = "line 5: the model does not know: qqq ☃. The output may be wrong.\n"
    counted = "1 of 5 sources has parts that the vocabulary does not know: qqq ☃\n"
    blind = (
        "BLEU is meaningless for these references: BLEU counts 4-grams, but with the tokenization "
        "13a only 0 of 5 have four tokens. Use the metric chrf or --tokenize char\n"
    )
    assert done.stderr == "".join(f"keras-bahdanau: {line}" for line in (unknown, counted, blind))
    results = toy_translator.translate(SENTENCES)
    links = [
        format_pharaoh(word_links(one.source_tokens, one.target_tokens, one.alignment))
        for one in results
    ]
    expected = [f"{one.text} ||| {link}" for one, link in zip(results, links, strict=True)]
    out = done.stdout.split("\n")
    assert out[:9] == [*expected, "exit 0", results[0].text, links[0], "exit 0"]
    assert out[-3:] == ["exit 0", "", ""]  # none of the forbidden modules was loaded
    for picture in ("map.png", "lengths.png"):
        assert (files / picture).read_bytes().startswith(b"\x89PNG")
    scores = json.loads((files / "scores.json").read_text())
    measured = evaluate(toy_translator, list(zip(SENTENCES, REFERENCES, strict=True)))
    assert scores["bleu"] == pytest.approx(measured.bleu)
    assert scores["attention_entropy"] == pytest.approx(measured.attention_entropy, rel=1e-4)
    assert scores["perplexity"] is scores["token_accuracy"] is None


def test_a_tflite_file_gives_the_translations_of_keras(translator, toy_translator):
    for one, expected in zip(
        translator.translate(SENTENCES), toy_translator.translate(SENTENCES), strict=True
    ):
        assert type(one) is type(expected)
        assert one.text == expected.text and one.finished == expected.finished
        assert one.source_tokens == expected.source_tokens
        assert one.target_tokens == expected.target_tokens
        assert one.score == pytest.approx(expected.score, abs=1e-4)
        np.testing.assert_allclose(one.alignment, expected.alignment, atol=1e-4)


def test_a_line_that_is_too_long_is_cut_and_named_and_the_others_are_as_alone(
    command, toy_litert, translator
):
    lines = ["two", TOO_LONG, "five"]
    code, out, err = command(
        "translate", "--model", toy_litert, "--alignment", stdin="\n".join(lines)
    )
    assert code == 0
    assert err == (
        "keras-bahdanau: line 2 is too long: only its first 24 tokens, or 768 bytes, are read. "
        "Split it, or raise --max-source-length (for a .tflite file, when "
        "you export it).\n"
    )
    first, cut, last = out.splitlines()
    assert (first, last) == ("zwei ||| 0-0", "fünf ||| 0-0")
    (kept,) = translator.translate([TOO_LONG])
    words = "".join(kept.source_tokens[:-1]).replace("▁", " ").strip()
    assert TOO_LONG.startswith(words) and len(kept.source_tokens) == 24
    (alone,) = translator.translate([words])
    assert cut.startswith(f"{kept.text} ||| ") and kept.text == alone.text
    np.testing.assert_array_equal(kept.alignment, alone.alignment)


def test_texts_of_low_confidence_are_left_out(command, toy_litert, translator):
    texts = translator.translate(["two", "qqq ☃"])
    below = round(sum(one.confidence for one in texts) / 2, 4)
    code, out, err = command(
        *("translate", "--model", toy_litert, "--reject-below", below), stdin="two\nqqq ☃\n"
    )
    expected = ["" if one.confidence < below else one.text for one in texts]
    assert code == 0 and "1 of 2 outputs are left out because their confidence is below" in err
    assert out.splitlines() == expected and expected.count("") == 1


def test_a_sentence_of_the_longest_length_is_whole(translator):
    texts = ["", *("one " * count for count in range(1, 30))]
    counts = [len(row) for row in translator.source.subwords.encode(texts, end_of_empty=False)]
    results = translator.translate(texts)
    assert [one.truncated for one in results] == [count > 24 for count in counts]
    assert [len(one.source_tokens) for one in results] == [min(count, 24) for count in counts]
    assert {one.source_tokens[-1] for one in results[1:]} == {"</s>"}
    rows = translator.source.words(texts, translator.longest())
    assert [len(row) for row in rows] == [min(count, 24) for count in counts]
    whole = counts.index(max(count for count in counts if count <= 24))
    assert rows[whole][-1].tolist() == [whole, whole]  # the end token follows the words


@pytest.mark.parametrize(
    "arguments, received",
    {
        "translate --beam-width 3 --no-repeat-ngram 2": "beam_width=3, no_repeat_ngram=2.",
        "translate --nbest 2": "nbest=2.",
        "evaluate s.en s.de --metrics exact,top2": "nbest=2.",
        "translate --model other.tflite": "2 models, model=",
        "align one --trace t.png": "trace='t.png', model=",
        "align one --explore t.html": "explore='t.html', model=",
        "align one --prefix ein": "path=",
        "evaluate s.en s.de --alignments s.en": "alignments='s.en'.",
        "evaluate s.en s.de --min-length 2": "min_length=2.",
    }.items(),
)
def test_what_a_tflite_file_has_fixed_is_refused_in_one_line(
    arguments, received, command, toy_litert, files
):
    name, *rest = arguments.split()
    code, out, err = command(name, "--model", toy_litert, *rest)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert f"Received: {received}" in err
    assert sorted(path.name for path in files.iterdir()) == ["s.de", "s.en"]


@pytest.mark.parametrize("option", ["--trace t.png", "--explore t.html"])
def test_a_trace_of_a_tflite_file_is_refused_with_the_way_on(option, command, toy_litert, files):
    code, _, err = command("align", "--model", toy_litert, "one", *option.split())
    assert code == 2 and "A .tflite file can't be traced. Received: " in err
    assert err.endswith(f"model={str(toy_litert)!r}. Use the .keras file.\n")


def test_the_progress_of_a_tflite_file_is_told(translator):
    told = []
    translator.decode(["one", ""], say=told.append)
    assert told == ["1 of 2 sentences", "2 of 2 sentences"]


def test_one_best_translation_is_an_n_best_list_of_one(command, toy_litert, translator):
    code, out, _ = command("translate", "--model", toy_litert, "--nbest", 1, stdin="two\n")
    (best,) = translator.translate(["two"])
    assert (code, out) == (0, f"0 ||| zwei ||| {best.score:.4f}\n")


@pytest.mark.parametrize("content", [b"", b"no model", None])
def test_a_damaged_tflite_file_is_refused_in_one_line(content, command, toy_litert, tmp_path):
    path = tmp_path / "bad.tflite"
    whole = toy_litert.read_bytes()
    path.write_bytes(whole[len(whole) // 2 :] if content is None else content)
    code, out, err = command("translate", "--model", path, stdin="one\n")
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert f"Received: path={str(path)!r}" in err


def test_without_litert_one_line_names_the_package(command, toy_litert, monkeypatch):
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    code, _, err = command("translate", "--model", toy_litert)
    assert code == 2 and err.count("\n") == 1
    assert "pip install 'keras-bahdanau[litert]'" in err


def test_a_file_of_texts_names_the_class_that_opens_it(toy_litert):
    with pytest.raises(ValueError, match="must not read text.*Open it as a translator"):
        LiteRTPipeline(toy_litert)


EXAMPLES = Path(__file__).parents[2] / "examples"
PRONOUNCE = EXAMPLES / "pronounce" / "models" / "ita.tflite"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "reads"), [("pronounce/models/ita", False), ("transliterate/models/wd-hebrew", True)]
)
def test_a_reference_that_a_file_can_not_write_is_named(command, tmp_path, name, reads):
    """A target vocabulary that no signature uses to read text has lost its normalization."""
    path = EXAMPLES / f"{name}.tflite"
    assert LiteRTTranslator(path).reads_target is reads
    (tmp_path / "pairs.tsv").write_text("ciao\t☃ ☃\n")
    code, _, errors = command("evaluate", tmp_path / "pairs.tsv", "--model", path)
    assert code == 0 and "that the vocabulary does not know" in errors


def test_spaces_between_the_symbols_of_a_reference_do_not_count(command, tmp_path):
    words = ["ciao", "gatto", "strada", "mare", "luna"]
    texts = [result.text for result in LiteRTTranslator(PRONOUNCE).translate(words)]
    spaces = ["  ", "\u00a0", " \u2003", " \u3000 ", " "]
    rows = [
        f"{word}\t{text.replace(' ', space)} \r\n"
        for word, text, space in zip(words, texts, spaces, strict=True)
    ]
    (tmp_path / "pairs.tsv").write_text("".join(rows), encoding="utf-8", newline="")
    arguments = ["evaluate", tmp_path / "pairs.tsv", "--columns", "source,target"]
    code, out, errors = command(*arguments, "--model", PRONOUNCE, "--metrics", "exact,cer")
    scores = dict(line.split()[:2] for line in out.splitlines()[:2])
    assert (code, scores) == (0, {"exact": "100.00", "CER": "0.00"})
    assert "vocabulary" not in errors


@pytest.mark.parametrize("kind", ["tflite", pytest.param("keras", marks=pytest.mark.slow)])
def test_blank_lines_give_empty_lines_and_are_counted(command, kind):
    model = EXAMPLES / "dates" / "models" / f"dates.{kind}"
    blank = [" ", "   ", "", "\u3000", "\u00a0", "\u200b", " \u2060"]
    lines = "".join(f"{line}\n" for line in ["<fr> 3 avril 2021", *blank])
    code, out, errors = command("translate", "--model", model, stdin=lines)
    assert (code, out) == (0, "2021-04-03" + "\n" * (1 + len(blank)))
    assert "6 lines with only white space: an empty line for each" in errors
    assert "does not know" not in errors
