"""Experiments on Multi30K, at toy size."""

import dataclasses
import gzip
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import sacrebleu
from conftest import toy_pairs

import keras_bahdanau as kb
from keras_bahdanau.training import TrainingOptions

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "experiments" / "multi30k"


def loaded(name):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        patch.delitem(sys.modules, "scoring", raising=False)
        spec = importlib.util.spec_from_file_location(f"multi30k_{name}", FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


@pytest.fixture
def scoring():
    yield from loaded("scoring")


@pytest.fixture
def confidence():
    yield from loaded("confidence")


def test_the_official_test_is_asked_for(scoring):
    with pytest.raises(ValueError, match="12103 tokens. Received: 2"):
        scoring.check_references(["a b"], "de")
    with pytest.raises(ValueError, match="Received: 1 hypotheses, 2 references"):
        scoring.score(["a b"], ["a b", "c"], "tok")


def test_both_scores_are_sacrebleus(scoring):
    hypotheses, references = ["A man , a hat and a dog ."], ["a man , a hat and the dog ."]
    rule, raw = (scoring.score(hypotheses, references, text) for text in ("tok", "raw"))
    expected = sacrebleu.corpus_bleu(
        hypotheses, [references], lowercase=True, tokenize="none", force=True
    )
    assert rule["bleu"] == expected.score and rule["references_tokens"] == 9
    assert raw["bleu"] == sacrebleu.corpus_bleu(hypotheses, [references]).score < rule["bleu"]
    assert "tok:13a" in raw["bleu_signature"] and "case:mixed" in raw["bleu_signature"]


def test_an_order_and_what_it_says_are_measured_with_intervals(confidence):
    right = np.arange(1000) % 4 > 0  # 75%
    same = confidence.measured(right, np.full(1000, 0.75))
    assert same["auc"] == 0.5 and same["auc_interval"] == [0.5, 0.5]
    perfect = confidence.measured(right, right * 0.5)  # the right order, but too low
    assert perfect["auc"] == 1.0 and perfect["ece"] == pytest.approx(0.375)
    low, high = perfect["ece_interval"]
    # The fraction of 1,000 texts that are right has a standard error of 1.4 points.
    assert low == pytest.approx(0.375 - 0.0137, abs=0.003)
    assert high == pytest.approx(0.375 + 0.0137, abs=0.003)


def test_confidence_is_fitted_on_val_and_measured_once(toy_translator, confidence, tmp_path):
    out, places = tmp_path / "out", ["--data", str(tmp_path), "--out", str(tmp_path / "out")]
    # The translator gets every third text wrong.
    pairs = [
        (source, target if row % 3 else f"{target} null")
        for row, (source, target) in enumerate(toy_pairs())
    ]
    for part in ("val", "test_2016_flickr"):
        for side, language in enumerate(("en", "de")):
            path = tmp_path / "tok" / f"{part}.{language}.gz"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(gzip.compress("".join(f"{row[side]}\n" for row in pairs).encode()))
    out.mkdir()
    toy_translator.save(out / "translator.keras")
    translator = kb.Translator.load(out / "translator.keras")
    texts = [one.text for one in translator.translate([source for source, _ in pairs])]
    (chrf,) = kb.evaluation.metrics_of(["chrf"])
    scores = [chrf.corpus_score([one], [text]) for one, (_, text) in zip(texts, pairs, strict=True)]
    threshold = 99.0  # chrF: the text equals the reference
    confidence.main([*places, "--threshold", str(threshold)])
    found = json.loads((out / "confidence.json").read_text())
    assert found["right"] == sum(score >= threshold for score in scores)
    assert 0 <= found["calibrated"]["ece"] <= 1 and found["texts"] == len(pairs)
    assert len((out / "hypotheses.txt").read_text().splitlines()) == len(pairs)
    assert (out / "reliability.png").read_bytes().startswith(b"\x89PNG")
    assert kb.Translator.load(out / "translator.keras").calibration
    with pytest.raises(SystemExit, match="confidence.json exists: the test is decoded once"):
        confidence.main(places)


@pytest.fixture
def closest():
    yield from loaded("closest")


def test_the_texts_closest_to_a_true_target_are_kept(closest, tmp_path, capsys):
    names = ("s.en", "s.de", "written.tsv", "out.tsv")
    source, target, written, out = (tmp_path / name for name in names)
    source.write_text("a b c\n a\tb c \n")  # equal after cell normalization
    target.write_text("eins zwei drei\nvier\n")  # either target is correct
    texts = ["null", "eins zwei vier", "vier", "vier", "eins zwei drei"]
    written.write_text("".join(f"a b c\t{text}\n" for text in texts) + "unknown\tfünf\n")
    closest.main([*map(str, (source, target, written)), "--keep", "3", "--out", str(out)])
    assert out.read_text() == "a b c\tvier\na b c\teins zwei drei\na b c\teins zwei vier\n"
    assert "3 pairs for 1 source; 1 has no true target" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        closest.main([*map(str, (source, target, written)), "--keep", "0", "--out", str(out)])


@pytest.fixture
def on_jax():
    yield from loaded("on_jax")


def test_what_another_backend_trains_is_a_translator_again(
    on_jax, toy_translator, tmp_path, capsys
):
    """In this test, TensorFlow takes the place of the other backend, with batches of one shape."""
    corpus, first = tmp_path / "pairs.tsv", tmp_path / "first.keras"
    corpus.write_text("".join(f"{source}\t{target}\n" for source, target in toy_pairs()))
    toy_translator.save(first)
    ids, weights, new = (tmp_path / name for name in ("ids.npz", "weights.npz", "new.keras"))
    given = ["--model", str(first), "--corpus", str(corpus), "--valid", str(corpus)]
    with pytest.raises(SystemExit, match="doesn't say with which options"):
        on_jax.main(["prepare", *given, "--out", str(ids)])
    widths = {"embedding_units": 24, "units": 48, "attention_units": 24, "dropout": 0.0}
    old = kb.Translator.load(first)
    old.training = dataclasses.asdict(TrainingOptions(preset="small", **widths).resolved())
    old.save(first)
    old.training["units"] = 32
    old.save(first)
    on_jax.main(["prepare", *given, "--out", str(ids)])
    with pytest.raises(SystemExit, match="MODEL has other weights than its options describe"):
        on_jax.main(["train", str(ids), "--out", str(weights)])
    old.training["units"] = 48
    old.save(first)
    on_jax.main(["prepare", *given, "--further", "--out", str(ids)])
    settings = [f"--set={one}" for one in ("batch_tokens=512", "buckets=1", "learning_rate=1e-5")]
    settings.append("--set=dropout=0.1")
    on_jax.main(["train", str(ids), "--minutes", "0.02", *settings, "--out", str(weights)])
    on_jax.main(["finish", "--model", str(first), "--weights", str(weights), "--out", str(new)])
    trained = kb.Translator.load(new)
    for one, other in zip(old.model.weights, trained.model.weights, strict=True):
        np.testing.assert_allclose(one, other, atol=5e-3)  # 16 bits, and a few steps
    text = ["one two three"]
    assert trained.translate(text)[0].text == old.translate(text)[0].text
    assert trained.training["learning_rate"] == 1e-5
    assert trained.training["dropout"] == 0.0  # the model's dropout, which further training uses
    assert '"perplexity": 1.' in capsys.readouterr().out


def test_an_option_that_is_none_is_one_line(on_jax, capsys):
    with pytest.raises(SystemExit):
        on_jax.main(["train", "ids.npz", "--set", "rdrop=3", "--out", "weights.npz"])
    assert "is a field of TrainingOptions. Received: 'rdrop=3'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        on_jax.main(["train", "ids.npz", "--set", "heads=8", "--out", "weights.npz"])
    assert "not heads" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="train: .*ids.npz"):
        on_jax.main(["train", "ids.npz", "--out", "weights.npz"])


