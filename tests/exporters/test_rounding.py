"""Differences caused only by rounding are told apart from errors of an export, on any processor."""

import keras
import numpy as np
import pytest

import keras_bahdanau as kb
from keras_bahdanau.exporters.comparison import Comparison
from keras_bahdanau.exporters.exporter import Answer, Answers, Exporter, Listed
from keras_bahdanau.exporters.parity import TOLERANCE, Case, summary
from keras_bahdanau.exporters.rounding import SIZE, add_roundings

SENTENCES = ["three one two", "five", "one one four four two", "two"]


def answer(result, **changes):
    fields = "text", "score", "alignment", "token_log_probs", "token_entropies", "confidence"
    return Answer(**{name: getattr(result, name) for name in fields} | changes)


class Replayed(Exporter):
    """A stand-in for an artefact whose answers are computed by a function of the pipeline."""

    artefact = "replayed"
    recognizes = destination = write = check = add_parity = describe = None
    __abstractmethods__ = frozenset()

    def __init__(self, decode, lists=False):
        self._decode, self._lists = decode, lists

    def answers(self, path, pipeline, inputs):
        lists = self._decode(pipeline, inputs)
        received = [[answer(results[0])] for results in lists]
        listed = [
            Listed(row, "", [answer(result) for result in results])
            for row, results in enumerate(lists)
        ]
        return Answers(received, [0.0] * len(inputs), lists=listed if self._lists else ())


def with_weights(change):
    """Return a function that decodes with weights changed by a function of (weight, generator)."""

    def decode(pipeline, inputs):
        random, weights = np.random.default_rng(5), pipeline.model.get_weights()
        pipeline.model.set_weights([change(weight, random) for weight in weights])
        try:
            return pipeline.decode_nbest(inputs)
        finally:
            pipeline.model.set_weights(weights)

    return decode


def nudged(weight, random):
    """Change a weight by up to 16 units in the last place, like sums in a different order."""
    return weight * (1 + random.uniform(-SIZE / 4, SIZE / 4, weight.shape))


def in_8_bits(weight, random):
    scale = max(np.abs(weight).max(), 1e-9) / 127
    return np.rint(weight / scale) * scale


@pytest.fixture(scope="module")
def sensitive(toy_translator):
    """A translator whose scores change by far more than the tolerance when its weights are rounded.

    Its weights are large, so each step amplifies differences between states.
    """
    config = toy_translator.model.get_config()
    keras.utils.set_random_seed(3)
    model = type(toy_translator.model).from_config(config)
    model.build()
    random = np.random.default_rng(2)
    model.set_weights([4 * random.normal(size=w.shape) for w in model.get_weights()])
    search = kb.SearchOptions(beam_width=2, max_length=24, min_length=12)
    return kb.Translator(toy_translator.source, model, toy_translator.target, search)


@pytest.mark.few(1)
@pytest.mark.parametrize("lists", [False, True])
def test_rounding_is_no_difference_however_far_it_moves_an_answer(sensitive, lists):
    comparison = Comparison(sensitive, SENTENCES)
    row = comparison.row(Replayed(with_weights(nudged), lists), "tests")
    # Otherwise the test would show nothing.
    assert max(row.score, row.tokens, row.alignment) > TOLERANCE or row.ties
    assert row.holds, row.misses


@pytest.mark.few(1)
@pytest.mark.parametrize("lists", [False, True])
def test_weights_of_8_bits_are_a_difference(toy_translator, lists):
    comparison = Comparison(toy_translator, SENTENCES)
    row = comparison.row(Replayed(with_weights(in_8_bits), lists), "tests")
    assert not row.holds
    assert any("rounding explains" in miss for miss in row.misses), row.misses


def test_the_weights_are_what_they_were(toy_translator):
    before = toy_translator.model.get_weights()
    (best,) = toy_translator.decode(["two"])
    (case,) = add_roundings(
        [Case("two", [best], [answer(best, score=best.score + 1)])],
        toy_translator,
        toy_translator.search,
    )
    for weight, value in zip(toy_translator.model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight, value)
    assert len(case.rounded) > 1
    scores = [hypotheses[0].score for hypotheses in case.rounded]
    assert scores[0] == pytest.approx(best.score, abs=1e-6) and len({*scores}) > 1
    assert list(case.misses())  # a score that is off by 1 is not explained by rounding


def test_an_answer_within_the_tolerance_is_not_looked_into(toy_translator):
    (best,) = toy_translator.decode(["two"])
    cases = [Case("two", [best], [answer(best, score=best.score + TOLERANCE / 2)])]
    assert add_roundings(cases, toy_translator, toy_translator.search) is cases


def hypothesis(text, score):
    return Answer(text, score, np.ones((1, 1), np.float32))


def test_another_text_is_a_tie_if_keras_gives_or_scores_it_as_well():
    """If two hypotheses have nearly equal scores, processors and batches may choose either one."""
    best, other = hypothesis("a", -1.0), hypothesis("b", -1.00001)
    case = Case("A", [best], [best, other])
    assert case.is_suspect() and not case.is_tie(other)
    near, far = [best, other], [best, hypothesis("b", -1.1)]
    turned = [hypothesis("b", -0.9), best]
    assert case._replace(rounded=(near,)).is_tie(other)
    assert not case._replace(rounded=(far,)).is_tie(other)
    assert case._replace(rounded=(far, turned)).is_tie(other)
    assert not case._replace(rounded=(far, turned)).is_tie(hypothesis("c", -1.0))
    tie = case._replace(rounded=(near,))
    assert not list(tie.misses())
    assert summary([tie]) | {"ties": 1, "unstable": 1, "equal": 0} == summary([tie])


def test_a_model_without_a_text_of_its_own_may_have_any():
    lists = [[hypothesis(text, -1.0)] for text in "abcd"]
    case = Case("A", lists[0], [hypothesis("x", -2.0)], rounded=tuple(lists))
    assert not case.is_steady() and case.is_tie(case.received[0])
    listed = case._replace(prefix="")
    assert not listed.is_steady() and listed._replace(rounded=(lists[0],)).is_steady()
