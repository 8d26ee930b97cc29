import copy
import dataclasses
import json

import keras
import numpy as np
import pytest
import sacrebleu

from keras_bahdanau import presets
from keras_bahdanau.data import BatchedPairs
from keras_bahdanau.evaluation import Band, Measured, evaluate, perplexity
from keras_bahdanau.evaluation.scoring import long_references_of
from keras_bahdanau.pipelines.tasks import Translator, load_pipeline
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.text import Subwords

PAIRS = [("a b c", "x y z"), ("b", "y"), ("c a", "z x z x z x"), ("b b a", "y y x")]


@pytest.fixture(scope="module")
def translator():
    keras.utils.set_random_seed(1)
    sides = Subwords.train_pair(PAIRS, 10, model_type="word")
    return new_translator(*sides, SearchOptions(beam_width=2, max_length=5))


def new_translator(source, target, search):
    model = presets.small(source, target, embedding_units=8, units=8, attention_units=8)
    return Translator(source, model, target, search)


@pytest.fixture(scope="module")
def plain(translator):
    """The measures for all pairs."""
    return evaluate(translator, PAIRS)


def ids_of(translator, source, target):
    """Return source ids `(1, source_time)` and target ids `(target_time,)`."""
    (source,) = translator.source.subwords.encode([source])
    (target,) = translator.target.encode([target])
    return source[np.newaxis], target


def perplexity_by_hand(translator, pairs):
    """Compute the perplexity pair by pair, without padding, in float64."""
    losses = []
    for source, target in pairs:
        source, target = ids_of(translator, source, target)
        inputs = (source, np.array([[2, *target[:-1]]]))
        logits = np.asarray(translator.model(inputs)[0], "float64")
        log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        losses.extend(-log_probs[np.arange(len(target)), target])
    return np.exp(np.mean(losses))


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("batch_tokens", [6, 1000])
def test_perplexity_is_of_all_real_tokens_together(translator, batch_tokens):
    batches = BatchedPairs(PAIRS, translator.source, translator.target, batch_tokens, shuffle=False)
    expected = perplexity_by_hand(translator, PAIRS)
    assert perplexity(translator.model, batches) == pytest.approx(expected, rel=1e-5)


def test_scores_are_those_of_sacrebleu(translator, plain):
    texts = [translation.text for translation in translator.translate([s for s, _ in PAIRS])]
    references = [[target for _, target in PAIRS]]
    assert [translation.text for translation in plain.translations] == texts
    assert plain.bleu == sacrebleu.corpus_bleu(texts, references).score
    assert plain.chrf == sacrebleu.corpus_chrf(texts, references).score
    assert plain.bleu_signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a")
    assert plain.perplexity == pytest.approx(perplexity_by_hand(translator, PAIRS), rel=1e-5)


def test_the_metrics_asked_for_and_no_others_are_measured(translator):
    measured = evaluate(translator, PAIRS, metrics=("ter", "exact"))
    texts = [translation.text for translation in measured.translations]
    references = [target for _, target in PAIRS]
    assert [*measured.by_metric] == ["ter", "exact"]
    assert measured.ter == sacrebleu.corpus_ter(texts, [references], case_sensitive=True).score
    assert measured.exact == 25 * sum(map(str.__eq__, texts, references))
    assert "case:mixed|tok:tercom" in measured.ter_signature
    with pytest.raises(AttributeError, match="ter, exact. Received: name='bleu_signature'"):
        str(measured.bleu_signature)
    assert copy.copy(measured).ter == measured.ter
    lines = str(measured).splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["TER", "exact", "perplexity"]
    assert lines[-3].split() == ["source", "words", "sentences", "TER"]
    scores = json.loads(json.dumps(measured.scores()))
    assert [*scores][:4] == ["ter", "ter_signature", "ter_interval", "exact"]
    assert scores["ter_interval"] == [*measured.ter_interval]
    assert scores["by_length"] == [{"label": "1-5", "sentences": 4, "ter": measured.ter}]


def test_perplexity_of_words_accuracy_and_attention_by_hand(translator, plain):
    """In a word model, tokens are words, and both measures count the end of a sentence."""
    measured = plain
    assert measured.word_perplexity == pytest.approx(measured.perplexity)
    right = total = 0
    for source, target in PAIRS:
        source, target = ids_of(translator, source, target)
        logits = np.asarray(translator.model((source, np.array([[2, *target[:-1]]])))[0])
        right += np.sum(logits.argmax(axis=-1) == target)
        total += len(target)
    assert measured.token_accuracy == pytest.approx(right / total)
    weights = [each.alignment for each in measured.translations]
    entropies = [-(each * np.log(each)).sum(axis=-1) for each in weights]
    assert measured.attention_entropy == pytest.approx(np.concatenate(entropies).mean(), rel=1e-5)
    assert 0.9 < measured.attention_entropy_share <= 1, "untrained, it looks everywhere"


