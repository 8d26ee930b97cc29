"""The report of an export on its artefact: agreement with Keras, size, speed and quality."""

import dataclasses
import json
import zipfile

import numpy as np
import pytest
from conftest import toy_pairs

import keras_bahdanau as kb
from keras_bahdanau.exporters import check
from keras_bahdanau.exporters.card import describe_parity, table_of
from keras_bahdanau.exporters.comparison import Comparison
from keras_bahdanau.exporters.exporter import Answer, Answers, Exporter
from keras_bahdanau.exporters.litert import conversion
from keras_bahdanau.exporters.litert.tflite_file import unpack
from keras_bahdanau.exporters.parity import (
    Case,
    Parity,
    figures,
    list_summary,
    require,
    summary,
    table,
)
from keras_bahdanau.pipelines.tasks import KINDS
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.sources import TextSource

EDGE_CASES = TextSource.edge_cases
ALIGNMENT = np.array([[0.25, 0.75]], np.float32)


def said(text, score=-1.0, alignment=ALIGNMENT):
    return Answer(text, score, alignment)


def test_edge_cases_are_what_users_send_sooner_or_later(toy_translator):
    lengths = [len(r.source_tokens) for r in toy_translator.translate(EDGE_CASES)]
    assert lengths[:2] == [0, 0] and EDGE_CASES[0] == ""  # empty text and white space
    assert EDGE_CASES[2] == "a"
    assert max(lengths) > 64  # longer than a LiteRT file accepts
    broken = [sentence for sentence in EDGE_CASES if isinstance(sentence, bytes)]
    assert broken
    for sentence in broken:
        with pytest.raises(UnicodeDecodeError):
            sentence.decode()


def cases_of(sources, expected, received):
    rows = zip(sources, expected, received, strict=True)
    return [Case(source, [best], answers) for source, best, answers in rows]


def test_differences_are_counted_by_hand():
    expected = [said("a"), said("b"), said("c"), said("d")]
    received = [
        [said("a", -1.5), said("a", -1.0, alignment=None)],
        [said("b", -1.0, ALIGNMENT + 0.125), said("x", -9.0)],
        [said("y", -9.0), said("y", -9.0)],
        [said("d", alignment=ALIGNMENT[:, :1])],  # the same text from other tokens
    ]
    cases = cases_of(["A", b"\xffB", "C", "D"], expected, received)
    assert summary(cases) == {
        "equal": 0.25,
        "ties": 0,
        "unstable": 1,
        "score": 0.5,
        "alignment": 0.125,
        "tokens": None,
    }
    assert [miss for case in cases for miss in case.misses()] == [
        "for 'A' the score is off by 5.0e-01, but rounding explains only 1.0e-04",
        "for '\\\\xffB' the alignment is off by 1.2e-01, but rounding explains only 1.0e-04",
        "for '\\\\xffB' the text is 'x', but Keras gives 'b'",
        "for 'C' the text is 'y', but Keras gives 'c'",
        "for 'D' the text is 'd', but Keras gives 'd'",
    ]
    assert summary([])["equal"] == 1


def test_differences_of_tokens_and_confidences_count_where_texts_are_equal():
    def sure(text, log_prob, entropy, confidence):
        return Answer(text, -1.0, None, np.array([log_prob, 0]), np.array([entropy]), confidence)

    expected = [sure("a", -1.0, 0.5, 0.5), sure("b", -1.0, 0.5, 0.5)]
    received = [[sure("a", -1.0, 0.75, 0.5), said("a", alignment=None)], [sure("x", -9, 9, 0)]]
    assert summary(cases_of("AB", expected, received))["tokens"] == 0.25
    listed = Case("A", expected[:1], [sure("a", -1.5, 0.5, 0.5)], prefix="")
    assert list_summary([listed])["tokens"] == 0.5
    assert figures([(expected[0], sure("a", -1, 0.5, 0.4))])["tokens"] > 0.09


def test_lists_of_hypotheses_are_compared_each_hypothesis_once():
    expected = [[said("a", -1.0), said("b", -2.0), said("a", -3.0)], [said("")]]
    received = [
        [said("b", -2.25), said("a", -3.5, ALIGNMENT + 0.125), said("a", -1.0)],
        [said("", alignment=None)],
    ]

    def compared(expected, received):
        pairs = zip(expected, received, strict=True)
        return list_summary([Case("A", *lists, prefix="") for lists in pairs])

    found = compared(expected, received)  # The order may change, the texts may not.
    assert found == {"nbest": 1, "score": 0.5, "alignment": 0.125, "tokens": None}
    copies = [[said("a", -1.0)] * 3, [said(""), said("x")]]
    assert compared(expected, copies)["nbest"] == 3 / 5  # a, a and the empty text
    assert compared(expected, [[], []])["nbest"] == 0
    assert compared([], [])["nbest"] == 1


