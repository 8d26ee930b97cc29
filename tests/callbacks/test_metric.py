"""Metrics of decoded text inside `fit`."""

import numpy as np
import pytest

import keras_bahdanau as kb
from keras_bahdanau.callbacks import MetricCallback
from keras_bahdanau.evaluation import evaluate, interval, metrics_of

PAIRS = [("one two", "x"), ("one two", "eins zwei"), ("five", "x y z")]


@pytest.fixture(scope="module")
def wide(toy_translator):
    """A copy with a beam of two and weights that a test may change."""
    model = type(toy_translator.model).from_config(toy_translator.model.get_config())
    model.build()
    model.compile(optimizer="sgd", loss=kb.losses.TokenCrossentropy())
    model.set_weights(toy_translator.model.get_weights())
    search = kb.SearchOptions(beam_width=2)
    return kb.Translator(toy_translator.source, model, toy_translator.target, search)


@pytest.mark.slow
def test_a_source_counts_once_with_the_nearest_of_its_answers(wide):
    """The output "fünf" contains no word of "x y z", so all three words are errors."""
    assert MetricCallback(wide, PAIRS).measure() == 50
    assert MetricCallback(wide, PAIRS, "per").measure() == pytest.approx(100 * 3 / 5)


@pytest.mark.slow
def test_lower_error_rates_are_better_and_their_weights_stay(wide):
    judge = MetricCallback(wide, PAIRS, "ser", restore_best_weights=True)
    judge.set_model(wide.model)
    logs, weights = {}, wide.model.get_weights()
    judge.on_epoch_end(0, logs)
    wide.model.set_weights([np.zeros_like(weight) for weight in weights])
    judge.on_epoch_end(1, logs)
    assert (judge.best, judge.best_epoch, logs) == (50, 0, {"val_ser": 100})
    judge.on_train_end()
    for kept, weight in zip(wide.model.get_weights(), weights, strict=True):
        np.testing.assert_array_equal(kept, weight)


@pytest.fixture
def asked(monkeypatch):
    """`asked(translator)`: a list that records the `nbest` of each call of `decode_nbest`."""

    def function(translator):
        decode, numbers = translator.decode_nbest, []

        def counted(inputs, nbest=None, *settings, **others):
            numbers.append(nbest)
            return decode(inputs, nbest, *settings, **others)

        monkeypatch.setattr(translator, "decode_nbest", counted)
        return numbers

    return function


def test_several_metrics_decode_once_and_log_the_intervals_of_their_draws(
    translator, pass_epochs, asked
):
    """Reference k has k + 1 words, k of them missing: `counts` for words and for whole texts."""
    words = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf"}
    pairs = [(source, text + k * " x") for k, (source, text) in enumerate(words.items())]
    random = np.random.default_rng(12345)
    drawn = np.array([random.integers(0, 5, 5) for _ in range(1000)])  # (samples, sources)
    counts = {"wer": (np.arange(5), np.arange(1, 6)), "ser": (np.arange(5) > 0, np.ones(5))}
    expected = {"loss": [0]}
    for name, (errors, lengths) in counts.items():
        rates = 100 * errors[drawn].sum(axis=1) / lengths[drawn].sum(axis=1)
        low, high = np.percentile(rates, [2.5, 97.5])
        expected[f"val_{name}"] = [pytest.approx(100 * errors.sum() / lengths.sum())]
        expected[f"val_{name}_low"] = [pytest.approx(low)]
        expected[f"val_{name}_high"] = [pytest.approx(high)]
    numbers = asked(translator)
    judge = MetricCallback(translator, pairs, ["wer", "ser"], intervals=True)
    assert pass_epochs(translator.model, [judge]) == expected
    assert numbers == [1]
    assert (judge.best, judge.best_epoch) == (pytest.approx(100 * 10 / 15), 0)
    assert judge.measure() == judge.best


@pytest.mark.slow
def test_scores_and_intervals_are_those_of_evaluate(wide, asked):
    # The second-best text of the beam.
    (found,) = wide.decode_nbest(["three"], 2)
    pairs, names = [*PAIRS, ("three", found[1].text)], ["exact", "bleu", "top2", "ser"]
    numbers = asked(wide)
    scores = MetricCallback(wide, pairs, names, intervals=True).scores()
    assert numbers == [2]
    assert scores["exact"] == pytest.approx(100 / 3) and scores["top2"] == pytest.approx(200 / 3)
    expected = {}
    for name, measured in evaluate(wide, pairs, metrics=names).by_metric.items():
        expected[name] = measured.score
        expected[f"{name}_low"], expected[f"{name}_high"] = measured.interval
    assert scores == expected and [*scores] == [*expected]


