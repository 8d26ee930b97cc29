"""Sounds on the host: paths, bytes and arrays as the bytes of WAV files."""

import io
import os
import struct
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_bahdanau.files.whole_file import content_of
from keras_bahdanau.sources.wav import LOUDEST, MOST_CHANNELS, RATES, wav_format

_FLAC = b"fLaC"
_BEGINNING = 2**13  # bytes of a file, in which most headers end
_INTEGERS = {"uint8": (1, 8), "int16": (1, 16), "int32": (1, 32)}  # tag and bits in a WAV file
_PCM, _FLOAT = 1, 3


class SoundSize(NamedTuple):
    """Integers of a sound: samples a second, bytes of a frame of all channels, and frames."""

    rate: int
    block: int
    frames: int


_MOST_BYTES, _MOST_SECONDS = 2**30, 1000  # of a file that are read
BROKEN = SoundSize(RATES[0], 1, 0)


def size_of(raw):
    """The `SoundSize` of an input, from its header; OSError for an unreadable file."""
    if isinstance(raw, tuple | list):
        array, rate = pair_of(raw)
        return SoundSize(rate, array[:1].nbytes or 1, len(array))
    beginning = content_of(raw, _BEGINNING)
    if beginning.startswith(_FLAC):
        return _flac_size(raw)
    size = len(raw) if isinstance(raw, bytes) else os.path.getsize(raw)
    sound = _wav_size(beginning, size)
    if not sound.frames and len(beginning) < size:
        sound = _wav_size(whole(raw), size)
    return sound


def wav_of(raw, frames=None):
    """WAV bytes of WAV, FLAC, a path, or (array, rate), at least `frames`; b"" for broken FLAC."""
    if isinstance(raw, tuple | list):
        array, rate = pair_of(raw)
        return encoded(array[:frames], rate)
    content = whole(raw)
    return _decoded_flac(content, frames) if content.startswith(_FLAC) else content


def whole(raw):
    """The bytes of a file, given by its path or whole; 2^30 at most."""
    return content_of(raw, _MOST_BYTES)


def pair_of(raw):
    """Check (array, rate): `(samples, channels)`, float32 or integers of WAV files."""
    array, rate = raw if len(raw) == 2 else (None, None)
    array = np.asarray(array)
    if array.dtype.kind == "f":
        array = np.nan_to_num(array, nan=0.0, posinf=LOUDEST, neginf=-LOUDEST)
        array = np.clip(array, -LOUDEST, LOUDEST).astype(np.float32)
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if isinstance(rate, bool) or not isinstance(rate, int | np.integer):
        array = np.zeros(())
    if array.ndim != 2 or array.dtype.name not in ("float32", *_INTEGERS):
        raise TypeError(
            "A sound in memory must be a pair of an array (samples,) or (samples, channels), of "
            "floats or integers as in a WAV file, and of its rate, an integer. "
            f"Received: {raw!r:.80}. Give, for example, (np.zeros(16000), 16000)."
        )
    if not RATES[0] <= rate <= RATES[1] or not 1 <= array.shape[1] <= MOST_CHANNELS:
        raise ValueError(
            f"A sound must have from {RATES[0]} to {RATES[1]} samples a second, and from 1 to "
            f"{MOST_CHANNELS} channels. Received: rate={rate}, shape={array.shape}. "
            "Is the time the first axis?"
        )
    return array, int(rate)


def encoded(array, rate):
    """The bytes of a WAV file of an array `(samples, channels)`."""
    tag, bits = _INTEGERS.get(array.dtype.name, (_FLOAT, 32))
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    block = array.shape[1] * bits // 8
    form = struct.pack("<HHIIHH", tag, array.shape[1], rate, rate * block, block, bits)
    chunks = b"WAVE" + _chunk(b"fmt ", form) + _chunk(b"data", data)
    return _chunk(b"RIFF", chunks)


def _chunk(name, content):
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def is_flac(raw):
    """True if an input is a FLAC file."""
    return not isinstance(raw, tuple | list) and content_of(raw, 4) == _FLAC


def require_soundfile():
    """The module that reads FLAC; ImportError if it is not installed."""
    try:
        import soundfile
    except ImportError:
        raise ImportError(
            "Reading FLAC needs the package soundfile. Received: a FLAC file, and an environment "
            "without it. Install it: pip install 'keras-bahdanau[audio]', or give a WAV file."
        ) from None
    return soundfile


def _flac_size(raw):
    soundfile = require_soundfile()
    try:
        info = soundfile.info(io.BytesIO(raw) if isinstance(raw, bytes) else os.fspath(raw))
    except RuntimeError:
        return BROKEN
    if not RATES[0] <= info.samplerate <= RATES[1]:
        return BROKEN
    width = 2 if info.subtype == "PCM_16" else 4
    return SoundSize(info.samplerate, info.channels * width, info.frames)


def _decoded_flac(content, frames):
    """The bytes of a WAV file, of 16 bits if the FLAC file has 16."""
    soundfile = require_soundfile()
    try:
        with soundfile.SoundFile(io.BytesIO(content)) as file:
            kind = "int16" if file.subtype == "PCM_16" else "int32"
            most = _MOST_SECONDS * file.samplerate
            most = most if frames is None else min(frames, most)
            array = file.read(most, dtype=kind, always_2d=True)
            return encoded(array, file.samplerate)
    except RuntimeError:
        return b""


@tf.function(
    input_signature=[tf.TensorSpec((), tf.string), tf.TensorSpec((), tf.int64)], autograph=False
)
def _graph_size(content, size):
    form = wav_format(content, size)
    return form.rate, form.channels * form.width, form.frames


def _wav_size(content, size):
    with tf.device("CPU:0"):
        return SoundSize(*(int(number) for number in _graph_size(content, size)))
