"""The example Multi30K at toy size: stopped, gone on with, and decoded once."""

import gzip
import importlib.util
import json
import sys
from pathlib import Path

import pytest
import sacrebleu
from conftest import toy_pairs

EXAMPLE = Path(__file__).parents[2] / "examples" / "multi30k"
TINY = (
    "--set vocabulary_size=48 --set embedding_units=8 --set units=8 --set attention_units=8 "
    "--set subword_sampling=0.1 --set batch_tokens=512 --beam-widths 1"
).split()


@pytest.fixture(scope="module")
def example():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLE)
        patch.delitem(sys.modules, "scoring", raising=False)
        spec = importlib.util.spec_from_file_location("multi30k", EXAMPLE / "train.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


@pytest.fixture
def command(example, tmp_path):
    """`command(*more)`: the script on the toy sentences."""
    pairs = toy_pairs()
    for part, lines in {"train": pairs, "val": pairs[:9], "test_2016_flickr": pairs[9:22]}.items():
        for side, language in enumerate(("en", "de")):
            path = tmp_path / "tok" / f"{part}.{language}.gz"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(gzip.compress("".join(f"{row[side]}\n" for row in lines).encode()))
    places = ["--data", str(tmp_path), "--out", str(tmp_path / "out")]
    return lambda *more: example.main([*places, *TINY, *more])


@pytest.mark.slow
def test_it_runs_from_end_to_end_and_decodes_the_test_once(command, tmp_path, capsys):
    command("--set", "epochs=1", "--set", "seed=3", "--no-test")
    out = tmp_path / "out"
    assert {path.name for path in out.iterdir()} == {
        *("about.json", "run", "curves.png", "tuning.json", "translator.keras", "val.json"),
    }
    with pytest.raises(SystemExit, match="begun with .*'cpu'.* Received: .*'gpu'"):
        command("--tier", "gpu")
    command("--any-test")  # goes on after the training, with the options that it had
    scores = json.loads((out / "scores.json").read_text())
    assert (scores["epochs"], scores["seed"]) == (1, 3) and scores["chosen"]["units"] == 8
    assert "case:lc|eff:no|tok:none" in scores["test"]["bleu_signature"]
    assert len((out / "hypotheses.txt").read_text().splitlines()) == 13
    assert len([*(out / "alignments").iterdir()]) == 10 and (out / "lengths.png").is_file()
    assert "BLEU" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="has been scored"):
        command("--any-test")


@pytest.mark.slow
def test_epochs_are_as_many_as_there_is_time_for(example, command, tmp_path, monkeypatch):
    monkeypatch.setattr(example, "seconds_an_epoch", lambda pairs, options: 30.0)
    command("--minutes", "1.6", "--no-test")
    card = json.loads((tmp_path / "out" / "run" / "run.json").read_text())
    assert (card["options"]["epochs"], card["options"]["minutes"]) == (3, 1.6)


@pytest.mark.slow
def test_the_time_of_an_epoch_is_told_from_some_steps(example):
    names = ("vocabulary_size", "embedding_units", "units")
    options = example.TrainingOptions(**dict.fromkeys(names, 48), batch_tokens=512)
    assert 0 < example.seconds_an_epoch(toy_pairs(), options.resolved()) < 60


def test_each_side_has_the_vocabulary_that_its_options_say(example):
    split = {"source_model_type": "char", "source_vocabulary_size": 99, "vocabulary_size": 48}
    options = example.TrainingOptions(**split).resolved()
    source, target = example.vocabularies(toy_pairs(), options)
    letters = set("one two three four five".replace(" ", ""))
    assert source.vocabulary_size == len(letters) + 5  # the space, and the four special ids
    assert target.vocabulary_size == 48
    options = example.TrainingOptions(vocabulary_size=48).resolved()
    source, target = example.vocabularies(toy_pairs(), options)
    assert source == target and source.vocabulary_size == 48


def test_the_official_test_is_asked_for(example, command):
    with pytest.raises(ValueError, match="12103 tokens. Received: 2"):
        example.scoring.check_references(["a b"], "de")
    with pytest.raises(ValueError, match="Received: 1 hypotheses, 2 references"):
        example.scoring.score(["a b"], ["a b", "c"], "tok")


def test_both_scores_are_sacrebleus(example):
    hypotheses, references = ["A man , a hat and a dog ."], ["a man , a hat and the dog ."]
    rule, raw = (example.scoring.score(hypotheses, references, text) for text in ("tok", "raw"))
    expected = sacrebleu.corpus_bleu(
        hypotheses, [references], lowercase=True, tokenize="none", force=True
    )
    assert rule["bleu"] == expected.score and rule["references_tokens"] == 9
    assert raw["bleu"] == sacrebleu.corpus_bleu(hypotheses, [references]).score < rule["bleu"]
    assert "tok:13a" in raw["bleu_signature"] and "case:mixed" in raw["bleu_signature"]


def test_choices_have_the_kind_of_their_option(example):
    found = [
        example.choice(text) for text in ("units=8", "dropout=0.1", "cell=lstm", "joint=false")
    ]
    assert found == [("units", 8), ("dropout", 0.1), ("cell", "lstm"), ("joint", False)]
    with pytest.raises(example.argparse.ArgumentTypeError, match="Received: 'unit=8'"):
        example.choice("unit=8")
