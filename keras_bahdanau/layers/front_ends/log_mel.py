"""Logarithmic mel spectra of sound: the energy of each band every 10 milliseconds."""

import functools

import numpy as np
from keras import ops

RATE = 16_000  # samples per second
HOP = 160  # samples from one frame to the next: 10 ms
WINDOW = 400  # samples per frame: 25 ms
POINTS = 512  # points of the Fourier transform: smallest power of 2 above a frame
BINS = POINTS // 2 + 1
# factor for samples: a step of 16-bit audio becomes 1, so that constants fit in float16
SCALE = 2.0**15
FLOOR = 0.1  # smallest energy, below the rounding noise of 16-bit audio
RANGE = float(np.log(1e8))  # range between the largest and smallest energy of a row: 80 dB


def frames_of(samples):
    """Return the number of frames for a number of samples, rounded up."""
    return -(-samples // HOP)


def log_mel(values, lengths, bands):
    """Return the logarithm of the energy of each mel band in each frame.

    X_t(k) = sum_n w(n) 2^15 x(160 t + n) exp(-2 pi i k n / 512),   n = 0 .. 399
    e_t(b) = sum_k M(k, b) |X_t(k)|^2
    y_t(b) = log max(e_t(b) / 0.1, 1)

    w is the Hann window, and M is `mel_filters`. Energies more than 80 dB below the largest energy
    of the row, where rounding errors begin, are raised to that bound. All values are float32,
    because |X|^2 exceeds the range of half precision. `values` is `(batch, samples)`, zero after
    the end of each row, and `lengths` is int32 `(batch,)`. The result is
    `(batch, ceil(samples / 160), bands)`.
    """
    time = frames_of(ops.shape(values)[1])
    missing = (time + 2) * HOP - ops.shape(values)[1]
    # -> (batch, time + 2, 160)
    hops = ops.reshape(ops.pad(values, ((0, 0), (0, missing))), (-1, time + 2, HOP))
    # x(160 t + n): (batch, time, 400)
    frames = ops.concatenate(
        [hops[:, :time], hops[:, 1 : time + 1], hops[:, 2:, : WINDOW - 2 * HOP]], axis=-1
    )
    windowed = ops.pad(SCALE * frames * hann(), ((0, 0), (0, 0), (0, POINTS - WINDOW)))
    real, imaginary = ops.rfft(windowed, fft_length=POINTS)
    power = ops.square(real) + ops.square(imaginary)  # -> (batch, time, 257)
    filters = _never_quantized(mel_filters(bands), lengths)
    energy = ops.matmul(power, filters)  # -> (batch, time, bands)
    levels = ops.log(ops.maximum(energy / FLOOR, 1.0))
    return ops.maximum(levels, ops.max(levels, axis=(1, 2), keepdims=True, initial=0.0) - RANGE)


def _never_quantized(matrix, lengths):
    """Hide the matrix from LiteRT's quantization: 8 bits cover only 48 dB of an energy's 90 dB."""
    least = ops.min(ops.cast(lengths, "float32"), initial=0.0)
    return matrix * ops.minimum(1.0, 2.0 + ops.square(least))  # the factor is 1


@functools.cache
def hann():
    """Return the periodic window w(n) = (1 - cos(2 pi n / 400)) / 2, float32 `(400,)`."""
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)).astype(np.float32)


@functools.cache
def mel_filters(bands):
    """Return triangular filters up to 8 kHz, float32 `(257, bands)`.

    The bands are equally spaced on Slaney's mel scale, which is linear up to 1 kHz. Each triangle
    has unit area, with the frequency in Hz.
    """
    edges = _hertz(np.linspace(0, _mel(RATE / 2), bands + 2))  # -> (bands + 2,)
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    frequencies = np.arange(BINS)[:, np.newaxis] * RATE / POINTS  # -> (257, 1)
    rising = (frequencies - left) / (centre - left)
    falling = (right - frequencies) / (right - centre)
    triangles = np.maximum(0, np.minimum(rising, falling))
    return (triangles * 2 / (right - left)).astype(np.float32)


# end of the linear part of the scale in Hz, and Hz per mel in this part
_KNEE, _STEP = 1000, 200 / 3
_GROWTH = np.log(6.4) / 27  # growth of the logarithm of the frequency per mel, above 1 kHz


def _mel(hertz):
    if hertz < _KNEE:
        return hertz / _STEP
    return _KNEE / _STEP + np.log(hertz / _KNEE) / _GROWTH


def _hertz(mel):
    above = _KNEE * np.exp(_GROWTH * (mel - _KNEE / _STEP))
    return np.where(mel < _KNEE / _STEP, mel * _STEP, above)
