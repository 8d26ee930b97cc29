"""Text to results: any number, any order, empty and unusual sentences, saving and loading."""

import multiprocessing
import pickle
import re
import zipfile
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import toy_pairs
from decoders import new_decoder

import keras_bahdanau as kb
from keras_bahdanau.pipelines import graph, pipeline

SENTENCES = ["three one two", "", "five", "one one four", "  ", "qqq ☃", "two"]


def same(one, other):
    np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-5)
    assert one.score == pytest.approx(other.score, abs=1e-5)
    assert (one.text, one.source_tokens, one.target_tokens, one.finished) == (
        other.text,
        other.source_tokens,
        other.target_tokens,
        other.finished,
    )


@pytest.mark.parametrize("beam_width", [1, 5])
def test_it_translates_what_it_has_learnt(toy_translator, beam_width):
    pairs = toy_pairs()
    options = kb.SearchOptions(beam_width=beam_width)
    results = toy_translator.translate([source for source, _ in pairs], search=options)
    right = sum(result.text == target for result, (_, target) in zip(results, pairs, strict=True))
    assert right >= 0.95 * len(pairs)
    assert all(result.finished for result in results)


def test_a_result_fits_together(toy_translator):
    (result,) = toy_translator.translate(["three one two"])
    assert result.source_tokens[-1] == "</s>" and result.target_tokens[-1] == "</s>"
    assert result.alignment.shape == (len(result.target_tokens), len(result.source_tokens))
    np.testing.assert_allclose(result.alignment.sum(axis=1), 1, atol=1e-5)
    words = "".join(result.target_tokens[:-1]).replace("▁", " ").strip()
    assert words == result.text


def test_an_empty_sentence_gives_an_empty_translation(toy_translator):
    for sentences in (["", "one"], [""], [" \t", ""]):
        result = toy_translator.translate(sentences)[0]
        assert (result.text, result.score, result.finished) == ("", 0.0, True)
        assert result.source_tokens == result.target_tokens == []
        assert result.alignment.shape == (0, 0)


def test_no_sentence_gives_no_result(toy_translator):
    assert toy_translator.translate([]) == []


@pytest.mark.few(1)
@pytest.mark.parametrize("replace_unknown", [False, True])
def test_a_graph_takes_no_sentence_at_all(toy_translator, replace_unknown):
    options = kb.SearchOptions(beam_width=3, replace_unknown=replace_unknown)
    text = tf.constant([], tf.string)
    source, target = toy_translator.source, toy_translator.target
    translator = kb.Translator(source, toy_translator.model, target, options)
    found = translator.search_features(source.features(text=text))
    assert translator.graph_texts(found, translator.graph_copies(found, text=text)).shape == (0, 3)


def test_batch_and_order_change_nothing(toy_translator):
    together = toy_translator.translate(SENTENCES)
    backwards = toy_translator.translate(SENTENCES[::-1], batch_size=3)[::-1]
    alone = [toy_translator.translate([sentence])[0] for sentence in SENTENCES]
    for one, two, three in zip(together, backwards, alone, strict=True):
        same(one, two)
        same(one, three)


def test_a_result_keeps_no_array_of_its_batch(toy_translator):
    for result in toy_translator.translate(SENTENCES):
        for array in (result.alignment, result.token_log_probs, result.token_entropies):
            assert array.base is None


@pytest.mark.slow
def test_a_pipeline_keeps_so_many_graphs(toy_translator, monkeypatch):
    sides = toy_translator.source, toy_translator.model, toy_translator.target
    translator = kb.Translator(*sides, kb.SearchOptions(beam_width=2))
    monkeypatch.setattr(graph, "MOST_GRAPHS", 2)
    found = [
        translator.translate(["one"], search=kb.SearchOptions(beam_width=1, max_length=length))
        for length in (5, 6, 7, 5)
    ]
    assert len(translator._graphs) == 2
    assert [one.text for (one,) in found] == ["eins"] * 4


def test_nbest_is_sorted_and_begins_with_the_best(toy_translator):
    hypotheses = toy_translator.translate_nbest(["three one"], nbest=3)[0]
    assert len(hypotheses) == 3
    assert len({tuple(hypothesis.target_tokens) for hypothesis in hypotheses}) == 3
    finished = [hypothesis.score for hypothesis in hypotheses if hypothesis.finished]
    assert finished == sorted(finished, reverse=True)
    same(hypotheses[0], toy_translator.translate(["three one"])[0])


def test_a_translation_is_cut_at_its_limit_and_says_so(toy_translator):
    options = kb.SearchOptions(beam_width=1, max_length=2)
    (result,) = toy_translator.translate(["three one two"], search=options)
    assert len(result.target_tokens) == 2 and not result.finished


