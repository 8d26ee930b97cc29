"""Steps of monotonic attention only need the source up to the position where they stop."""

from collections.abc import Callable
from typing import NamedTuple

import extract
import numpy as np
import pytest
from decoders import new_decoder

import keras_bahdanau as kb
from keras_bahdanau.layers import ATTENTIONS, AudioFrames, FrameConvolutions, FrameProjection
from keras_bahdanau.layers.front_ends.audio_frames import Samples
from keras_bahdanau.layers.front_ends.frames import Frames
from keras_bahdanau.models import Encoder, Seq2Seq

RANDOM = np.random.default_rng(3)
ROWS, STEPS = 64, 6
SHORT, LONG = 80, 112  # frames
HOP = 160  # samples between sound frames
VALUES = RANDOM.normal(size=(ROWS, LONG, 3)).astype("float32")
LOUD = np.repeat(10 ** RANDOM.uniform(-4, 0, (ROWS, LONG)), HOP, axis=1)
SOUND = (LOUD * RANDOM.uniform(-1, 1, (ROWS, LONG * HOP))).astype("float32")
TARGET_IN = RANDOM.integers(1, 7, (ROWS, STEPS)).astype("int32")


class Case(NamedTuple):
    """A front end, and how far it looks ahead.

    Attributes:
        front_end: Function without arguments that creates the front end.
        features: Function of the lengths of all rows that returns that many frames of each row.
        needed: Function of memory positions that returns the number of frames that they depend on.
    """

    front_end: Callable
    features: Callable
    needed: Callable


def frames(lengths):
    return Frames(VALUES[:, : max(lengths)], np.array(lengths, "int32"))


def sound(lengths):
    return Samples(SOUND[:, : max(lengths) * HOP], np.array(lengths, "int32"))


def listener(normalization):
    return lambda: AudioFrames(8, bands=10, convolutions=(4, 4), normalization=normalization)


CASES = {
    # Convolutions of 3 frames with stride 2: position j depends on frames up to 2 j + 1. A sound
    # frame has 25 ms, so that it overlaps the next two frames.
    "sound": Case(listener("global"), sound, lambda j: 4 * j + 6),
    "features": Case(lambda: FrameProjection(3, 8), frames, lambda j: j + 1),
    # Convolutions of 5 and 3 positions with stride 2: j depends on positions up to 2 (j + 1) + 2.
    "ink": Case(lambda: FrameConvolutions(3, 8, (4, 4)), frames, lambda j: 4 * j + 13),
}


def new(case, kind="unidirectional", bridge="zeros", scales=(8, 4, -0.5)):
    """Return a model whose attention stops at varying positions.

    `scales` are factors for the score's weights of queries and of the memory, and its bias.
    """
    encoder = Encoder(front_end=case.front_end(), units=8, kind=kind)
    attention = ATTENTIONS.get("bahdanau", units=8, normalizer="mocha-hard")
    model = Seq2Seq(encoder, new_decoder(7, 6, 8, attention, bridge=bridge))
    model.build()
    extract.randomize(model)
    of_query, of_memory, bias = scales
    for weight in attention.score.weights:
        weight.assign(weight * (of_query if "query" in weight.path else of_memory))
    attention.normalizer.r.assign(bias)
    statistics = getattr(encoder.front_end, "statistics", None)
    if statistics is not None:
        statistics.moving_mean.assign(np.full(10, -5.0))
        statistics.moving_variance.assign(np.full(10, 4.0))
    return model


def read(model, features):
    logits, weights = model((features, TARGET_IN), return_attention_scores=True)
    return np.asarray(logits), np.asarray(weights)


def stops_of(weights):
    """Return where attention stops, `(rows, steps)`; -1 from the first step without a stop."""
    real = weights > 0
    last = weights.shape[-1] - 1 - real[..., ::-1].argmax(axis=-1)
    stopped = np.logical_and.accumulate(real.any(axis=-1), axis=-1)
    return np.where(stopped, last, -1)


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("name", CASES)
def test_frames_behind_the_place_of_a_stop_change_no_step_up_to_it(name):
    case = CASES[name]
    model = new(case)
    logits, weights = read(model, case.features([SHORT] * ROWS))
    stops = stops_of(weights)
    needed = np.where(stops >= 0, case.needed(stops), SHORT + 1)
    ready = needed <= SHORT  # (rows, steps)
    moves = (np.diff(stops, axis=1) > 0) & ready[:, 1:]
    assert ready.sum() >= 20 and moves.sum() >= 2, stops

    more_logits, more_weights = read(model, case.features([LONG] * ROWS))
    time = weights.shape[-1]
    np.testing.assert_allclose(more_logits[ready], logits[ready], atol=1e-5)
    np.testing.assert_allclose(more_weights[ready][:, :time], weights[ready], atol=1e-5)
    assert not more_weights[ready][:, time:].any()

    # a step is correct as soon as the frames that its stop depends on are available
    for step in range(STEPS):
        rows = ready[:, step]
        early = case.features(np.where(rows, needed[:, step], SHORT))
        early_logits, early_weights = read(model, early)
        np.testing.assert_allclose(early_logits[rows, step], logits[rows, step], atol=1e-5)
        early_weights = early_weights[rows, step]
        known = early_weights.shape[-1]
        np.testing.assert_allclose(early_weights, weights[rows, step, :known], atol=1e-5)


def searched(model, case, length):
    """Return ids, log-probabilities and weights `(rows, steps, ...)` of a greedy search."""
    options = kb.SearchOptions(beam_width=1, max_length=STEPS, min_length=STEPS)
    features = case.features([length] * ROWS)
    found = kb.search.search_model(model, features, options, start=1, end=2)
    fields = found.ids, found.token_log_probs, found.alignment
    return [np.asarray(field)[:, 0, :STEPS] for field in fields]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CASES)
def test_words_searched_so_far_stay_as_they_are_when_the_source_goes_on(name):
    case = CASES[name]
    model = new(case, scales=(2, 12, -3))  # some stops are late, and some steps don't stop
    ids, log_probs, weights = searched(model, case, SHORT)
    stops = stops_of(weights)
    needed = np.where(stops >= 0, case.needed(stops), SHORT + 1)
    ready = np.logical_and.accumulate(needed <= SHORT, axis=1)  # (rows, steps)
    assert ready.sum() >= 20, stops
    more_ids, more_log_probs, _ = searched(model, case, LONG)
    np.testing.assert_array_equal(more_ids[ready], ids[ready])
    np.testing.assert_allclose(more_log_probs[ready], log_probs[ready], atol=1e-5)
    # steps without a stop have changed
    assert np.abs(more_log_probs - log_probs)[~ready].max() > 1e-3


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("front_end", "options"),
    [
        ("utterance", {}),
        ("features", {"kind": "bidirectional"}),
        ("features", {"bridge": "summary"}),
    ],
)
def test_what_looks_at_the_whole_source_needs_its_end(front_end, options):
    cases = {**CASES, "utterance": CASES["sound"]._replace(front_end=listener("utterance"))}
    case = cases[front_end]
    model = new(case, **options)
    logits, _ = read(model, case.features([SHORT] * ROWS))
    more, _ = read(model, case.features([LONG] * ROWS))
    assert np.abs(more[:, 0] - logits[:, 0]).max() > 1e-3