@pytest.fixture(scope="module")
def draw():
    yield from loaded("draw")


def test_sentences_are_drawn_that_are_new(draw, toy_translator, tmp_path, capsys):
    toy_translator.save(tmp_path / "toy.keras")
    settings = ["--source", "one two three", "--temperature", "3", "--draws", "16"]

    def drawn(name, lines, *more):
        out = tmp_path / name
        draw.main(
            ["--model", str(tmp_path / "toy.keras"), *settings, *more]
            + ["--lines", str(lines), "--out", str(out)]
        )
        return out.read_text(encoding="utf-8").splitlines()

    first = drawn("first", 20)
    assert len({*first}) == 20 and "" not in first
    assert drawn("again", 20) == first
    others = drawn("others", 20, "--without", str(tmp_path / "first"))
    assert not {*others} & {*first}
    assert "20 sentences of" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        drawn("none", 0)
    assert "--lines must be from 1 to 10,000,000. Received: 0" in capsys.readouterr().err


def test_draws_end_where_nothing_is_new(draw, toy_translator, tmp_path, monkeypatch):
    toy_translator.save(tmp_path / "toy.keras")
    monkeypatch.setattr(draw, "PATIENCE", 2)
    options = ["--source", "one", "--temperature", "0.01", "--draws", "2", "--lines", "9"]
    draw.main(["--model", str(tmp_path / "toy.keras"), *options, "--out", str(tmp_path / "few")])
    assert (tmp_path / "few").read_text() == "eins\n"
