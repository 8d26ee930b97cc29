"""The comparison of attention mechanisms, at toy size."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "experiments" / "compare_attention"


@pytest.fixture(autouse=True)
def example_on_path(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLE)


def row_of(configuration, median, twice, sentences=100):
    places = [
        {"times": times, "words": 10 * times, "sentences": sentences, "bleu": bleu}
        for times, bleu in ((1.0, median), (2.0, twice))
    ]
    return {"corpus": "long", "configuration": configuration, "by_length": places}


def test_every_preset_is_compared_and_scores_have_their_names():
    from configurations import PRESETS, SCORES

    from keras_bahdanau import layers, presets

    others = {"characters", "images", "ink", "speech", "ssru-student", "transformer-tiny"}
    assert set(presets.PRESETS) - others <= set(PRESETS)
    assert set(SCORES) <= set(layers.SCORES)


def test_joined_sentences_keep_words_and_links():
    import corpora

    from keras_bahdanau import demo

    def linked(examples):
        for example in examples:
            source, target = example.source.split(), example.target.split()
            yield from ((source[i], target[j]) for i, j in example.possible)

    examples = demo.generate(30)
    longer = corpora.joined(examples, shares=(1, 1, 1))
    assert 10 <= len(longer) < 30
    for side in ("source", "target"):
        words = [" ".join(getattr(one, side) for one in some) for some in (examples, longer)]
        assert words[0] == words[1]
    assert sorted(linked(longer)) == sorted(linked(examples))


def test_bleu_by_length_counts_in_halves_of_the_median():
    import corpora
    from experiment import by_length

    from keras_bahdanau.demo import Example

    # The few sentences of length 40 are left out of the result.
    lengths = [4] * 20 + [8] * 50 + [16] * 20 + [40] * 5
    test = [Example("s " * n, "a b c d", frozenset(), frozenset()) for n in lengths]
    corpus = corpora.Corpus("toy", "", [], test, 0, 1, "none")
    texts = ["a b c d"] * 70 + ["e"] * 25
    found = [tuple(place.values()) for place in by_length(corpus, texts)]
    expected = [(0.5, 4, 20, 100), (1.0, 8, 50, 100), (2.0, 16, 20, 0)]
    assert found == [pytest.approx(place) for place in expected]


@pytest.mark.parametrize(
    ("without", "with_attention", "shown"),
    [((50, 34), (90, 82), True), ((50, 36), (90, 90), False), ((50, 20), (90, 80), False)],
)
def test_the_finding_is_a_fall_without_attention_and_none_with_it(without, with_attention, shown):
    from report import findings

    lines, answer = findings([row_of("none", *without), row_of("additive", *with_attention)])
    assert answer is shown
    assert lines[0].endswith(": SHOWN" if shown else ": NOT SHOWN")


def test_too_few_sentences_or_one_model_alone_show_nothing():
    from report import findings

    assert findings([row_of("none", 50, 20, 99), row_of("additive", 90, 90)]) == ([], None)
    assert findings([row_of("additive", 90, 90)]) == ([], None)


def test_a_comparison_writes_its_files_and_trains_nothing_twice(tmp_path):
    import compare
    import corpora

    size = {"embedding_units": 4, "units": 8, "attention_units": 4}
    training = {**compare.TRAINING, "batch_tokens": 300}
    corpus = corpora.long(sentences=300, epochs=1, vocabulary_size=500)
    said = []
    for _ in range(2):
        compare.compare(
            [(corpus, ["none", "additive"])], tmp_path, 0, size, training, say=said.append
        )
    trained = [line for line in said if line.startswith("long: ") and "BLEU" not in line]
    assert trained[:2] == ["long: none", "long: additive"]
    assert all(line.endswith("from results.json") for line in trained[2:])
    rows = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    without, with_attention = rows
    assert without["alignment_error_rate"] is None
    assert 0 < with_attention["alignment_error_rate"] <= 1
    assert without["weights"] < with_attention["weights"]
    table = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert "| `none` |" in table and "| `additive` |" in table
    assert (tmp_path / "bleu_by_length.png").read_bytes().startswith(b"\x89PNG")


def test_a_damaged_results_file_is_refused(tmp_path):
    import compare

    (tmp_path / "results.json").write_text('[{"bleu": 1}]')
    with pytest.raises(ValueError, match="Received: another or a damaged file"):
        compare.Results(tmp_path / "results.json")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--only", "additive,larger"],
        ["--multi30k", "nowhere"],
        ["--seed", "-1"],
        ["--out", __file__],
    ],
)
def test_bad_input_is_told_in_one_line(arguments):
    program = [sys.executable, EXAMPLE / "compare.py", "--quick", *arguments]
    answer = subprocess.run(program, capture_output=True, text=True)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("compare.py: ") and answer.stderr.count("\n") == 1


def test_the_oracle_compares_learnt_weights_with_forced_alignments():
    import oracle

    size = {"embedding_units": 4, "units": 8, "attention_units": 4}
    training = {**oracle.TRAINING, "batch_tokens": 300}
    rows = oracle.measured(200, 1, 0, {**oracle.SIZE, **size}, training, say=lambda line: None)
    assert [row["configuration"] for row in rows] == [*oracle.COMPARED]
    by_name = {row["configuration"]: row for row in rows}
    assert by_name["forced"]["weights"] == by_name["none"]["weights"]  # no attention to learn
    assert all(row["nats"] > 0 and 0 <= row["accuracy"] <= 1 for row in rows)


def test_the_share_that_is_learnt_is_between_none_and_forced():
    import oracle

    costs = {"none": 0.5, "additive": 0.3, "forced": 0.1}
    rows = [
        {"configuration": name, "about": "", "nats": nats, "accuracy": 0.9}
        for name, nats in costs.items()
    ]
    shares = [line.split("|")[-2].strip() for line in oracle.table(rows).splitlines()[2:]]
    assert shares == ["0%", "50%", "100%"]
