"""Every kind of source supports everything that a user does with a pipeline, in the same code."""

from typing import NamedTuple

import numpy as np
import pytest
from toy_sources import CASES, Case, toy_pairs_of

import keras_bahdanau as kb
from keras_bahdanau.exporters import FORMATS
from keras_bahdanau.exporters import export as export_by


class Trained(NamedTuple):
    """A pipeline that has learned to read numbers, and its pairs."""

    pipeline: kb.Pipeline
    pairs: list
    case: Case


@pytest.fixture(
    scope="module",  # slow, since a model is trained for each case
    params=[pytest.param(name, marks=pytest.mark.slow) for name in CASES],
)
def trained(request, toy_source):
    """A pipeline that was trained with `fit`, saved and loaded."""
    return Trained(
        kb.Pipeline.load(toy_source(request.param)),
        toy_pairs_of(request.param),
        CASES[request.param],
    )


def test_it_learns_and_decodes(trained):
    inputs, texts = zip(*trained.pairs, strict=True)
    results = trained.pipeline.decode(inputs)
    assert [result.text for result in results] == [*texts]
    for result in results:
        assert result.alignment.shape == (len(result.target_tokens), len(result.source_tokens))
        np.testing.assert_allclose(result.alignment.sum(axis=1), 1, atol=1e-5)


def test_an_input_decodes_alike_alone_and_in_any_batch(trained):
    inputs = [one for one, _ in trained.pairs]
    together = trained.pipeline.decode(inputs)
    for one, expected in zip(inputs, together, strict=True):
        (alone,) = trained.pipeline.decode([one])
        assert alone.text == expected.text
        np.testing.assert_allclose(alone.score, expected.score, atol=1e-5)
        np.testing.assert_allclose(alone.alignment, expected.alignment, atol=1e-5)


def test_an_empty_input_has_an_empty_result(trained):
    first, empty = trained.pipeline.decode([trained.pairs[0][0], trained.case.empty])
    assert first.text == trained.pairs[0][1]
    assert (empty.text, empty.source_tokens, empty.target_tokens) == ("", [], [])


@pytest.mark.slow
def test_a_beam_is_sorted_and_its_hypotheses_are_scored_as_given_texts(trained):
    one = trained.pairs[0][0]
    (hypotheses,) = trained.pipeline.decode_nbest([one], 3)
    scores = [hypothesis.score for hypothesis in hypotheses]
    assert scores == sorted(scores, reverse=True)
    given = trained.pipeline.score([(one, hypotheses[0].text)])
    np.testing.assert_allclose(given[0], scores[0], atol=1e-5)


@pytest.mark.slow
def test_draws_depend_on_the_input_alone(trained):
    search = kb.SearchOptions(temperature=5.0, seed=3, max_length=6, beam_width=1)
    inputs = [one for one, _ in trained.pairs]
    together = trained.pipeline.decode(inputs, search=search)
    backwards = trained.pipeline.decode(inputs[::-1], batch_size=3, search=search)
    assert [one.text for one in together] == [one.text for one in backwards[::-1]]


@pytest.mark.slow
def test_its_trace_follows_the_result(trained):
    one, text = trained.pairs[0]
    shown = trained.pipeline.trace(one)
    (result,) = trained.pipeline.decode([one])
    assert (shown.text, shown.source_tokens) == (text, result.source_tokens)
    np.testing.assert_allclose(shown.weights, result.alignment, atol=1e-5)
    figure = kb.plot_trace(shown)
    assert figure.axes
    picture = trained.pipeline.picture(one)
    assert (shown.picture is None) == (picture is None)
    assert kb.plot_alignment(result, picture).axes


@pytest.mark.slow
def test_it_is_evaluated(trained):
    report = kb.evaluation.evaluate(trained.pipeline, trained.pairs, metrics=("exact", "wer"))
    assert (report.exact, report.wer) == (100, 0)
    source, lines = trained.pipeline.source, str(report).splitlines()
    heading = ["source", source.counted_in, trained.pipeline.plural, "exact"]
    assert [line.split() for line in lines].count(heading) == 1
    sizes = source.sizes([one for one, _ in trained.pairs])
    assert sum(band.sentences for band in report.by_length) == sum(size > 0 for size in sizes)
    assert report.scores()["counted_in"] == source.counted_in


@pytest.mark.slow
@pytest.mark.parametrize("name", [key for key in FORMATS if key != "browser"])
def test_an_artefact_answers_alike(trained, name, tmp_path):
    exporter = FORMATS[name](**({"max_source_length": 24} if name == "litert" else {}))
    artefact = tmp_path / f"model{exporter.suffix}"
    lines = []
    inputs, texts = zip(*trained.pairs, strict=True)
    # raises if an answer differs from Keras'
    path = export_by(exporter, trained.pipeline, artefact, [*inputs], [*texts], say=lines.append)
    assert exporter.check(path) == []
    assert "100.00%" in "\n".join(lines)
    assert exporter.describe(path)