@pytest.mark.slow
def test_words_are_split_into_tokens():
    sides = Subwords.train_pair(PAIRS, 11, model_type="char")
    measured = evaluate(new_translator(*sides, SearchOptions(beam_width=1)), PAIRS)
    # Each word consists of a mark and a letter.
    tokens, words = 2 * (3 + 1 + 6 + 3) + 4, (3 + 1 + 6 + 3) + 4
    expected = measured.perplexity ** (tokens / words)
    assert measured.word_perplexity == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
def test_alignment_errors_are_measured_where_alignments_are_given(translator):
    links = [frozenset({(0, 0)})] * len(PAIRS)
    measured = evaluate(translator, PAIRS, alignments=(links, links))
    assert 0 <= measured.alignment_error_rate <= 1
    assert f"{measured.alignment_error_rate:.2%} error rate" in str(measured)
    assert evaluate(translator, PAIRS).alignment_error_rate is None


@pytest.mark.slow
def test_the_table_of_lengths_holds_all_sentences(translator):
    measured = evaluate(translator, [*PAIRS, (" ".join("abc" * 3), "x")])
    assert [(band.label, band.sentences) for band in measured.by_length] == [
        ("1-5", 4),
        ("6-10", 1),
    ]
    assert "        6-10          1" in str(measured)


def test_a_tag_is_no_part_of_the_length_of_a_source(translator):
    pairs = [("c a b a b a", "x y"), ("c", "z"), ("", "")]
    # The band is not 6-10: five words follow the tag.
    (band,) = evaluate(translator, pairs, tag="c").by_length
    assert (band.label, band.sentences) == ("1-5", 2)


@pytest.mark.slow
def test_the_report_has_the_names_of_the_pipeline_and_its_source(translator):
    measured = evaluate(translator, PAIRS)
    names = (measured.inputs, measured.texts, measured.counted_in)
    assert names == ("sentences", "translations", "words")
    named = dataclasses.replace(
        measured,
        inputs="recordings",
        texts="texts",
        counted_in="frames of 10 ms",
        by_length=[Band("1-100", 1234, 20.5)],
        by_metric={"exprate1": Measured("ExpRate <=1", 20.5, "")},
        remarks=[],
    )
    lines = str(named).splitlines()
    assert "recordings  4" in lines
    assert f"cut         {measured.cut:.2%} of the texts at the longest length" in lines
    assert lines[-2:] == [
        "source frames of 10 ms  recordings  ExpRate <=1",
        "                 1-100       1,234        20.50",
    ]
    assert not any(word in str(named) for word in ("sentences", "translations", "source words"))


@pytest.mark.slow
def test_without_metrics_those_of_the_pipeline_are_measured(translator, monkeypatch):
    assert [*evaluate(translator, PAIRS).by_metric] == ["bleu", "chrf"]
    monkeypatch.setattr(Translator, "metrics", ("wer",))
    assert [*evaluate(translator, PAIRS).by_metric] == ["wer"]


SEVERAL = [("a b c", "x y z"), ("b", "y"), ("a b c", "zz"), ("a b c", "x"), ("c a", "q")]


def test_a_source_with_several_answers_is_decoded_and_counted_once(translator):
    """Rates count three sources, each with its closest answer; BLEU counts all five pairs."""
    decoded, decode = [], translator.decode_nbest
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            translator,
            "decode_nbest",
            lambda texts, *a, **k: decoded.append(texts) or decode(texts, *a, **k),
        )
        measured = evaluate(translator, SEVERAL, metrics=("exact", "cer", "bleu"))
    assert decoded == [["a b c", "b", "c a"]]
    texts = [translation.text for translation in measured.translations]
    assert texts[0] == texts[2] == texts[3] and len(texts) == measured.sentences == 5
    right = (texts[0] in ("x y z", "zz", "x")) + (texts[1] == "y") + (texts[4] == "q")
    assert measured.exact == pytest.approx(100 * right / 3)
    assert measured.bleu == sacrebleu.corpus_bleu(texts, [[text for _, text in SEVERAL]]).score
    assert sum(band.sentences for band in measured.by_length) == measured.sources == 3
    assert "sentences   5, 3 different" in str(measured)


def test_accuracy_of_the_best_few_has_them_all(translator):
    """References: the first source's second-best text, and a text outside the second's two best."""
    best, second = translator.translate_nbest(["a b c"], 2)[0]
    pairs = [("a b c", second.text), ("b", "q")]
    measured = evaluate(translator, pairs, metrics=("exact", "top2"))
    assert (measured.exact, measured.top2) == (0.0, 50.0)
    assert [one.text for one in measured.translations][:1] == [best.text]
    with pytest.raises(ValueError, match="`nbest` must be from 1 to the beam width, 2. .*nbest=3"):
        evaluate(translator, pairs, metrics=("top3",))