def test_an_exact_artefact_must_agree_in_everything():
    misses = tuple(f"of {source!r} the text is 'x'" for source in "abcde")
    row = Parity(artefact="SavedModel", sentences=4, misses=misses)
    with pytest.raises(ValueError, match="as Keras does. Received: SavedModel: .*of 'c' .* 2 more"):
        require(row, allow_differences=False)
    require(row, allow_differences=True)
    require(dataclasses.replace(row, exact=False), allow_differences=False)
    require(dataclasses.replace(row, misses=()), allow_differences=False)


def test_the_table_has_a_line_for_each_row():
    keras = Parity(artefact="Keras", sentences=9, megabytes=20.594, milliseconds=4.0, bleu=36.7)
    other = Parity(
        artefact="LiteRT int8",
        sentences=9,
        refused=2,
        equal=0.875,
        nbest=0.5,
        score=0.0123,
        alignment=0.5,
        megabytes=5.8,
        milliseconds=None,
        bleu=36.89,
    )
    *lines, legend = table([keras, other]).splitlines()
    told = ("equal:", "n-best:", "refused:", "score, alignment, tokens:", "edge cases")
    assert all(words in legend for words in told)
    assert lines == [
        "             size MB   equal  n-best  refused    score  alignment  p50 ms   BLEU",
        "Keras          20.59                                                 4.00  36.70",
        "LiteRT int8     5.80  87.50%  50.00%        2  1.2e-02    5.0e-01          36.89",
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
def test_the_quality_of_a_pipeline_is_by_its_own_metrics(toy_translator, monkeypatch, kind):
    monkeypatch.setattr(type(toy_translator), "metrics", kind.metrics)
    comparison = Comparison(toy_translator, ["one two", "four"], ["eins zwei", "vier"])
    headings = table([comparison.keras]).splitlines()[0].split()
    labels = [metric.label for metric in kb.evaluation.metrics_of(kind.metrics)]
    assert headings[: -len(labels)][-2:] == ["p50", "ms"]
    assert {*headings[-len(labels) :]} == {*labels}
    right = {"BLEU": 0, "chrF": 100, "WER": 0, "CER": 0, "exact": 100}  # too short for 4-grams
    scores = map(float, table([comparison.keras]).splitlines()[1].split()[-len(labels) :])
    assert [*scores] == [right[label] for label in headings[-len(labels) :]]
    card = json.loads(json.dumps({"parity": table_of([comparison.keras])}))
    assert describe_parity(card) == table([comparison.keras])
    card["parity"][0]["quality"] = {"WER": "low"}
    with pytest.raises(ValueError, match="not a table"):
        describe_parity(card)


def card_of(path):
    if path.is_dir():
        return json.loads((path / "assets.extra" / "card.json").read_bytes())
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("card.json"))


def test_the_card_of_a_saved_model_has_the_table(toy_saved_model):
    keras, row = [Parity(**row) for row in card_of(toy_saved_model)["parity"]]
    assert (keras.artefact, row.artefact) == ("Keras", "SavedModel")
    assert row.holds and (row.equal, row.unstable, row.refused) == (1, 0, 0)
    assert keras.sentences == row.sentences == len(EDGE_CASES)
    files = sum(path.stat().st_size for path in toy_saved_model.rglob("*") if path.is_file())
    assert row.megabytes == pytest.approx(files / 1e6, abs=0.02)  # not counting the table itself
    assert row.milliseconds > 0 and row.bleu is None


def test_the_card_of_a_litert_file_has_the_table(toy_litert, toy_translator):
    keras, row = [Parity(**row) for row in card_of(toy_litert)["parity"]]
    assert (keras.artefact, row.artefact) == ("Keras", "LiteRT float32")
    lengths = [len(r.source_tokens) for r in toy_translator.translate(EDGE_CASES)]
    assert row.holds and row.equal == 1
    assert row.refused == sum(length > 24 for length in lengths) > 0
    assert row.megabytes == pytest.approx(toy_litert.stat().st_size / 1e6, abs=0.02)
    assert row.milliseconds > 0


@pytest.mark.slow
def test_a_file_for_short_translations_is_compared_with_short_ones(toy_translator, tmp_path):
    file = kb.export_litert(
        toy_translator,
        tmp_path / "short.tflite",
        max_source_length=8,
        max_target_length=2,
        sentences=["one two three"],
        references=["eins zwei drei"],
    )
    keras, row = [Parity(**row) for row in card_of(file)["parity"]]
    assert row.equal == 1
    assert keras.chrf == 100 > row.chrf