def test_forced_decoding_scores_its_own_translation_as_search_did(toy_translator):
    sentences = ["three one two", "five", "one one four"]
    found = toy_translator.translate(sentences)
    read = toy_translator.align(
        [(sentence, result.text) for sentence, result in zip(sentences, found, strict=True)]
    )
    for one, other in zip(found, read, strict=True):
        same(one, other)


@pytest.mark.few(1)
@pytest.mark.parametrize("settings", [{}, {"length_penalty": "gnmt", "coverage_penalty": 0.5}])
@pytest.mark.parametrize("beam_width", [1, 3])
def test_a_pair_has_the_score_that_the_search_gave_it(toy_translator, beam_width, settings):
    options = kb.SearchOptions(beam_width=beam_width, **settings)
    sentences = ["three one two", "five", "one one four"]
    found = toy_translator.translate(sentences, search=options)
    pairs = [(sentence, result.text) for sentence, result in zip(sentences, found, strict=True)]
    scores = toy_translator.score(pairs, search=options)
    assert scores == pytest.approx([result.score for result in found], abs=1e-4)
    assert toy_translator.score([]) == []
    right, wrong = toy_translator.score([("one two", "eins zwei"), ("one two", "zwei eins")])
    assert wrong < right < 0


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("beam_width", [1, 3])
def test_a_translation_begins_with_its_prefix(toy_translator, beam_width):
    options = kb.SearchOptions(beam_width=beam_width)
    sentences = ["three one", "five", "", "two four"]
    prefixes = ["vier", "", "eins", "zwei vier"]
    results = toy_translator.translate(sentences, 2, options, prefixes)
    free = toy_translator.translate(sentences, search=options)
    assert results[0].text.split()[0] == "vier" and results[2].text == ""
    same(results[1], free[1])
    same(results[3], free[3])
    (read,) = toy_translator.align([("three one", results[0].text)], search=options)
    same(results[0], read)


@pytest.mark.slow
def test_a_long_prefix_has_room_and_one_beyond_the_longest_length_is_cut(toy_translator):
    prefix = " ".join(["eins"] * 20)
    options = kb.SearchOptions(beam_width=2)
    (result,) = toy_translator.translate(["one"], search=options, prefixes=[prefix])
    assert result.text.startswith(prefix)
    short = kb.SearchOptions(beam_width=2, max_length=5)
    (result,) = toy_translator.translate(["one"], search=short, prefixes=[prefix])
    assert len(result.target_tokens) == 5 and not result.finished
    assert prefix.startswith(result.text)


def test_each_sentence_needs_its_prefix(toy_translator):
    with pytest.raises(ValueError, match="1 prefixes, 2 sentences"):
        toy_translator.translate(["one", "two"], prefixes=["eins"])
    with pytest.raises(TypeError, match=r"prefixes\[1\]=None"):
        toy_translator.translate(["one", "two"], prefixes=["eins", None])


def test_text_that_utf8_can_not_encode_is_refused_in_one_line(toy_translator):
    long = "one" * 100 + "\ud800"
    for name, arguments in {
        "sentences": {"sentences": ["one", long]},
        "prefixes": {"sentences": ["one", "two"], "prefixes": ["", long]},
    }.items():
        with pytest.raises(
            ValueError, match=rf"Received: {name}\[1\]='one.{{,80}} Decode its bytes"
        ):
            toy_translator.translate(**arguments)


@pytest.mark.slow
def test_lengths_and_repetition_follow_the_options(toy_translator):
    (free,) = toy_translator.translate(["one"])
    for beam_width in (1, 3):
        options = kb.SearchOptions(beam_width=beam_width, min_length=20, max_length_ratio=0)
        (result,) = toy_translator.translate(["one"], search=options)
        assert len(result.target_tokens) >= 20 > len(free.target_tokens)
        options = kb.SearchOptions(beam_width=beam_width, no_repeat_ngram=1, min_length=6)
        (result,) = toy_translator.translate(["one one one"], search=options)
        assert len(set(result.target_tokens)) == len(result.target_tokens) >= 6


@pytest.mark.slow
def test_draws_depend_on_the_seed_and_the_sentence_alone(toy_translator):
    def found(sentences, batch_size=64, **settings):
        options = kb.SearchOptions(beam_width=4, temperature=2.0, **settings)
        return toy_translator.translate_nbest(sentences, 4, batch_size, options)

    together, backwards = found(SENTENCES), found(SENTENCES[::-1], 3)[::-1]
    for one, other in zip(together, backwards, strict=True):
        for draw, again in zip(one, other, strict=True):
            same(draw, again)
    texts = [[draw.text for draw in draws] for draws in together]
    assert texts != [[draw.text for draw in draws] for draws in found(SENTENCES, seed=1)]
    assert len(set(texts[0])) > 1
    assert texts[1] == [""]
    options = kb.SearchOptions(beam_width=4, temperature=2.0)
    first = toy_translator.translate(SENTENCES, search=options)
    assert [result.text for result in first] == [draws[0] for draws in texts]


