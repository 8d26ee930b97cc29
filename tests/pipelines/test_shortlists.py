"""Shortlists of a pipeline: learnt from attention, kept in the file, the same in each export."""

import dataclasses
import json
import zipfile

import numpy as np
import pytest
from conftest import TOY, toy_pairs

import keras_bahdanau as kb
from keras_bahdanau.exporters.litert.on_device import OnDeviceTranslator
from keras_bahdanau.pipelines.shortlist_file import TABLES
from keras_bahdanau.pipelines.shortlist_learning import Links, linked
from keras_bahdanau.search import Shortlist
from keras_bahdanau.training.adaptation import Adaptation
from keras_bahdanau.training.inheritance import initial_model
from keras_bahdanau.training.run import Run

SENTENCES = ["one two three", "five", "", "what?", "two four one"]
SIZE = 16


@pytest.fixture(scope="module")
def translator(toy_translator, tmp_path_factory):
    """A copy of the toy whose own search is one in shortlists."""
    path = tmp_path_factory.mktemp("listed") / "toy.keras"
    toy_translator.save(path)
    translator = kb.Translator.load(path)
    translator.shortlist = kb.pipelines.learn_shortlist(
        translator, toy_pairs(), candidates=3, frequent=0
    )
    return translator.searching(dataclasses.replace(translator.search, shortlist=SIZE))


def test_links_are_sums_of_attention():
    links = Links(vocabulary=10, most=2)
    links.add(*linked(np.array([4, 5]), np.array([6, 7]), np.array([[0.75, 0.25], [0.5, 0.5]])))
    links.add(
        *linked(np.array([4]), np.array([8, 7]), np.array([[1.0], [0.005]]))
    )  # too little to count
    links.settle()
    # 4: 8 has 1, 6 has 0.75, 7 has 0.5; 5: 7 has 0.5, 6 has 0.25
    assert links.table(6, 2)[4:].tolist() == [[8, 6], [7, 6]]
    links.forget([8])
    assert links.table(6, 3)[4:].tolist() == [[6, 7, 0], [7, 6, 0]]


def test_too_many_links_leave_the_best_of_each_source_token(monkeypatch):
    monkeypatch.setattr("keras_bahdanau.pipelines.shortlist_learning.MOST_LINKS", 4)
    links = Links(vocabulary=10, most=1)
    weights = np.array([[0.9, 0.1], [0.3, 0.7], [0.2, 0.8]])
    links.add(*linked(np.array([4, 5]), np.array([6, 7, 8]), weights))
    links.settle()
    assert len(links) == 2 and links.table(6, 2)[4:].tolist() == [[6, 0], [8, 0]]


@pytest.mark.slow
def test_words_become_their_translations(translator):
    source, target = translator.source.subwords, translator.target
    for word, translation in TOY.items():
        ids, expected = (
            one.encode([text])[0] for one, text in ((source, word), (target, translation))
        )
        lists = translator.shortlist.lists(np.array([ids], "int32"), SIZE)
        assert set(expected) <= {*np.array(lists.tokens[0])}
        assert bool(lists.covered[0])


@pytest.mark.slow
def test_the_toy_translates_in_lists_as_without(translator):
    whole = dataclasses.replace(translator.search, shortlist=0)
    found, expected = translator.decode(SENTENCES), translator.decode(SENTENCES, search=whole)
    assert [one.text for one in found] == [one.text for one in expected]
    assert found[0].score > expected[0].score  # of fewer tokens that share the probability
    assert found[3].score == pytest.approx(expected[3].score, abs=1e-5)  # an unseen token
    begun = translator.decode(["one two"], prefixes=["drei"])[0]
    assert begun.text.startswith("drei")


