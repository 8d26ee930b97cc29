"""Tables of characters on the command line: training, evaluation and translation with features."""

import itertools
import json
import os
import threading
import types
from pathlib import Path

import pytest

import keras_bahdanau as kb
from keras_bahdanau import cli
from keras_bahdanau.cli.sentences import sentences_of
from keras_bahdanau.cli.training_files import Files, read_data
from keras_bahdanau.cli.warnings import FeatureWarnings, UnknownText
from keras_bahdanau.text import Subwords
from keras_bahdanau.text.features import position_in_card

SETTINGS = (
    "--preset characters --embedding-units 24 --units 48 --attention-units 24 --dropout 0 "
    "--label-smoothing 0 --learning-rate 0.006 --ema-momentum 0.9 --epoch-steps 40 --epochs 12 "
    "--batch-sentences 16 --checkpoint-steps 1000"
)
ENDINGS = {"N;SG": "", "N;PL": "lar", "N;PL;ACC": "ları", "V;PST;3": " idi"}
STEMS = ["".join(letters) for letters in itertools.product("ktm", "aı", "rl")] + ["Kü"]

TURKISH = Path(__file__).parents[2] / "examples" / "inflect" / "models" / "turkish-high.tflite"


def rows():
    """Yield stem, form and features of 52 lines, in which each plural has two correct forms."""
    for stem, (features, ending) in itertools.product(STEMS, ENDINGS.items()):
        form = stem + ending
        yield stem, f"{form}/{stem}-lar" if features == "N;PL" else form, features


