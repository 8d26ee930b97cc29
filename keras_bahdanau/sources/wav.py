"""Decoding of WAV files to samples at 16 kHz in a graph. A broken file has no samples."""

import math
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_bahdanau.layers.front_ends.log_mel import RATE

MOST_CHANNELS = 64
RATES = (1000, 192_000)  # lowest and highest rate in samples per second
LOUDEST = 1e3  # largest sample, where full scale is 1; its square does not overflow
STILL = 2 / 2**15  # range of samples in silence: 16-bit dither
_MOST_CHUNKS = 256  # maximum number of chunks to read
_HEAD = 8  # bytes of a chunk's name and size
_FORM = 40  # bytes of the longest "fmt " chunk
_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_STREAMED = 2**31 - 2**16  # a declared data size of this or more means a stream of unknown size
_COUNTED_IN = 44  # bytes of the usual header, which some programs add to the size of the data
_MOST_DATA = 2**40  # bytes that a "ds64" chunk may declare
_DIVISORS = [number for number in range(1, RATE + 1) if RATE % number == 0]
_MARGIN = 50  # 1/50 second of silence is added, since the Fourier transform is circular
_ROLL_OFF = 0.95  # fraction of the highest frequency at which the spectrum starts to fade


class WavFormat(NamedTuple):
    """Position and kind of the samples in a file. All fields are int64 scalars.

    `kind` is an index into `_KINDS`, and `width` and `start` are in bytes. `frames` is 0 if the
    file is broken.
    """

    rate: Any
    channels: Any
    kind: Any
    width: Any
    start: Any
    frames: Any


def wav_format(content, size):
    """Return the `WavFormat` from the beginning of a file of `size` bytes.

    The chunks may be in any order.
    """
    end = tf.cast(tf.strings.length(content), tf.int64)  # it may end inside a name or size

    def searching(step, position, form, start, length, total):
        is_complete = (form[0] > 0) & (start > 0)
        return (step < _MOST_CHUNKS) & (position + _HEAD <= end) & ~is_complete

    def next_chunk(step, position, form, start, length, total):
        chunk = _bytes(content, position, _HEAD + _FORM)
        declared, body = _number(chunk, 4, 4), position + _HEAD
        is_form = _is(chunk, 0, b"fmt ") & (declared >= 16) & (form[0] == 0)
        is_data = _is(chunk, 0, b"data") & (start == 0)
        fields = tf.where(tf.range(_FORM, dtype=tf.int64) < declared, chunk[_HEAD:], 0)
        is_padded = (declared % 2 == 1) & ~_is_text(_bytes(content, body + declared, 1))
        return (
            step + 1,
            body + declared + tf.cast(is_padded, tf.int64),
            tf.where(is_form, fields, form),
            tf.where(is_data, body, start),
            tf.where(is_data, _data_length(chunk, total, size - body), length),
            tf.where(_is(chunk, 0, b"ds64"), _number(chunk, _HEAD + 8, 7), total),
        )

    zero = tf.zeros((), tf.int64)
    state = (tf.zeros((), tf.int32), zero + 12, tf.zeros(_FORM, tf.int64), zero, zero, zero)
    _, _, form, start, length, _ = tf.while_loop(searching, next_chunk, state)
    head = _bytes(content, zero, 12)
    is_wav = tf.reduce_any([_is(head, 0, name) for name in (b"RIFF", b"RF64", b"BW64")])
    return _checked(form, start, tf.where(is_wav & _is(head, 8, b"WAVE"), length, 0))


def _data_length(chunk, total, available):
    """Return the size of the samples in bytes, or 0 if the file is truncated.

    `chunk` is the beginning of the data chunk. A stream declares the size 0 or the largest size; if
    so, all `available` bytes count, unless the size is 0 and another chunk follows directly.
    `total` is the size in a "ds64" chunk, or 0 if there is none.
    """
    declared = _number(chunk, 4, 4)
    is_wide = (declared == 2**32 - 1) & (total > 0) & (total < _MOST_DATA)
    declared = tf.where(is_wide, total, declared)
    is_followed = _is_text(chunk[_HEAD : _HEAD + 4])
    is_followed &= _number(chunk, _HEAD + 4, 4) + _HEAD <= available
    is_stream = (declared == 0) & ~is_followed | (declared >= _STREAMED) & ~is_wide
    is_whole = is_stream | (declared <= available + _COUNTED_IN)
    length = tf.where(is_stream & (declared == 0), available, tf.minimum(declared, available))
    return tf.where(is_whole, length, 0)


