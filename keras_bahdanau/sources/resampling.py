"""Sound of any rate at 16 kHz."""

import math

import numpy as np
import tensorflow as tf

from keras_bahdanau.layers.front_ends.log_mel import RATE

_DIVISORS = [number for number in range(1, RATE + 1) if RATE % number == 0]
_MARGIN = 50  # a fiftieth of a second of silence, since the Fourier transform goes round
_ROLL_OFF = 0.95  # of the highest frequency, from where on the spectrum fades


def resampled_length(samples, rate):
    """Number of samples at 16 kHz of so many at another rate."""
    return -(-samples * RATE // rate)


def resampled(values, rate):
    """The same sound at 16 kHz, band-limited, whatever the rate.

    The spectrum of the whole sound is cut at the lower of both Nyquist frequencies, or padded
    with 0. It fades between 95 % and 100 % of that frequency.

    Args:
        values: Float32 tensor `(samples,)`.
        rate: Int64 tensor.

    Returns:
        Float32 tensor `(ceil(samples * 16000 / rate),)`; the same values if the rate is 16 kHz.
    """
    same = (rate == RATE) | (tf.size(values) == 0)
    return tf.cond(same, lambda: values, lambda: _by_fourier(values, rate))


def _by_fourier(values, rate):
    divisors = tf.constant(_DIVISORS, tf.int64)
    common = tf.reduce_max(tf.where(rate % divisors == 0, divisors, 1))
    count = tf.size(values, tf.int64)
    # both lengths are whole numbers if that at the old rate is a multiple of rate / common
    multiple = -(-(count + rate // _MARGIN) * common // rate)
    before, after = multiple * rate // common, multiple * RATE // common
    padded = tf.pad(values, [[0, before - count]])
    spectrum = tf.signal.rfft(padded)  # -> (before / 2 + 1,)
    bins = tf.minimum(before, after) // 2 + 1
    # frequencies as shares of the highest that is kept: (bins,)
    share = tf.cast(tf.range(bins), tf.float32) / tf.cast(tf.minimum(before, after), tf.float32) * 2
    fading = tf.clip_by_value((share - _ROLL_OFF) / (1 - _ROLL_OFF), 0.0, 1.0)
    gain = (0.5 + 0.5 * tf.cos(np.float32(math.pi) * fading)) * _ratio(after, before)
    spectrum = spectrum[:bins] * tf.cast(gain, tf.complex64)
    spectrum = tf.pad(spectrum, [[0, after // 2 + 1 - bins]])
    found = tf.signal.irfft(spectrum, fft_length=tf.cast([after], tf.int32))
    return found[: resampled_length(count, rate)]


def _ratio(one, other):
    return tf.cast(one, tf.float32) / tf.cast(other, tf.float32)