@pytest.mark.slow
def test_it_goes_through_the_file_and_into_an_old_one(translator, tmp_path):
    translator.save(tmp_path / "new.keras")
    loaded = kb.Translator.load(tmp_path / "new.keras")
    assert loaded.shortlist == translator.shortlist and loaded.search == translator.search
    assert loaded.decode(SENTENCES)[0].text == translator.decode(SENTENCES)[0].text

    plain = kb.Translator(translator.source, translator.model, translator.target)
    plain.save(tmp_path / "old.keras")
    for _ in range(2):  # the second time in place of the first
        kb.pipelines.file.write_shortlist(tmp_path / "old.keras", translator.shortlist)
    assert kb.load_pipeline(tmp_path / "old.keras").shortlist == translator.shortlist
    adapted = Adaptation(initial_model(Run(tmp_path / "run"), tmp_path / "new.keras"))
    assert adapted.card["search"]["shortlist"] == 0  # the table stays behind, too
    loaded.shortlist = None
    with pytest.raises(ValueError, match="for a model without"):
        loaded.save(tmp_path / "none.keras")
    assert not (tmp_path / "none.keras").exists()
    both = kb.ensemble([tmp_path / "old.keras", tmp_path / "new.keras"])
    assert both.shortlist == translator.shortlist


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"candidates": 4}, "must be one of its vocabularies"),
        ({"candidates": True}, "must say how to read its shortlist"),
        ({"frequent": -1}, "must say how to read its shortlist"),
        ({"frequent": 10**9}, "Received: frequent=1000000000"),
    ],
)
def test_a_file_with_another_shortlist_is_refused(translator, tmp_path, change, message):
    translator.save(tmp_path / "whole.keras")
    with zipfile.ZipFile(tmp_path / "whole.keras") as old:
        with zipfile.ZipFile(tmp_path / "other.keras", "w") as new:
            for name in old.namelist():
                content = old.read(name)
                if name == "pipeline.json":
                    card = json.loads(content)
                    card["shortlist"] |= change
                    content = json.dumps(card)
                new.writestr(name, content)
    with pytest.raises(ValueError, match=message):
        kb.Translator.load(tmp_path / "other.keras")


@pytest.mark.slow
def test_a_damaged_table_is_found(translator, tmp_path):
    translator.save(tmp_path / "whole.keras")
    with zipfile.ZipFile(tmp_path / "whole.keras") as old:
        with zipfile.ZipFile(tmp_path / "other.keras", "w") as new:
            for name in old.namelist():
                content = old.read(name)
                new.writestr(name, content[:-4] + b"\1\0\0\0" if name == TABLES else content)
    with pytest.raises(ValueError, match=f"not what was saved in it: '{TABLES}'"):
        kb.Translator.load(tmp_path / "other.keras")


@pytest.mark.slow
def test_exports_search_in_the_same_lists(translator, tmp_path):
    expected = translator.decode(SENTENCES)
    kb.export_saved_model(translator, tmp_path / "model", SENTENCES)  # which compares them
    lengths = {"max_source_length": 12, "max_target_length": 12}
    kb.export_litert(translator, tmp_path / "model.tflite", sentences=SENTENCES, **lengths)
    found = OnDeviceTranslator(tmp_path / "model.tflite").translate(SENTENCES)
    for one, other in zip(found, expected, strict=True):
        assert one.text == other.text
        assert one.score == pytest.approx(other.score, abs=1e-5)
        np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-5)


@pytest.mark.slow
def test_a_trace_shows_the_tree_of_the_lists(translator):
    trace = translator.trace("one two", explore=True)
    assert trace.text == "eins zwei" and {*trace.target_tokens} <= {*trace.tree.tokens}


def test_a_shortlist_of_other_vocabularies_is_refused(toy_translator):
    sizes = toy_translator.source.size, toy_translator.target.vocabulary_size
    shortlist = Shortlist(np.zeros((sizes[0] + 1, 1), "int32"), np.arange(sizes[1]), 0)
    with pytest.raises(
        ValueError, match=rf"Received: a shortlist with \({sizes[0] + 1}, {sizes[1]}\)"
    ):
        toy_translator.shortlist = shortlist
    search = dataclasses.replace(toy_translator.search, shortlist=8)
    with pytest.raises(ValueError, match="Received: shortlist=8 for a model without"):
        toy_translator.decode(["one"], search=search)


def test_numbers_of_learning_are_bounded(toy_translator):
    for name, value in (("candidates", 0), ("candidates", 1001), ("frequent", -1)):
        with pytest.raises(ValueError, match=f"Received: {name}={value}"):
            kb.pipelines.learn_shortlist(toy_translator, toy_pairs(), **{name: value})
    for pairs in ([("one",)], [("one", None)]):
        with pytest.raises(TypeError, match="Received: "):
            kb.pipelines.learn_shortlist(toy_translator, pairs)
    with pytest.raises(ValueError, match=r"Received: pairs=\[\]"):
        kb.pipelines.learn_shortlist(toy_translator, [])


def test_a_vocabulary_that_all_lists_would_have_whole_is_refused_before_decoding(toy_translator):
    size, told = toy_translator.target.vocabulary_size, []
    for frequent in (size - 4, 100):
        with pytest.raises(ValueError, match=f"frequent={frequent} and 4 .*with {size} target"):
            kb.pipelines.learn_shortlist(
                toy_translator, toy_pairs(), frequent=frequent, say=told.append
            )
    assert not told