class ShortSighted(Exporter):
    """An artefact with a lower length limit, which gives Keras' answers at that limit."""

    artefact = "short-sighted"
    recognizes = destination = write = check = add_parity = describe = None
    __abstractmethods__ = frozenset()

    def answers(self, path, pipeline, inputs):
        options = dataclasses.replace(pipeline.search, max_source_length=3)
        found = pipeline.decode(inputs, search=options)
        received = [[Answer(one.text, one.score, one.alignment)] for one in found]
        return Answers(received, [0.0] * len(found), longest_source=3)


@pytest.mark.slow
def test_an_artefact_that_cuts_earlier_is_compared_with_sources_cut_there(toy_translator, tmp_path):
    sentences = ["one two three four", "five", "☃" * 60]
    translator = toy_translator.searching(SearchOptions(beam_width=1, max_length=8))
    comparison = Comparison(translator, sentences)
    row = comparison.row(ShortSighted(), tmp_path)
    assert row.equal == 1 and row.alignment < 1e-5
    assert translator.translate(sentences[:1])[0].alignment.shape[1] > 3


@pytest.mark.parametrize("references", [[], ["eins", "zwei"]])
def test_references_that_do_not_belong_to_the_sentences_are_refused(
    toy_translator, tmp_path, references
):
    exports = {kb.export_litert: "new.tflite", kb.export_saved_model: "new", kb.export_all: "new"}
    for export, name in exports.items():
        with pytest.raises(ValueError, match=f"1 sentences, {len(references)} references"):
            export(toy_translator, tmp_path / name, sentences=["one"], references=references)
    assert not list(tmp_path.iterdir())


class Mistaken(kb.Translator):
    """A translator that answers differently in Keras than in its graph, which gets exported."""

    def decode_nbest(self, inputs, *arguments, **options):
        lists = super().decode_nbest(inputs, *arguments, **options)
        return [
            [dataclasses.replace(result, text=result.text + "!") for result in results]
            for results in lists
        ]


@pytest.fixture
def mistaken(toy_translator):
    toy = toy_translator
    return Mistaken(toy.source, toy.model, toy.target, toy.search)


@pytest.mark.slow
def test_a_file_that_answers_differently_is_not_written(
    mistaken, toy_litert, tmp_path, monkeypatch
):
    model = unpack(toy_litert.read_bytes()).model  # reused instead of converting again
    monkeypatch.setattr(conversion, "convert", lambda *arguments: model)
    limits = {"max_source_length": 24}
    with pytest.raises(ValueError, match="LiteRT float32: 0.00% of .* texts equal"):
        kb.export_litert(mistaken, tmp_path / "new" / "m.tflite", **limits)
    assert not list(tmp_path.iterdir())
    file = kb.export_litert(mistaken, tmp_path / "m.tflite", allow_differences=True, **limits)
    assert card_of(file)["parity"][1]["equal"] == 0
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.slow
def test_nothing_is_published_if_one_of_all_answers_differently(mistaken, tmp_path):
    for directory in (tmp_path / "new", tmp_path):
        with pytest.raises(ValueError, match="SavedModel: 0.00% of"):
            kb.export_all(mistaken, directory, max_source_length=8, max_target_length=8)
        assert not list(tmp_path.iterdir())


def test_all_formats_need_a_directory_of_their_own(toy_translator, tmp_path):
    (tmp_path / "model.int8.tflite").write_text("mine")
    with pytest.raises(FileExistsError, match="which holds other things"):
        kb.export_all(toy_translator, tmp_path)


@pytest.mark.slow
def test_all_formats_come_with_one_table(toy_translator, tmp_path):
    sources, references = zip(*toy_pairs()[:70], strict=True)
    told = []
    paths = kb.export_all(
        toy_translator,
        tmp_path,
        max_source_length=24,
        sentences=sources,
        references=references,
        say=told.append,
    )
    names = ["1", "model.float32.tflite", "model.float16.tflite", "model.int8.tflite"]
    assert paths == [tmp_path / name for name in names]
    assert {path.name for path in tmp_path.iterdir()} == {*names, "parity.json"}
    assert [check(path) for path in paths] == [[]] * 4
    stored = json.loads((tmp_path / "parity.json").read_bytes())
    assert [card_of(path)["parity"] for path in paths] == [stored] * 4
    rows = [Parity(**row) for row in stored]
    assert [row.artefact.split()[-1] for row in rows] == [
        "Keras",
        "SavedModel",
        "float32",
        "float16",
        "int8",
    ]
    assert {row.sentences for row in rows} == {len(EDGE_CASES) + 70}
    assert [row.exact for row in rows] == [True, True, True, False, False]
    assert all(row.bleu is not None and row.chrf > 90 for row in rows)
    assert rows[2].megabytes > rows[3].megabytes > rows[4].megabytes
    assert table(rows) in told
    assert sum(line.endswith(".tflite") for line in told) == 3  # lines with sha256 and file name
