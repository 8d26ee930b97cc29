"""Ensembles of translators: their translations, their files and their exports."""

import zipfile

import keras
import numpy as np
import pytest
import reference
from conftest import toy_pairs

import keras_bahdanau as kb
from keras_bahdanau.pipelines.tasks import check_same_sides
from keras_bahdanau.sources import TextSource
from keras_bahdanau.text import Subwords
from keras_bahdanau.text.vocabulary import END, START

SENTENCES = ["three one two", "", "five", "qqq ☃"]


@pytest.fixture(scope="module")
def path(toy_translator, tmp_path_factory):
    path = tmp_path_factory.mktemp("ensembling") / "toy.keras"
    toy_translator.save(path)
    return path


@pytest.fixture(scope="module")
def mixed(toy_translator):
    """The toy translator together with an untrained model of another architecture."""
    keras.utils.set_random_seed(0)
    sides = (toy_translator.source, toy_translator.target)
    other = kb.presets.luong(*sides, embedding_units=8, units=12, depth=1, decoder_depth=1)
    options = kb.SearchOptions(beam_width=2, max_length=8)
    other = kb.Translator(toy_translator.source, other, toy_translator.target)
    return kb.ensemble([toy_translator, other], search=options)


def source_ids(translator, sentence):
    """Return the features of one sentence, `(1, source_time)`."""
    rows = translator.source.rows([sentence])
    return rows.padded([0], (1, rows.lengths[0]))


def same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert (one.text, one.target_tokens) == (other.text, other.target_tokens)
        assert one.score == pytest.approx(other.score, abs=1e-5)
        np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("beam_width", [1, 3])
def test_a_translator_and_its_copy_translate_as_it_does(toy_translator, path, beam_width):
    both = kb.ensemble([toy_translator, path])
    options = kb.SearchOptions(beam_width=beam_width)
    results = both.translate(SENTENCES, search=options)
    same(results, toy_translator.translate(SENTENCES, search=options))
    pairs = [(SENTENCES[row], results[row].text) for row in (0, 2)]
    same(both.align(pairs, search=options), [results[row] for row in (0, 2)])
    assert both.search == toy_translator.search


@pytest.mark.slow
def test_a_pair_has_the_mean_of_the_members_probabilities(mixed):
    pair = ("three one", "drei eins")
    target_out = np.array(mixed.target.encode([pair[1]]))  # (1, time)
    target_in = np.concatenate([[[START]], target_out[:, :-1]], axis=1)
    probabilities = []
    for model in mixed.model.models:
        logits = model((source_ids(mixed, pair[0]), target_in))
        probabilities.append(np.exp(reference.log_softmax(np.array(logits, "float64"))))
    chosen = np.mean(probabilities, axis=0)[0, np.arange(len(target_out[0])), target_out[0]]
    options = kb.SearchOptions(length_normalization=0.0)  # the score is log p
    assert mixed.score([pair], search=options) == pytest.approx([np.log(chosen).sum()], abs=1e-4)


@pytest.mark.slow
def test_it_is_one_file(mixed, tmp_path):
    mixed.save(tmp_path / "both.keras")
    loaded = kb.Translator.load(tmp_path / "both.keras")
    assert isinstance(loaded.model, kb.Ensemble) and loaded.search == mixed.search
    same(loaded.translate(SENTENCES), mixed.translate(SENTENCES))
    with zipfile.ZipFile(tmp_path / "both.keras") as archive:
        weights = archive.getinfo("model.weights.h5").file_size
    assert weights < 2 * 4 * mixed.model.count_params() + 300_000  # it contains no optimizer state


@pytest.mark.slow
def test_its_perplexity_is_that_of_its_log_probabilities(toy_translator, path):
    data = kb.data.BatchedPairs(
        toy_pairs()[:10], toy_translator.source, toy_translator.target, shuffle=False
    )
    both, one = (
        kb.evaluation.perplexity(translator.model, data)
        for translator in (kb.ensemble([toy_translator, path]), toy_translator)
    )
    assert both == pytest.approx(one, rel=1e-5)


def test_translators_that_do_not_go_together_are_refused(toy_translator, tmp_path):
    joint, _ = kb.text.Subwords.train_pair(toy_pairs(), vocabulary_size=40)
    sides = (toy_translator.source.subwords, toy_translator.target)
    for source, target in ((joint, joint), (sides[0], joint), (joint, sides[1])):
        model = kb.presets.small(source, target, embedding_units=8, units=8)
        other = kb.Translator(source, model, target)
        with pytest.raises(ValueError, match="same source and target. Received: translator 3"):
            kb.ensemble([toy_translator, toy_translator, other])
    with pytest.raises(ValueError, match=r"at least one translator.*translators=\[\]"):
        kb.ensemble([])
    with pytest.raises(ValueError, match="one model twice"):
        kb.ensemble([toy_translator, toy_translator])
    with pytest.raises(FileNotFoundError, match="missing.keras"):
        kb.ensemble([tmp_path / "missing.keras"])


def test_features_in_another_place_are_told_apart_from_another_vocabulary():
    texts = ["walk <V>", "walked"]
    both = Subwords.train(texts, 20, model_type="char", exact=False, symbols=["<V>"])
    last, first = ((TextSource(both, place), both) for place in ("last", "first"))
    check_same_sides([last, last])
    with pytest.raises(
        ValueError, match="translator 2 with other source settings, .*'first'.*'last'"
    ):
        check_same_sides([last, first])
    other = Subwords.train(["other"], 20, model_type="char", exact=False)
    for sides in ((TextSource(other, "first"), both), (TextSource(both, "first"), other)):
        with pytest.raises(ValueError, match="translator 2 with vocabularies that differ"):
            check_same_sides([last, sides])


def test_one_model_at_a_time_is_traced(mixed):
    with pytest.raises(ValueError, match="single model.*Received: an ensemble of 2"):
        mixed.trace("one two")


@pytest.mark.slow
def test_the_exported_files_answer_as_keras_does(mixed, tmp_path):
    """Both exporters compare outputs and refuse to write files that differ."""
    kb.export_saved_model(mixed, tmp_path / "served")
    path = kb.export_litert(
        mixed, tmp_path / "both.tflite", max_source_length=20, max_target_length=8
    )
    same(kb.exporters.OnDeviceTranslator(path).translate(SENTENCES), mixed.translate(SENTENCES))


@pytest.mark.slow
def test_a_host_can_drive_the_steps_of_an_ensemble(mixed, tmp_path):
    from ai_edge_litert.interpreter import Interpreter

    path = kb.export_litert(
        mixed, tmp_path / "both.tflite", max_source_length=20, max_target_length=8
    )
    encode, step, greedy = map(
        Interpreter(model_path=str(path)).get_signature_runner,
        ("encode", "decode_step", "translate_greedy"),
    )
    source = np.zeros((1, 20), np.int32)
    ids = source_ids(mixed, "three one two")
    source[:, : ids.shape[1]] = ids
    fields, tokens = encode(source=source), [START]
    while tokens[-1] != END and len(tokens) < 9:
        found = step(tokens=np.array(tokens[-1:], np.int32), **fields)
        tokens.append(int(found["log_probs"].argmax()))
        fields |= {name: found[name] for name in found if name.startswith("state_")}
    expected = greedy(source=source)
    assert tokens[1:] == expected["ids"][0, : expected["length"][0]].tolist()