@pytest.mark.slow
def test_metrics_with_settings_of_their_own_stand_beside_names(wide):
    (capitals,) = metrics_of(["exact"], lowercase=True)
    pairs = [(source, text.upper()) for source, text in PAIRS]
    judge = MetricCallback(wide, pairs, (capitals, "wer"))
    assert judge.metric is capitals
    assert judge.scores() == {"exact": 50, "wer": 100}
    with pytest.warns(UserWarning, match="BLEU is meaningless for these references"):
        bleu = MetricCallback(wide, PAIRS, "bleu", intervals=True)
    found = [one.text for one in wide.translate([source for source, _ in PAIRS])]
    texts = [text for _, text in PAIRS]
    assert (bleu.scores()["bleu_low"], bleu.scores()["bleu_high"]) == interval(
        bleu.metric, found, texts
    )


@pytest.mark.parametrize("metric", [[], ["wer", "wer"], [*metrics_of(["wer"]), "wer"]])
def test_each_metric_has_a_name_of_its_own(translator, metric):
    with pytest.raises(ValueError, match=r"`metric` must be one .* Received: metric=\["):
        MetricCallback(translator, PAIRS, metric)


@pytest.mark.parametrize("metric", ["blue", ["wer", "blue"], None])
def test_unknown_metrics_are_refused(translator, metric):
    with pytest.raises(
        ValueError, match="list of distinct names from bleu, chrf, .* Received: metrics="
    ):
        MetricCallback(translator, PAIRS, metric)


@pytest.mark.parametrize("metric", ["top3", ["exact", "top3"]])
def test_a_beam_that_is_too_narrow_is_refused_when_training_begins(translator, metric):
    judge = MetricCallback(translator, PAIRS, metric)
    judge.set_model(translator.model)
    with pytest.raises(ValueError, match="beam width, 1. Received: nbest=3"):
        judge.on_train_begin()


def test_each_fit_has_a_best_of_its_own_and_the_file_that_of_all(
    translator, pass_epochs, monkeypatch, tmp_path
):
    values, model = iter([50, 10, 20, 60]), translator.model
    path = tmp_path / "best.keras"
    judge = MetricCallback(translator, PAIRS, restore_best_weights=True, save_best=path)
    monkeypatch.setattr(judge, "scores", lambda: {"exact": next(values)})
    pass_epochs(model, [judge])
    saved = path.read_bytes()
    later = [weight + 1 for weight in model.get_weights()]
    model.set_weights(later)
    pass_epochs(model, [judge], 2)
    assert (judge.best, judge.best_epoch) == (20, 1) and path.read_bytes() == saved
    for kept, weight in zip(model.get_weights(), later, strict=True):
        np.testing.assert_array_equal(kept, weight)
    pass_epochs(model, [judge])
    assert path.read_bytes() != saved


def test_of_equal_values_the_epoch_with_the_least_loss_is_best_and_never_not_a_number(
    translator, monkeypatch
):
    epochs = [  # (value, logs, best epoch afterwards)
        (float("nan"), {"loss": 1.0}, None),
        (40, {"loss": 1.0, "val_loss": 5.0}, 1),
        (40, {"loss": 2.0, "val_loss": 4.0}, 2),
        (40, {"loss": 0.5, "val_loss": 6.0}, 2),
        (40, {"loss": 0.5, "val_loss": 6.0, "val_perplexity": 3.0}, 4),
        (40, {}, 4),
        (50, {"loss": 9.0}, 6),
        (float("nan"), {"loss": 0.0}, 6),
    ]
    values = iter([value for value, _, _ in epochs])
    judge = MetricCallback(translator, PAIRS, restore_best_weights=True)
    judge.set_model(translator.model)
    monkeypatch.setattr(judge, "scores", lambda: {"exact": next(values)})
    for epoch, (_, logs, best) in enumerate(epochs):
        judge.on_epoch_end(epoch, logs)
        assert judge.best_epoch == best
    assert judge.best == 50