@pytest.fixture
def command(capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            cli.main([*map(str, arguments)])
        out, run.err = capsys.readouterr()
        assert ended.value.code in (0, None), run.err
        return out

    return run


@pytest.mark.parametrize(
    ("valid", "told"),
    [
        ("a\tb\tN;DU\n", "has features that no training pair has (1): <DU>"),
        ("a\tb\n", "has no features, but the training pairs do, such as <N>. Give a table"),
        ("a\tb\tN;PL\n", None),
    ],
)
def test_a_validation_with_other_features_than_the_training_is_told(tmp_path, valid, told):
    (tmp_path / "train.tsv").write_text("a\tb\tN;SG\nc\td\tN;PL\n")
    (tmp_path / "valid.tsv").write_text(valid)
    files = [Files(tmp_path / f"{name}.tsv", None, None, None) for name in ("train", "valid")]
    lines = []
    read_data("lines", *files, columns=None, answer_separator=None, say=lines.append)
    lines = [line for line in lines if "inferred from its text" not in line]
    assert len(lines) == bool(told) and all(told in line for line in lines)


@pytest.mark.parametrize(
    ("symbols", "sources", "is_told"),
    [
        (["<V>", "<PST>"], ["walk", "", "go home"], True),
        (["<V>", "<PST>"], ["walk", "go <PST>"], False),
        (["<2de>", "<2fr>"], ["<2de> walk"], False),
        (["<bt>"], ["walk"], False),
        ([], ["walk"], False),
    ],
)
def test_sources_without_any_feature_are_told(capsys, symbols, sources, is_told):
    subwords = Subwords.train(["walk", "go home"], 40, exact=False, symbols=symbols)
    source = types.SimpleNamespace(subwords=subwords, feature_place="last")
    FeatureWarnings(source).warn_missing(sources)
    told = (
        "keras-bahdanau: no source contains a symbol that the model was trained with, such as <V>. "
        "If the symbols are features, give a table with them. If they are tags, give --tag\n"
    )
    assert capsys.readouterr().err == told * is_told


def test_a_table_without_features_is_told(tmp_path, capsys):
    table = tmp_path / "forms.tsv"
    for second, told in {"kuzuda": True, "N;LOC;SG": False}.items():
        table.write_text(f"kuzu\t{second}\n")
        with pytest.raises(SystemExit) as ended:
            cli.main(["translate", "--model", str(TURKISH), str(table)])
        printed = capsys.readouterr()
        assert (ended.value.code, printed.out.count("\n")) == (0, 1)
        assert ("no source contains a symbol that the model was" in printed.err) == told


def test_a_word_in_another_form_of_unicode_gets_the_form_that_is_known(capsys):
    kept = {"model_type": "char", "normalization": "none", "exact": False}
    lines = ["go\u0308nu\u0308l", "x", "go\u0308x"]  # NFD; the vocabulary has composed letters
    told = UnknownText(kb.text.Subwords.train(["gönül"], 20, **kept))
    told.warn(lines, ["line 1", "line 2", "line 3"])
    first, *others = capsys.readouterr().err.splitlines()
    assert first.endswith("may be wrong. They are known in Unicode form NFC: convert the text.")
    assert len(others) == 2 and all(one.endswith("may be wrong.") for one in others)


def test_scores_are_printed_although_a_file_of_them_can_not_be_written(tmp_path, capsys):
    (tmp_path / "forms.tsv").write_text("kuzu\tkuzuda\tN;LOC;SG\n")
    for option in ("--json", "--hypotheses"):
        path = tmp_path / ("n" * 250)  # too long for the name of a draft
        arguments = ["evaluate", tmp_path / "forms.tsv", "--model", TURKISH, "--metrics", "exact"]
        with pytest.raises(SystemExit) as ended:
            cli.main([*map(str, [*arguments, option, path])])
        printed = capsys.readouterr()
        assert (ended.value.code, printed.out[:6]) == (2, "exact ")
        assert "File name too long" in printed.err


def test_align_tells_features_that_stand_in_the_other_place(command):
    for sentence, told in (("<N> <LOC> <SG> kuzu", True), ("kuzu <N> <LOC> <SG>", False)):
        command("align", "--model", TURKISH, sentence)
        assert ("give 'kuzu <N> <LOC> <SG>'" in command.err) == told


@pytest.mark.slow
def test_a_table_of_inflections_becomes_a_model_that_inflects(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "".join("\t".join(row) + "\n" for row in rows())
    (tmp_path / "table.tsv").write_text(text, encoding="utf-8")
    table = ["table.tsv"]  # its columns are inferred
    several = ["--answer-separator", "/"]
    valid = ["--valid-source", "table.tsv"]
    lines = command("train", *table, *several, *valid, "--out", "run", *SETTINGS.split())
    told = "columns of 'table.tsv', inferred from its text: source,target,features"
    assert lines.splitlines()[:2] == [told, told]  # for training and for validation
    assert "model types, inferred from the text: source char, target char" in lines
    history = json.loads((tmp_path / "run" / "history.json").read_text())
    assert history[-1]["val_exact"] > 90

    report = command(
        *("evaluate", *table, *several, "--model", "run", "--json", "scores.json"),
        *("--metrics", "exact,ser,cer,top2"),
    )
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert (scores["sentences"], scores["sources"]) == (65, 52)
    assert scores["exact"] > 90
    assert scores["ser"] == pytest.approx(100 - scores["exact"])
    assert scores["top2"] >= scores["exact"]
    low, high = scores["exact_interval"]
    assert low <= scores["exact"] <= high
    assert "sentences   65, 52 different" in report
    assert "source symbols" in report  # features and letters count
    assert command("evaluate", *table, *several, "--model", "run").startswith("exact   ")
    assert "no source contains a symbol" not in command.err
    (tmp_path / "plain.tsv").write_text("".join(f"{one}\t{form}\n" for one, form, _ in rows()))
    command("evaluate", "plain.tsv", "--model", "run")
    assert "symbol that the model was trained with, such as <N>. If the symbols" in command.err

    forms = command("translate", "table.tsv", "--model", "run")
    named = ["--columns", "source,-,features"]
    assert forms == command("translate", "table.tsv", *named, "--model", "run")
    right = [
        form in answers.split("/")
        for form, (_, answers, _) in zip(forms.splitlines(), rows(), strict=True)
    ]
    assert 100 * sum(right) / len(right) == pytest.approx(scores["exact"])
    (tmp_path / "lines.txt").write_text("Kü <N> <PL> <ACC>\n", encoding="utf-8")
    line = command("translate", "lines.txt", "--model", "run", "--nbest", "2").splitlines()[0]
    assert line.startswith("0 ||| ")
    linked = command("translate", "table.tsv", "--model", "run", "--alignment").splitlines()
    assert {pair.partition("-")[0] for pair in linked[0].rpartition(" ||| ")[2].split()} <= {"0"}


@pytest.mark.slow
def test_every_file_of_a_model_says_where_its_features_stand(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "".join("\t".join(row) + "\n" for row in rows())
    (tmp_path / "table.tsv").write_text(text, encoding="utf-8")
    table = ["table.tsv", "--answer-separator", "/"]
    exact = {}
    for place in ("last", "first"):
        columns = ["--columns", f"source,target,features-{place}"]
        train = ["train", *table, "--valid-source", "table.tsv", *columns, "--out", place]
        command(*train, *SETTINGS.split())
        command("export", "--model", place, "--format", "litert", "--out", f"{place}.tflite")
        for model in (place, f"{place}.tflite"):
            command("evaluate", *table, "--model", model, "--json", f"{model}.json")
            exact[model] = json.loads((tmp_path / f"{model}.json").read_text())["exact"]
        assert "features of" not in command.err
        (tmp_path / "front").write_text("<N> <PL> Kü\n")
        (tmp_path / "end").write_text("Kü <N> <PL>\n")
        front = command("translate", "front", "--model", f"{place}.tflite")
        warned = "are not where they were in training: give" in command.err
        assert warned == (place == "last")
        end = command("translate", "end", "--model", f"{place}.tflite")
        assert not command.err
        if place == "first":  # features after the text can't be tags, so they are moved
            assert end == front
        # A resumed run, or one that continues from a model, also expects them there.
        settings = ["--epochs", "1", "--epoch-steps", "2"]
        command("train", *table, "--from", place, "--out", f"{place}-2", *settings)
        card = json.loads((tmp_path / f"{place}-2" / "run.json").read_text())
        assert position_in_card(card) == place
    assert min(exact.values()) > 90
    both = ["--model", "last", "--compare", "first", "--json", "both.json"]
    command("evaluate", *table, *both)
    compared, *_ = json.loads((tmp_path / "both.json").read_text())["compared"]
    assert compared["baseline"] == pytest.approx(exact["first"])


@pytest.mark.slow
def test_phonemes_need_no_option_and_a_training_resumes_without_one(command, tmp_path):
    table, run = tmp_path / "table.tsv", tmp_path / "run"
    letters = {"K": "k", "T": "t", "AA": "a", "IY": "i"}
    rows = itertools.product(letters, ("AA", "IY"), letters, ("AA", "IY"))
    table.write_text(
        "".join(f"{''.join(map(letters.get, row))}\t{' '.join(row)}\t3\n" for row in rows)
    )
    settings = "--units 16 --embedding-units 8 --attention-units 8 --epoch-steps 2".split()
    train = ("train", table, "--preset", "characters", *settings, "--out", run)
    lines = command(*train, "--epochs", "1")
    assert "source char, target word (symbols separated by spaces)" in lines
    assert "hard_alignment first-monotonic: symbols are in the order of the letters" in lines
    card = json.loads((run / "run.json").read_text())
    assert card["options"]["target_model_type"] == "word"
    pipeline = kb.load_pipeline(run)
    assert pipeline.model.decoder.__class__ is kb.HardDecoder
    assert pipeline.search.length_normalization == 0.5  # 1 favors text that repeats a symbol
    (run / "checkpoint.weights.h5").unlink()  # like a run killed before its first checkpoint
    assert "model types" not in command(*train, "--epochs", "1")
    report = command("evaluate", table, "--model", run)
    assert report.startswith("exact") and "PER" in report


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_table_that_comes_through_a_pipe_is_read_once(tmp_path):
    text = "kuzu\tkuzular\tN;PL\n\nkara\tkarası\tN;POSS\n"
    os.mkfifo(tmp_path / "table.tsv")
    writer = threading.Thread(target=(tmp_path / "table.tsv").write_text, args=[text])
    writer.start()
    lines, symbols, _ = sentences_of(tmp_path / "table.tsv", None)
    writer.join()
    assert lines == ["kuzu <N> <PL>", "", "kara <N> <POSS>"]
    assert symbols == {"<N>", "<PL>", "<POSS>"}
