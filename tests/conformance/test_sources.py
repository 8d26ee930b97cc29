"""Every kind of source through all that a user does with a pipeline, in one code."""

from collections.abc import Callable
from typing import NamedTuple

import keras
import numpy as np
import pytest

import keras_bahdanau as kb
from keras_bahdanau.exporters import IdsSavedModelExporter
from keras_bahdanau.exporters import export as export_by

WORDS = ("eins", "zwei", "drei", "vier")


def one_hot_frames(numbers):
    """Two frames a number, the second one half as loud."""
    frames = np.eye(4, dtype=np.float32)[list(numbers)]
    return np.stack([frames, frames / 2], axis=1).reshape(-1, 4)


def bars(numbers):
    """A column of cells a number: a black bar, the lower the larger it is."""
    image = np.full((16, 8 * len(numbers)), 255, np.uint8)
    for place, number in enumerate(numbers):
        image[4 * number : 4 * number + 4, 8 * place : 8 * place + 8] = 0
    return image


def tones(numbers):
    """80 ms of a fading tone for each number, as samples and their rate."""
    steps = np.arange(1280) / 16_000
    fading = np.exp(-60 * steps)
    waves = [fading * np.sin(2 * np.pi * 400 * 2**number * steps) for number in numbers]
    return np.concatenate(waves).astype(np.float32), 16_000


def pen(numbers):
    """A line of another direction for each number."""
    ends = [(10, 0), (0, 10), (10, 10), (10, -10)]
    return [
        np.array([[20 * place, 0], [20 * place + ends[number][0], ends[number][1]]])
        for place, number in enumerate(numbers)
    ]


def letters(numbers):
    return " ".join("abcd"[number] for number in numbers)


class Case(NamedTuple):
    """One kind of source.

    Attributes:
        input_of: Function of a tuple of numbers that gives an input.
        source_of: Function of all inputs that gives the source.
        empty: An input of nothing.
        learning_rate: Float, of its training.
    """

    input_of: Callable
    source_of: Callable
    empty: object
    learning_rate: float = 1e-2


CASES = {
    "text": Case(letters, lambda texts: kb.text.Subwords.train(texts, 8, model_type="word"), ""),
    "features": Case(
        one_hot_frames, lambda _: kb.sources.FeatureSource(4), np.zeros((0, 4), np.float32)
    ),
    "images": Case(bars, lambda _: kb.sources.ImageSource(16, 48), b"no image", 3e-3),
    "ink": Case(pen, lambda _: kb.sources.InkSource(), [], 3e-3),
    "audio": Case(tones, lambda _: kb.sources.AudioSource(20), (np.zeros(0), 16_000)),
}
NUMBERS = [(a, b) for a in range(4) for b in range(4)] + [(a, 1, b) for a in (0, 2) for b in (1, 3)]


class Trained(NamedTuple):
    """A pipeline that has learnt to read numbers, and its pairs."""

    pipeline: kb.Pipeline
    pairs: list
    case: Case


def text_of(numbers):
    return " ".join(WORDS[number] for number in numbers)


SLOW = {"text", "images", "ink", "audio"}  # most other tests are about text; the others take long


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(case, id=name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name, case in CASES.items()
    ],
)
def trained(request, tmp_path_factory):
    """Trained by `fit`, saved and loaded."""
    keras.utils.set_random_seed(0)
    case = request.param
    pairs = [(case.input_of(numbers), text_of(numbers)) for numbers in NUMBERS]
    source = case.source_of([one for one, _ in pairs])
    target = kb.text.Subwords.train([text for _, text in pairs], 8, model_type="word")
    model = kb.presets.small(
        source, target, embedding_units=16, units=32, attention_units=16, dropout=0.0
    )
    model.compile(keras.optimizers.Adam(case.learning_rate), kb.losses.TokenCrossentropy())
    model.build()
    model.optimizer.build(model.trainable_variables)  # or the first step is traced twice
    data = kb.data.batches(pairs, source, target, batch_tokens=512, buckets=1)
    model.fit(data, epochs=60, verbose=0, shuffle=False)
    path = tmp_path_factory.mktemp("source") / "pipeline.keras"
    kb.Pipeline(source, model, target).save(path)
    return Trained(kb.Pipeline.load(path), pairs, case)


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


@pytest.mark.few(1)
@pytest.mark.parametrize("export", ["saved-model", "litert", "saved-model-ids"])
def test_an_artefact_answers_alike(trained, export, tmp_path):
    exporter = {
        "saved-model": kb.exporters.SavedModelExporter,
        "saved-model-ids": IdsSavedModelExporter,
        "litert": lambda: kb.exporters.LiteRTExporter(max_source_length=24),
    }[export]()
    lines = []
    inputs, texts = zip(*trained.pairs, strict=True)
    # raises if an answer is another one than Keras'
    path = export_by(
        exporter, trained.pipeline, tmp_path / "artefact", [*inputs], [*texts], say=lines.append
    )
    assert exporter.check(path) == []
    assert "100.00%" in "\n".join(lines)
    assert exporter.describe(path)
