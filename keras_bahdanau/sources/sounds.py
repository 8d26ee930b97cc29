"""Sounds on the host: conversion of files, bytes and arrays to the bytes of WAV files.

Formats other than plain WAV are decoded by the package soundfile.
"""

import io
import os
import struct
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_bahdanau.files.media_forms import (
    BEGINNING,
    SOUND,
    Emptiness,
    form_of,
    refused,
    undecodable,
)
from keras_bahdanau.files.whole_file import content_of
from keras_bahdanau.sources.wav import LOUDEST, MOST_CHANNELS, RATES, wav_format

_DECODED = {  # formats that soundfile reads
    *("FLAC", "OGG", "MP3", "AIFF", "AU", "CAF", "RIFX", "VOC"),
    *("A-law WAV", "mu-law WAV", "ADPCM WAV", "GSM WAV", "MP3 WAV"),
}
_INTEGERS = {"uint8": (1, 8), "int16": (1, 16), "int32": (1, 32)}  # tag and bits in a WAV file
_PCM, _FLOAT = 1, 3


class SoundSize(NamedTuple):
    """Size of a sound.

    `rate` is in samples per second, `block` is the number of bytes in a frame of all channels, and
    `frames` is the number of frames.
    """

    rate: int
    block: int
    frames: int


MOST_BYTES, _MOST_SECONDS = 2**30, 1000  # at most this much of a file is read or decoded
BROKEN = SoundSize(RATES[0], 1, 0)


def size_of(raw):
    """Return the `SoundSize` of an input from its header.

    Raises OSError if a file can't be read.
    """
    if isinstance(raw, tuple | list):
        array, rate = pair_of(raw)
        return SoundSize(rate, array[:1].nbytes or 1, len(array))
    beginning = content_of(raw, BEGINNING)
    size = len(raw) if isinstance(raw, bytes) else os.path.getsize(raw)
    if name := decoded_form(raw):
        return BROKEN if _is_cut(beginning, size) else _decoded_size(raw, name)
    sound = _wav_size(beginning, size)
    if not sound.frames and len(beginning) < size:
        sound = _wav_size(whole(raw), size)
    return sound


def wav_of(raw, frames=None):
    """Return a sound as the bytes of a WAV file; b"" for a broken file in another format.

    If `frames` is given, frames after the first `frames` may be missing.
    """
    if isinstance(raw, tuple | list):
        array, rate = pair_of(raw)
        return encoded(array[:frames], rate)
    content = whole(raw)
    if name := decoded_form(content):
        return b"" if _is_cut(content, len(content)) else _decoded(content, name, frames)
    return content


def whole(raw):
    """Return the bytes of a file, at most 2^30, from its path or content."""
    return content_of(raw, MOST_BYTES)


def pair_of(raw):
    """Check a pair (array, rate) and return it with the array as `(samples, channels)`.

    The array is float32, or has an integer type that WAV files support. Raises TypeError or
    ValueError for other pairs.
    """
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
            "A sound in memory must be a pair of an array (samples,) or (samples, channels), with "
            "floats or integers as in a WAV file, and an integer sampling rate. "
            f"Received: {raw!r:.80}. Pass, for example, (np.zeros(16000), 16000)."
        )
    if not RATES[0] <= rate <= RATES[1] or not 1 <= array.shape[1] <= MOST_CHANNELS:
        raise ValueError(
            f"A sound must have from {RATES[0]} to {RATES[1]} samples per second, and from 1 to "
            f"{MOST_CHANNELS} channels. Received: rate={rate}, shape={array.shape}. "
            "Check that time is the first axis."
        )
    return array, int(rate)


def encoded(array, rate):
    """Return an array `(samples, channels)` as the bytes of a WAV file."""
    tag, bits = _INTEGERS.get(array.dtype.name, (_FLOAT, 32))
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    block = array.shape[1] * bits // 8
    form = struct.pack("<HHIIHH", tag, array.shape[1], rate, rate * block, block, bits)
    chunks = b"WAVE" + _chunk(b"fmt ", form) + _chunk(b"data", data)
    return _chunk(b"RIFF", chunks)


def _chunk(name, content):
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def decoded_form(raw):
    """Return the name of an input's format, such as "FLAC", if soundfile decodes it, or None."""
    form = None if isinstance(raw, tuple | list) else form_of(content_of(raw, BEGINNING))
    return form.name if form and form.name in _DECODED else None


def emptiness(raw):
    """Return the `Emptiness` of a file without positions; None if its samples are all silent."""
    beginning = content_of(raw, BEGINNING)
    form = form_of(beginning)
    if beginning and (form is None or form.name not in {*_DECODED, "WAV"}):
        return refused(form, SOUND, "WAV or FLAC")
    content, stored = wav_of(raw), whole(raw)
    if _wav_size(content, len(content)).frames:
        return None
    is_plain = form is None or form.name == "WAV" or _is_cut(stored, len(stored))
    return Emptiness() if is_plain else undecodable(form)


def require_soundfile(name):
    """Return the module soundfile, which reads the format `name`, such as FLAC.

    Raises ImportError if soundfile is not installed.
    """
    try:
        import soundfile
    except ImportError:
        raise ImportError(
            f"Reading {name} needs the package soundfile. Received: {name}, and an environment "
            "without soundfile. Install it: pip install 'keras-bahdanau[audio]', or use a WAV file."
        ) from None
    return soundfile


def _is_cut(beginning, size):
    """Return True if a file is shorter than its header declares, which soundfile ignores.

    For an MP3 file, the size is in a header in the first frame, about 36 bytes after its beginning.
    """
    declared, streamed = 0, 2**31 - 2**16
    tag = max(beginning.find(b"Xing", 0, BEGINNING), beginning.find(b"Info", 0, BEGINNING))
    if beginning.startswith((b"RIFF", b"RIFX", b"FORM")):
        order = "little" if beginning.startswith(b"RIFF") else "big"
        declared = 8 + int.from_bytes(beginning[4:8], order)
    elif beginning.startswith(b".snd"):
        start, declared = struct.unpack_from(">II", beginning.ljust(12, b"\0"), 4)
        declared += start
    elif tag >= 0 and decoded_form(beginning) == "MP3":
        _, flags, *numbers = struct.unpack_from(">IIII", beginning[tag:].ljust(16, b"\0"))
        has_frames, has_bytes = flags & 1, flags & 2
        declared = tag - 36 + numbers[has_frames] if has_bytes else 0
    return size < declared < streamed


def _decoded_size(raw, name):
    soundfile = require_soundfile(name)
    try:
        info = soundfile.info(io.BytesIO(raw) if isinstance(raw, bytes) else os.fspath(raw))
    except RuntimeError:
        return BROKEN
    if not RATES[0] <= info.samplerate <= RATES[1]:
        return BROKEN
    width = np.dtype(_kind_of(info.subtype)).itemsize
    return SoundSize(info.samplerate, info.channels * width, info.frames)


def _kind_of(subtype):
    """Return the name of the NumPy type for the samples of a soundfile subtype."""
    if subtype in ("PCM_16", "ULAW", "ALAW"):
        return "int16"
    return "int32" if subtype.startswith("PCM_") else "float32"


def _decoded(content, name, frames):
    """Decode a file to the bytes of a WAV file, with 16 bits if these are enough."""
    soundfile = require_soundfile(name)
    try:
        with soundfile.SoundFile(io.BytesIO(content)) as file:
            most = _MOST_SECONDS * file.samplerate
            most = most if frames is None else min(frames, most)
            array = file.read(most, dtype=_kind_of(file.subtype), always_2d=True)
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