@pytest.mark.slow
def test_case_and_tokenization_are_the_users(translator):
    measured = evaluate(translator, PAIRS, tokenize="none", lowercase=True)
    assert "case:lc|eff:no|tok:none" in measured.bleu_signature


def test_pairs_with_an_empty_side_are_translated_but_have_no_perplexity(translator, plain):
    measured = evaluate(translator, [*PAIRS, ("", "x"), ("a", "")])
    assert (measured.sentences, measured.skipped) == (6, 2)
    assert measured.translations[4].text == ""
    assert measured.perplexity == plain.perplexity


@pytest.mark.slow
def test_translations_that_did_not_end_are_counted(translator):
    short = SearchOptions(max_length=1, length_normalization=0.0)
    measured = evaluate(translator, [*PAIRS, ("", "x")], search=short)
    unfinished = [not translation.finished for translation in measured.translations]
    assert measured.cut == sum(unfinished) / 5
    assert not unfinished[4]


def test_targets_that_no_output_can_equal_are_named(translator):
    """Targets have 4, 2, 7 and 4 tokens, sources 4, 2, 3 and 4, including the end token."""
    batches = BatchedPairs(PAIRS, translator.source, translator.target, shuffle=False)
    fits, short = SearchOptions(max_length_offset=1), SearchOptions(max_length_offset=0)
    lowest = SearchOptions(max_length_ratio=0, max_length_offset=3)
    assert long_references_of(batches, PAIRS, translator, fits) == ""
    assert long_references_of(batches, PAIRS, translator, short) == (
        "1 of 4 targets has more tokens than outputs can have (max_length_ratio 2 * positions of "
        "the source + max_length_offset 0, at most max_length 256), such as 'c a': 'z x z x z x'. "
        "Longer outputs are cut: raise --max-length-ratio, or max_length_ratio in Python"
    )
    line = long_references_of(batches, PAIRS, translator, lowest)
    assert line.startswith("3 of 4 targets have") and "'a b c': 'x y z'" in line


@pytest.mark.slow
def test_remarks_are_in_the_report_and_in_its_figures(translator):
    pairs = [("a b c", "x y z"), ("b", "y")]
    measured = evaluate(translator, pairs, search=SearchOptions(max_length=2))
    bleu, longer = measured.remarks
    assert (
        bleu.startswith("BLEU is meaningless for these references")
        and "1 of 2 targets has" in longer
    )
    assert str(measured).endswith(f"{bleu}\n{longer}") and measured.scores()["remarks"]


@pytest.mark.slow
def test_scores_can_be_written_as_json_and_read_as_text(translator):
    measured = evaluate(translator, [*PAIRS, ("", "")])
    scores = json.loads(json.dumps(measured.scores()))
    assert scores["sentences"] == 5
    assert scores["sentences_per_second"] == pytest.approx(5 / scores["seconds"])
    assert "translations" not in scores
    assert f"BLEU        {scores['bleu']:.2f}" in str(measured)
    assert "5, 1 with an empty side" in str(measured)


def test_pairs_without_text_are_refused(translator):
    with pytest.raises(ValueError, match="Received: 2 pairs"):
        evaluate(translator, [("", "x"), ("a", " ")])


def test_pairs_that_are_all_too_long_are_refused_by_the_name_of_their_limit(translator):
    search = SearchOptions(max_source_length=2)  # "a", "b" and the end token: 3 tokens
    with pytest.raises(ValueError, match="most max_source_length=2 .* 1 pairs.* larger max_source"):
        evaluate(translator, [("a b", "x y")], search=search)


@pytest.mark.slow
def test_a_text_may_have_more_tokens_than_its_source_has_positions(toy_source):
    pipeline = load_pipeline(toy_source("features"))
    frames = np.ones((2, pipeline.source.size), np.float32)
    longer = "eins zwei drei vier eins zwei"
    measured = evaluate(pipeline, [(frames, longer)], search=SearchOptions(max_source_length=3))
    assert measured.too_long == 0 and np.isfinite(measured.perplexity)


@pytest.mark.slow
def test_pairs_that_are_too_long_are_counted_and_have_no_perplexity(translator):
    # Only "b" is short enough.
    search = SearchOptions(beam_width=1, max_length=5, max_source_length=3)
    measured = evaluate(translator, PAIRS, search=search)
    assert (measured.too_long, measured.skipped) == (3, 0)
    assert "3 with one that is too long" in str(measured)
    expected = perplexity_by_hand(translator, [PAIRS[1]])
    assert measured.perplexity == pytest.approx(expected, rel=1e-5)
    assert [found.truncated for found in measured.translations] == [True, False, False, True]