@pytest.mark.slow
def test_an_unknown_token_becomes_the_source_word_it_attends_to(toy_translator):
    """The prefix contains an out-of-vocabulary character."""
    plain, copying = (
        kb.SearchOptions(beam_width=2, replace_unknown=replaced) for replaced in (False, True)
    )
    sentences, prefixes = ["one ☃☃ two", "five"], ["eins ☃", "fünf"]
    before = toy_translator.translate(sentences, search=plain, prefixes=prefixes)
    after = toy_translator.translate(sentences, search=copying, prefixes=prefixes)
    place = before[0].target_tokens.index("<unk>")
    words, groups = kb.text.alignments.join_subwords(before[0].source_tokens)
    weights = [before[0].alignment[place, group].sum() for group in groups[:-1]]
    word = sentences[0].split()[int(np.argmax(weights))]
    assert "⁇" in before[0].text and "⁇" not in after[0].text
    assert after[0].text.split()[1].startswith(word)
    assert after[0].target_tokens == before[0].target_tokens
    same(before[1], after[1])


@pytest.mark.slow
def test_save_and_load_need_no_custom_objects(toy_translator, tmp_path):
    options = kb.SearchOptions(beam_width=3, length_normalization=0.5, no_repeat_ngram=3)
    translator = kb.Translator(
        toy_translator.source, toy_translator.model, toy_translator.target, options
    )
    translator.save(tmp_path / "toy.keras")
    loaded = kb.Translator.load(tmp_path / "toy.keras")
    assert loaded.search == options
    assert (loaded.source, loaded.target) == (translator.source, translator.target)
    results = zip(translator.translate(SENTENCES), loaded.translate(SENTENCES), strict=True)
    for one, other in results:
        same(one, other)
    assert [path.name for path in tmp_path.iterdir()] == ["toy.keras"]
    assert isinstance(keras.saving.load_model(tmp_path / "toy.keras"), kb.Seq2Seq)


def test_a_file_is_read_without_drawing_weights_that_it_replaces(
    toy_translator, tmp_path, monkeypatch
):
    toy_translator.save(tmp_path / "toy.keras")
    monkeypatch.setattr(keras.initializers.Orthogonal, "__call__", None)  # must not be called
    loaded = kb.Translator.load(tmp_path / "toy.keras")
    pairs = zip(loaded.model.get_weights(), toy_translator.model.get_weights(), strict=True)
    for found, expected in pairs:
        np.testing.assert_array_equal(found, expected)
    loaded.save(tmp_path / "again.keras")


def test_one_string_is_refused(toy_translator):
    with pytest.raises(TypeError, match=r"sentences='one'"):
        toy_translator.translate("one")
    with pytest.raises(TypeError, match=r"sentences\[1\]=None"):
        toy_translator.translate(["one", None])


@pytest.mark.parametrize("pair", [("one",), "one", ("one", "eins", 1)])
def test_what_is_no_pair_is_refused(toy_translator, pair):
    message = f"Each of `pairs` must be (input, target). Received: {pair!r}"
    for method in (toy_translator.score, toy_translator.align):
        with pytest.raises(TypeError, match=re.escape(message)):
            method([("one", "eins"), pair])


def test_more_hypotheses_than_the_beam_are_refused(toy_translator):
    with pytest.raises(ValueError, match="nbest=6"):
        toy_translator.translate_nbest(["one"], nbest=6)


def test_vocabularies_of_another_model_are_refused(toy_translator):
    other, _ = kb.text.Subwords.train_pair(toy_pairs(), vocabulary_size=40)
    model, own = toy_translator.model, toy_translator.target
    for source, target in ((other, other), (other, own), (own, other)):
        sizes = (source.vocabulary_size, target.vocabulary_size)
        with pytest.raises(ValueError, match=rf"{re.escape(str(sizes))}.*\(48, 48\)"):
            kb.Translator(source, model, target)


def test_parts_of_another_kind_are_refused(toy_translator):
    source, model, target = toy_translator.source, toy_translator.model, toy_translator.target
    with pytest.raises(TypeError, match="`source` must be .* Received: source of type Seq2Seq"):
        kb.Translator(model, source, target)
    with pytest.raises(TypeError, match="`target` must be .* Received: target of type TextSource"):
        kb.Translator(source, model, source)
    frames = kb.sources.FeatureSource(5)
    speech = kb.presets.small(frames, target, embedding_units=4, units=6)
    with pytest.raises(TypeError, match="class TextSource. Received: FeatureSource. Use a Pipe"):
        kb.Translator(frames, speech, target)


