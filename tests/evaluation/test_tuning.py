"""The options that are tried, the choice of the best one, and how it is written into a file."""

import dataclasses
import inspect
import json
import zipfile

import pytest
import sacrebleu

from keras_bahdanau.cli.commands.tune import tune as cli_tune
from keras_bahdanau.evaluation import (
    METRICS,
    Trial,
    candidates,
    metrics_of,
    simplest,
    tune,
    tuned_options,
)
from keras_bahdanau.models import SourceLimits
from keras_bahdanau.pipelines.archive import CARD, write_search
from keras_bahdanau.pipelines.tasks import Translator
from keras_bahdanau.search import SearchOptions

OWN = SearchOptions(beam_width=2, max_length=20)
PAIRS = [("one two", "eins zwei"), ("four", "vier"), ("five two one", "fünf zwei eins")]


def summary(options):
    return options.beam_width, options.length_penalty, options.length_normalization


def test_the_own_options_come_first_and_those_alike_once():
    found = candidates(OWN, (3, 1, 3), (0, 1.0), ("power", "gnmt"))
    assert [summary(options) for options in found] == [
        (2, "power", 1.0),
        (1, "power", 0.0),
        (3, "power", 0.0),
        (3, "power", 1.0),
        (3, "gnmt", 1.0),
    ]
    assert {options.max_length for options in found} == {20}
    assert candidates(OWN, (2,), (1.0,), ("power",)) == [OWN]


def test_shares_of_ctc_are_tried_with_all_else():
    found = candidates(OWN, (1, 2), (1.0,), ("power",), ctc_weights=(0, 0.3))
    assert [(options.beam_width, options.ctc_weight) for options in found] == [
        (2, 0.0),
        (1, 0.0),
        (1, 0.3),
        (2, 0.3),
    ]
    joint = dataclasses.replace(OWN, ctc_weight=0.5)
    assert {options.ctc_weight for options in candidates(joint, (1, 2), (1.0,))} == {0.5}


def test_a_model_without_ctc_gets_no_share_of_it(toy_translator):
    assert tuned_options(toy_translator.model)["ctc_weights"] == (0.0,)
    joint = dataclasses.replace(OWN, ctc_weight=0.3)
    with pytest.raises(ValueError, match="ctc_weight=0.3 for a model trained without"):
        tune(toy_translator, PAIRS, [OWN, joint], tell=lambda trial: pytest.fail("one is tried"))


def test_the_help_has_the_lists_of_a_model_with_ctc():
    class Joint:
        source_limits = SourceLimits(1, has_ctc=True)

    parameters = inspect.signature(cli_tune, eval_str=True).parameters
    for name, numbers in tuned_options(Joint()).items():
        help_text = parameters[name].annotation.__metadata__[0].help
        assert f"[default: {','.join(f'{one:g}' for one in numbers)} for a model with" in help_text


def test_searches_at_random_cannot_be_tuned():
    with pytest.raises(ValueError, match="Received: temperature=0.7"):
        candidates(SearchOptions(temperature=0.7))


@pytest.mark.slow
def test_the_highest_bleu_wins(toy_translator):
    cut = dataclasses.replace(OWN, max_length=2)
    told = []
    trials = tune(toy_translator, PAIRS, [cut, OWN], tokenize="char", tell=told.append)
    assert [trial.search for trial in trials] == [OWN, cut]
    assert [trial.search for trial in told] == [cut, OWN]
    for trial in trials:
        found = toy_translator.translate([source for source, _ in PAIRS], search=trial.search)
        expected = sacrebleu.corpus_bleu(
            [each.text for each in found], [[target for _, target in PAIRS]], tokenize="char"
        )
        assert trial.score == pytest.approx(expected.score) and trial.seconds > 0
        assert trial.length_ratio == pytest.approx(expected.sys_len / expected.ref_len)
    assert trials[0].score > trials[1].score
    assert {trial.metric for trial in trials} == {"bleu"}, "the first of a translator's own"


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["wer", "exact"])
def test_the_best_by_another_metric_wins(toy_translator, metric):
    cut = dataclasses.replace(OWN, max_length=2)
    trials = tune(toy_translator, PAIRS, [cut, OWN], tokenize="char", metric=metric)
    assert [trial.search for trial in trials] == [OWN, cut]
    (measure,) = metrics_of([metric])
    for trial in trials:
        found = toy_translator.translate([source for source, _ in PAIRS], search=trial.search)
        texts = [each.text for each in found]
        assert trial.score == measure.corpus_score(texts, [target for _, target in PAIRS])
        lengths = [sum(len("".join(text.split())) for text in texts)]
        lengths.append(sum(len("".join(target.split())) for _, target in PAIRS))
        assert trial.length_ratio == pytest.approx(lengths[0] / lengths[1]), "in characters"
    assert (trials[0].score < trials[1].score) == (metric == "wer")


