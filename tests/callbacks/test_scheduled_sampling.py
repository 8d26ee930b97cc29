"""Scheduled sampling: the schedules by hand, and what a decoder gets of them."""

import math

import keras
import numpy as np
import pytest
from toy_regression import fit, new

import keras_bahdanau as kb
from keras_bahdanau.callbacks import (
    ExponentialDecay,
    InverseSigmoidDecay,
    LinearDecay,
    ScheduledSampling,
)


@pytest.mark.parametrize(
    ("schedule", "step", "share"),
    [
        (LinearDecay(0.25), 0, 1.0),
        (LinearDecay(0.25), 3, 0.25),
        (LinearDecay(0.25), 9, 0.0),
        (LinearDecay(0.1, first=0.9, least=0.6), 2, 0.7),
        (LinearDecay(0.1, first=0.9, least=0.6), 5, 0.6),
        (ExponentialDecay(0.5), 0, 1.0),
        (ExponentialDecay(0.5), 3, 0.125),
        (InverseSigmoidDecay(1.0), 0, 0.5),
        (InverseSigmoidDecay(4.0), 8, 4 / (4 + math.exp(2))),
        (InverseSigmoidDecay(10.0), 10 * math.log(10), 0.5),
        (InverseSigmoidDecay(1.0), 10**6, 0.0),
    ],
)
def test_share_of_the_teachers_tokens(schedule, step, share):
    assert schedule(step) == pytest.approx(share)


@pytest.mark.parametrize(
    ("make", "value"),
    [
        *[(LinearDecay, -0.1), (LinearDecay, "1"), (LinearDecay, math.inf)],
        *[(ExponentialDecay, 1.5), (InverseSigmoidDecay, 0.5), (InverseSigmoidDecay, math.inf)],
    ],
)
def test_a_value_out_of_range_is_refused(make, value):
    with pytest.raises(ValueError, match=f"={value!r}"):
        make(value)


class Rates(keras.callbacks.Callback):
    """The rate in force during each batch."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(float(self.model.decoder.sampling_rate))


def translation_model(**settings):
    encoder = kb.Encoder(8, 4, 3)
    model = kb.Seq2Seq(encoder, kb.Decoder(8, 4, 6, **settings))
    model.compile("sgd", kb.losses.TokenCrossentropy())
    return model


def fit_translation(model, callbacks, epochs=1):
    source = np.array([[4, 5, 3], [6, 3, 0]] * 2, "int32")
    target_in = np.array([[2, 4, 5], [2, 6, 0]] * 2, "int32")
    model.fit(
        (source, target_in), source, batch_size=2, epochs=epochs, callbacks=callbacks, verbose=0
    )


@pytest.mark.slow
def test_the_decoder_gets_the_rate_of_each_step_and_goes_on_in_a_later_fit():
    model, rates = translation_model(scheduled_sampling=True), Rates()
    for epochs in (2, 1):
        fit_translation(model, [ScheduledSampling(LinearDecay(0.125)), rates], epochs)
    np.testing.assert_allclose(rates.seen, np.arange(6) / 8)


def test_any_function_is_a_schedule():
    model, sampling = translation_model(scheduled_sampling=True), ScheduledSampling(lambda _: 0.75)
    sampling.set_model(model)
    sampling.on_train_begin()
    sampling.on_train_batch_begin(0)
    assert float(model.decoder.sampling_rate) == 0.25


def test_a_schedule_in_percent_is_refused():
    sampling = ScheduledSampling(lambda _: 90)
    sampling.set_model(translation_model(scheduled_sampling=True))
    sampling.on_train_begin()
    with pytest.raises(ValueError, match=r"from 0 to 1. Received: schedule\(step\)=90"):
        sampling.on_train_batch_begin(0)


def test_a_decoder_without_it_is_refused():
    with pytest.raises(ValueError, match="scheduled_sampling=True"):
        fit_translation(translation_model(), [ScheduledSampling(ExponentialDecay(0.9))])
    with pytest.raises(ValueError, match="Received: decoder=None"):
        fit(new(), callbacks=[ScheduledSampling(ExponentialDecay(0.9))])