def test_files_that_are_no_translator_are_refused(toy_translator, tmp_path):
    with pytest.raises(FileNotFoundError, match="missing.keras"):
        kb.Translator.load(tmp_path / "missing.keras")
    with pytest.raises(FileNotFoundError, match="a directory"):
        kb.Translator.load(tmp_path)
    with pytest.raises(ValueError, match=r"\.keras"):
        toy_translator.save(tmp_path / "toy.h5")

    toy_translator.model.save(tmp_path / "model.keras")
    with pytest.raises(ValueError, match="without vocabularies"):
        kb.Translator.load(tmp_path / "model.keras")

    toy_translator.save(tmp_path / "toy.keras")
    whole = (tmp_path / "toy.keras").read_bytes()
    (tmp_path / "cut.keras").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="cut.keras"):
        kb.Translator.load(tmp_path / "cut.keras")


def test_the_optimizer_does_not_travel(toy_translator, tmp_path):
    toy_translator.save(tmp_path / "toy.keras")
    with zipfile.ZipFile(tmp_path / "toy.keras") as archive:
        weights = archive.getinfo("model.weights.h5").file_size
    assert weights < 2 * 4 * toy_translator.model.count_params() + 200_000


@pytest.mark.slow
def test_one_search_after_another_is_nothing_to_warn_of(toy_translator, monkeypatch):
    said = []
    monkeypatch.setattr(tf.get_logger(), "warning", lambda *about: said.append(about))
    for exponent in (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9):
        search = kb.SearchOptions(beam_width=2, max_length=5, length_normalization=exponent)
        toy_translator.translate(["one two"], search=search)
    assert said == []


@pytest.mark.parametrize("option", [{"coverage_penalty": 0.5}, {"replace_unknown": True}])
def test_what_needs_attention_weights_is_refused_without_them(toy_translator, option):
    sizes = toy_translator.model.source_limits.size, toy_translator.target.vocabulary_size
    model = kb.Seq2Seq(kb.Encoder(sizes[0], 4, 3), new_decoder(sizes[1], 4, 6, attention=None))
    name, value = *option, *option.values()
    with pytest.raises(ValueError, match=f"needs attention weights.*Received: {name}={value}"):
        kb.Translator(
            toy_translator.source, model, toy_translator.target, kb.SearchOptions(**option)
        )


@pytest.mark.slow
def test_what_can_be_read_once_is_translated(toy_translator):
    texts, prefixes = ["one two", "three"], ["eins", ""]
    expected = toy_translator.translate(texts, prefixes=prefixes)
    found = toy_translator.translate(iter(texts), prefixes=iter(prefixes))
    assert [one.text for one in found] == [one.text for one in expected]
    assert len(toy_translator.translate_nbest((text for text in texts), 1)) == 2


@pytest.mark.slow
def test_threads_that_share_a_translator_get_the_texts_of_one(toy_translator):
    def ask(number):
        search = kb.SearchOptions(beam_width=1 + number % 2)
        return toy_translator.translate([SENTENCES[number % 7]], search=search)[0].text

    alone = list(map(ask, range(14)))
    with ThreadPoolExecutor(8) as threads:
        texts = list(threads.map(ask, range(2000)))
    assert texts == [alone[number % 14] for number in range(2000)]


def test_graphs_leave_while_other_threads_ask_for_them(toy_translator, monkeypatch):
    monkeypatch.setattr(graph, "MOST_GRAPHS", 2)
    translator = kb.Translator(toy_translator.source, toy_translator.model, toy_translator.target)

    def ask(key):
        function = translator._graphs.get(key, lambda x: x + key, [pipeline._IDS])
        return function.python_function(1)

    with ThreadPoolExecutor(8) as threads:
        keys = [number % 5 for number in range(4000)]
        assert list(threads.map(ask, keys)) == [1 + key for key in keys]
    assert len(translator._graphs) == 2


def test_a_translator_is_saved_and_not_pickled(toy_translator):
    with pytest.raises(TypeError, match=r"A Translator can't be pickled.* Call `save\(path\)`"):
        pickle.dumps(toy_translator)
    assert toy_translator.searching(kb.SearchOptions(beam_width=2)).model is toy_translator.model


@pytest.mark.parametrize("loads", [False, True])
def test_a_forked_process_refuses_a_model_in_one_line(toy_translator, tmp_path, loads):
    toy_translator.translate(["one"])
    toy_translator.save(tmp_path / "toy.keras")
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def ask():
        try:
            translator = kb.Translator.load(tmp_path / "toy.keras") if loads else toy_translator
            translator.translate(["one"])
        except RuntimeError as error:
            queue.put(str(error))

    child = context.Process(target=ask)
    child.start()
    child.join(20)
    child.kill()
    message = queue.get()
    assert "Received: a forked process. Start processes with" in message and "\n" not in message