def test_an_unknown_metric_is_refused(toy_translator):
    with pytest.raises(ValueError, match="Received: metrics=.'rouge'"):
        tune(toy_translator, PAIRS, [OWN], metric="rouge")


def test_a_metric_that_cannot_tell_right_texts_is_refused(toy_translator):
    with pytest.raises(ValueError, match="Received: metric='bleu'. BLEU is .* --tokenize char"):
        tune(toy_translator, PAIRS, [OWN], tell=lambda trial: pytest.fail("one is tried"))


def test_a_trial_without_a_number_is_never_kept():
    nothing, wide = Trial(OWN, float("nan"), 1.0, 1.0, "wer"), Trial(OWN, 90.0, 1.0, 1.0, "wer")
    assert simplest([nothing, wide]) is wide


@pytest.mark.slow
def test_among_equals_the_narrower_beam_wins(toy_translator):
    wide = dataclasses.replace(OWN, beam_width=3)
    wide, own = tune(toy_translator, PAIRS, [wide, OWN], metric="chrf")[::-1]
    assert wide.score == own.score and own.search == OWN


@pytest.mark.parametrize(
    "tolerance, kept", [(0, "highest"), (0.1, "shorter"), (0.5, "narrower"), (30, "worse")]
)
def test_of_those_alike_the_least_search_is_kept(tolerance, kept):
    trials = {
        "highest": Trial(SearchOptions(beam_width=5), 40.0, 0.99, 1.0),
        "longer": Trial(SearchOptions(beam_width=5), 39.95, 0.995, 1.0),
        "shorter": Trial(SearchOptions(beam_width=5), 39.92, 0.97, 1.0),
        "wider": Trial(SearchOptions(beam_width=10), 39.91, 0.9, 1.0),
        "narrower": Trial(SearchOptions(beam_width=4), 39.8, 1.0, 1.0),
        "worse": Trial(SearchOptions(beam_width=1), 20.0, 1.0, 1.0),
    }
    assert simplest([*trials.values()], tolerance) is trials[kept]
    # An error rate is worse by as much as it is higher.
    by_errors = {
        name: dataclasses.replace(trial, score=100 - trial.score, metric="wer")
        for name, trial in trials.items()
    }
    assert simplest([*by_errors.values()], tolerance) is by_errors[kept]


def test_of_those_alike_one_without_ctc_is_kept_before_shorter_texts():
    joint = dataclasses.replace(OWN, ctc_weight=0.3)
    trials = [Trial(joint, 9.95, 0.9, 1.0, "wer"), Trial(OWN, 10.0, 1.0, 1.0, "wer")]
    assert simplest(trials) is trials[1]
    assert simplest(trials, 0) is trials[0]


def test_every_metric_says_which_scores_are_better():
    for name in METRICS:
        (metric,) = metrics_of([name])
        low, high = Trial(OWN, 10.0, 1.0, 1.0, name), Trial(OWN, 90.0, 1.0, 1.0, name)
        assert simplest([low, high]) is (high if metric.higher_is_better else low)


def test_no_tolerance_is_below_zero():
    with pytest.raises(ValueError, match="Received: tolerance=-1"):
        simplest([Trial(OWN, 40.0, 1.0, 1.0)], -1)


@pytest.mark.parametrize("pairs, searches", [([], [OWN]), (PAIRS, []), ([("one", " ")], [OWN])])
def test_nothing_to_try_is_refused(toy_translator, pairs, searches):
    with pytest.raises(ValueError, match="Tuning needs pairs"):
        tune(toy_translator, pairs, searches)


@pytest.fixture
def saved(toy_translator, tmp_path):
    toy_translator.save(tmp_path / "a.keras")
    return tmp_path / "a.keras"


@pytest.mark.slow
def test_a_file_gets_other_options_and_stays_the_same_model(saved, toy_translator):
    with zipfile.ZipFile(saved) as archive:
        before = {name: archive.read(name) for name in archive.namelist()}
    write_search(saved, dataclasses.asdict(OWN))
    with zipfile.ZipFile(saved) as archive:
        after = {name: archive.read(name) for name in archive.namelist()}
    assert json.loads(after.pop(CARD))["search"] == dataclasses.asdict(OWN)
    assert before.pop(CARD) and after == before
    loaded = Translator.load(saved)
    assert loaded.search == OWN
    assert loaded.translate(["one two"])[0].text == toy_translator.translate(["one two"])[0].text
    assert [path.name for path in saved.parent.iterdir()] == ["a.keras"]


def test_a_file_that_cannot_be_written_stays_as_it_is(saved):
    before = saved.read_bytes()
    with pytest.raises(TypeError):
        write_search(saved, {"beam_width": object()})
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["a.keras"]


@pytest.mark.slow
def test_references_without_a_token_are_tuned_on(toy_translator):
    pairs = [("one two", "<skipped>"), ("four", "<skipped>")]  # BLEU treats this as no text
    (trial,) = tune(toy_translator, pairs, [OWN], metric="chrf")
    assert trial.length_ratio > 0