def _checked(form, start, length):
    """Return the `WavFormat` of a "fmt " chunk and `length` bytes of samples.

    It has no frames if the chunk is invalid. The width of a sample follows from the block size: a
    24-bit sample may be the three high bytes of four.
    """
    tag, channels, rate = (_number(form, first, size) for first, size in ((0, 2), (2, 2), (4, 4)))
    block, least = _number(form, 12, 2), (_number(form, 14, 2) + 7) // 8
    known = (channels >= 1) & (channels <= MOST_CHANNELS) & (least >= 1)
    width = tf.where(known & (block > 0), block // tf.maximum(channels, 1), least)
    known &= (block == 0) | (block == width * channels) & (width >= least)
    tag = tf.where(tag == _EXTENSIBLE, _number(form, 24, 2), tag)
    pcm = (tag == _PCM) & (width >= 1) & (width <= 4)
    floating = (tag == _FLOAT) & ((width == 4) | (width == 8)) & (width == least)
    known &= pcm | floating
    known &= (rate >= RATES[0]) & (rate <= RATES[1])
    unit = tf.ones((), tf.int64)
    channels, rate, width = (tf.where(known, n, unit) for n in (channels, rate, width))
    kind = tf.where(floating, 3 + width // 4, width - 1)
    frames = tf.where(known, length // (channels * width), 0)
    return WavFormat(rate, channels, kind, width, start, frames)


def wav_samples(content, form, frames):
    """Return the mean over the channels of the first `frames` frames, float32 `(frames,)`."""
    numbers = tf.strings.substr(content, form.start, frames * form.channels * form.width)
    branches = [lambda kind=kind: kind(numbers) for kind in _KINDS]
    values = tf.switch_case(tf.cast(form.kind, tf.int32), branches)
    return tf.reduce_mean(tf.reshape(values, tf.stack([frames, form.channels])), axis=1)


def _unsigned_8(numbers):
    return tf.cast(tf.io.decode_raw(numbers, tf.uint8), tf.float32) / 2**7 - 1


def _signed_16(numbers):
    return tf.cast(tf.io.decode_raw(numbers, tf.int16), tf.float32) / 2**15


def _signed_24(numbers):
    low, middle, high = tf.unstack(tf.reshape(tf.io.decode_raw(numbers, tf.uint8), (-1, 3)), axis=1)
    high = tf.cast(tf.bitcast(high, tf.int8), tf.float32)  # this byte contains the sign
    low, middle = tf.cast(low, tf.float32), tf.cast(middle, tf.float32)
    return (low + 2**8 * middle + 2**16 * high) / 2**23


def _signed_32(numbers):
    return tf.cast(tf.io.decode_raw(numbers, tf.int32), tf.float32) / 2**31


def _float_32(numbers):
    return _bounded(tf.io.decode_raw(numbers, tf.float32))


def _float_64(numbers):
    return _bounded(tf.cast(tf.io.decode_raw(numbers, tf.float64), tf.float32))


def _bounded(values):
    """Return samples with 0 in place of NaN and infinity, clipped to `LOUDEST`."""
    values = tf.where(tf.math.is_finite(values), values, 0.0)
    return tf.clip_by_value(values, -LOUDEST, LOUDEST)


_KINDS = (_unsigned_8, _signed_16, _signed_24, _signed_32, _float_32, _float_64)


def _bytes(content, position, count):
    """Return `count` bytes starting at `position`, int64 `(count,)`, with 0 after the end."""
    end = tf.cast(tf.strings.length(content), tf.int64)
    piece = tf.strings.substr(content, tf.minimum(position, end), tf.constant(count, tf.int64))
    return tf.cast(tf.io.decode_raw(piece, tf.uint8, fixed_length=count), tf.int64)


def _number(numbers, first, width):
    """Return the unsigned little-endian number in `width` bytes."""
    weights = tf.constant([256**power for power in range(width)], tf.int64)
    return tf.reduce_sum(numbers[first : first + width] * weights)


def _is(numbers, first, name):
    return tf.reduce_all(numbers[first : first + len(name)] == [*name])


def _is_text(numbers):
    """Return True if all bytes are characters that can occur in the name of a chunk."""
    return tf.reduce_all((numbers >= ord(" ")) & (numbers <= ord("~")))


def resampled_length(samples, rate):
    """Return the number of samples at 16 kHz for `samples` samples at another rate."""
    return -(-samples * RATE // rate)


def resampled(values, rate):
    """Resample float32 `(samples,)` to 16 kHz, float32 `(ceil(samples * 16000 / rate),)`.

    The spectrum of the whole sound is cut at the lower of the two Nyquist frequencies, or padded
    with 0. It fades out between 95% and 100% of that frequency.
    """
    is_done = (rate == RATE) | (tf.size(values) == 0)
    return tf.cond(is_done, lambda: values, lambda: _resample(values, rate))


def _resample(values, rate):
    divisors = tf.constant(_DIVISORS, tf.int64)
    common = tf.reduce_max(tf.where(rate % divisors == 0, divisors, 1))
    count = tf.size(values, tf.int64)
    # both lengths are integers if the one at the old rate is a multiple of rate / common
    multiple = -(-(count + rate // _MARGIN) * common // rate)
    before, after = multiple * rate // common, multiple * RATE // common
    padded = tf.pad(values, [[0, before - count]])
    spectrum = tf.signal.rfft(padded)  # -> (before / 2 + 1,)
    bins = tf.minimum(before, after) // 2 + 1
    # frequencies relative to the highest one that is kept: (bins,)
    share = tf.cast(tf.range(bins), tf.float32) / tf.cast(tf.minimum(before, after), tf.float32) * 2
    fading = tf.clip_by_value((share - _ROLL_OFF) / (1 - _ROLL_OFF), 0.0, 1.0)
    gain = (0.5 + 0.5 * tf.cos(np.float32(math.pi) * fading)) * _ratio(after, before)
    spectrum = spectrum[:bins] * tf.cast(gain, tf.complex64)
    spectrum = tf.pad(spectrum, [[0, after // 2 + 1 - bins]])
    samples = tf.signal.irfft(spectrum, fft_length=tf.cast([after], tf.int32))
    return samples[: resampled_length(count, rate)]


def _ratio(numerator, denominator):
    return tf.cast(numerator, tf.float32) / tf.cast(denominator, tf.float32)
