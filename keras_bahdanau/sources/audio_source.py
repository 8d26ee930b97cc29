"""Source for speech, which reads sound files and gives the model samples at 16 kHz."""

import os
import zlib

import keras
import numpy as np
import tensorflow as tf

from keras_bahdanau.files.media_forms import Emptiness
from keras_bahdanau.files.whole_file import read_or
from keras_bahdanau.layers.front_ends.audio_frames import NORMALIZATIONS, AudioFrames, Samples
from keras_bahdanau.layers.front_ends.log_mel import BINS, HOP, RATE, frames_of, log_mel
from keras_bahdanau.settings import checks
from keras_bahdanau.settings.limits import SOURCE_LENGTH
from keras_bahdanau.settings.option import check_value
from keras_bahdanau.sources import sounds
from keras_bahdanau.sources.decoded_rows import DecodedRows
from keras_bahdanau.sources.picture import Picture
from keras_bahdanau.sources.source import Source
from keras_bahdanau.sources.wav import LOUDEST, STILL, resampled, wav_format, wav_samples

POSITIONS = 100  # per second
_BYTES = 192_000 // POSITIONS * 4  # maximum bytes per position; the rest of a file is cut off
_MOST = 100_000  # maximum positions, unless an option sets fewer
_AT_ONCE = 2  # rows of a batch that a graph decodes in parallel


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class AudioSource(Source):
    """Source for sound, which gives the model samples at 16 kHz in one channel.

    An input is the content of a WAV file, its path as `pathlib.Path`, or a pair (array, rate). A
    WAV file may contain PCM of 8, 16, 24 or 32 bits, or floats of 32 or 64 bits, at 1 to 192 kHz;
    up to 64 channels are averaged. With `soundfile` installed, an input may also be in any format
    that this package reads (FLAC, OGG, MP3, AIFF, AU, CAF, mu-law, A-law); it is decoded before the
    request is made. Other bytes, truncated or unreadable files, and digital silence count as sounds
    without samples.

    A position is a frame of 10 ms. A sound is cut after `longest` positions, or after
    7,680 * `longest` bytes. Features are `Samples`: float32 values `(batch, samples)`, and int32
    lengths `(batch,)` in positions.

    Args:
        bands: Positive integer. Number of mel bands in the front end.
        normalization: "utterance", "global" or "none" (see `AudioFrames`).
        longest: Positive integer. Maximum number of positions, unless a search option overrides it.

    Raises:
        ValueError: If a number is out of range or `normalization` is unknown.

    Example:
        >>> source = AudioSource()
        >>> source.rows([pathlib.Path("one.wav"), (np.zeros(8000), 16000)]).lengths
        array([120,  50])
    """

    inputs_are = "files"
    preset = "speech"
    unit = "frames"
    page_entry = "sound_entry.mjs"
    inputs = {"audio_bytes": tf.TensorSpec((None,), tf.string)}
    feature_spec = Samples(
        tf.TensorSpec((None, None), tf.float32, name="samples"),
        tf.TensorSpec((None,), tf.int32, name="lengths"),
    )
    feature_inputs = {
        "samples": tf.TensorSpec((None, None), tf.float32),
        "lengths": tf.TensorSpec((None,), tf.int32),
    }
    assets = {}
    descriptions = {
        "samples": (
            "Sound with one channel, 16,000 samples per second and full scale 1. Zeros fill its "
            "last frame; padding may contain any values.",
            ("batch", "samples"),
        ),
        "lengths": ("Number of valid frames of 160 samples.", ("batch",)),
    }

    def __init__(self, bands=80, normalization="utterance", longest=3000):
        self.size = checks.positive_integer("bands", "the number of mel bands", bands, BINS)
        self.normalization = checks.choice("normalization", normalization, NORMALIZATIONS)
        check_value("longest", longest, SOURCE_LENGTH)
        self.longest = longest
        self.fixed_length = min(longest, 1000)  # ten seconds
        self.edge_cases = _edge_cases()
        self.examples = [_tone(0.3, 300, RATE), _tone(0.5, 500, 8000)]

    def front_end(self, units, convolutions=None, augmentation=0.0):
        widths = {} if convolutions is None else {"convolutions": convolutions}
        settings = {"normalization": self.normalization, "augmentation": augmentation, **widths}
        return AudioFrames(units, self.size, name="front_end", **settings)

    def check(self, name, inputs):
        if isinstance(inputs, str | bytes | os.PathLike):
            raise TypeError(
                f"`{name}` must be a list of sounds. Received: a value of type "
                f"{type(inputs).__name__}. Put it in a list."
            )
        for number, raw in enumerate(inputs):
            _check_sound(f"{name}[{number}]", raw)

    def rows(self, inputs):
        inputs = list(inputs)
        sizes = [read_or(sounds.BROKEN, sounds.size_of, raw) for raw in inputs]
        return AudioRows(self, inputs, sizes, _MOST)

    def cut(self, inputs, longest):
        rows = self.rows(inputs).cut(longest)
        return inputs, rows, rows.truncated

    def limits(self, longest):
        return {**super().limits(longest), "max_source_bytes": longest * _BYTES}

    def reading_bytes(self, rows, longest):
        # the bytes of a file, the same as uint8 values and twice as floats; then the rows before
        # and after padding
        files = min(rows, _AT_ONCE) * longest * _BYTES * (1 + 1 + 2 * 4)
        return files + 3 * rows * longest * HOP * 4

    def requests(self, inputs):
        array = np.empty(len(inputs), object)
        array[:] = [read_or(b"", sounds.wav_of, raw) for raw in inputs]
        return {"audio_bytes": array}

    def emptiness(self, raw):
        reason = read_or(Emptiness(), sounds.emptiness, raw)
        return reason or Emptiness("silent from beginning to end")

    def labels(self, features):
        return [[_label(index) for index in range(length)] for length in features.lengths]

    def picture(self, raw, longest=None):
        samples = self.batch([raw], longest)
        spectra = keras.ops.convert_to_numpy(log_mel(*samples, self.size))
        return Picture.heat_map(spectra[0, : samples.lengths[0]], "seconds", 1 / POSITIONS)

    def key(self, raw):
        read = sounds.wav_of if isinstance(raw, tuple | list) else sounds.whole
        return zlib.crc32(read_or(b"", read, raw))

    def features(self, audio_bytes):
        return _decoded(audio_bytes, _MOST)[0]

    def cut_request(self, longest, audio_bytes):
        features, truncated = _decoded(audio_bytes, longest)
        return {"audio_bytes": audio_bytes}, features, truncated

    def graph_cut(self, features, longest):
        values, lengths = features
        short = Samples(values[:, : longest * HOP], tf.minimum(lengths, longest))
        return short, lengths > longest

    def sanitize(self, features):
        values, lengths = features
        time = tf.maximum(1, frames_of(tf.shape(values)[1]))
        # -> (batch, time * 160)
        values = tf.pad(values, [[0, 0], [0, time * HOP - tf.shape(values)[1]]])
        values = tf.where(tf.abs(values) <= tf.float32.max, values, 0.0)  # NaN too; LiteRT has it
        values = tf.clip_by_value(values, -LOUDEST, LOUDEST)
        return Samples(values, tf.clip_by_value(lengths, 0, time))

    def label_tensor(self, features):
        time = frames_of(tf.shape(features.values)[1])
        seconds = tf.cast(tf.range(time), tf.float64) / POSITIONS
        real = tf.sequence_mask(features.lengths, time)  # -> (batch, source_time)
        return tf.where(real, tf.strings.as_string(seconds, precision=2)[tf.newaxis], "")

    def batch_spec(self, rows, source_time):
        values, lengths = super().batch_spec(rows, source_time)
        return Samples(tf.TensorSpec((rows, source_time * HOP), values.dtype, values.name), lengths)

    def get_config(self):
        return {
            "bands": self.size,
            "normalization": self.normalization,
            "longest": self.longest,
        }


class AudioRows(DecodedRows):
    """Rows of an `AudioSource`: the sounds of a list of inputs. Headers are `SoundSize`."""

    def measured(self, headers, longest):
        rates, blocks, frames = np.array(headers, np.int64).reshape(-1, 3).T
        allowed = np.minimum(longest * rates // POSITIONS, longest * _BYTES // blocks)
        return -(-np.minimum(frames, allowed) * POSITIONS // rates), frames > allowed

    def decoded(self, raw, header, longest):
        content = sounds.wav_of(raw, longest * header.rate // POSITIONS + 1)
        return _row(content, longest)[0].numpy()

    def positions(self, array):
        return frames_of(len(array))


@tf.function(
    input_signature=[tf.TensorSpec((), tf.string), tf.TensorSpec((), tf.int64)], autograph=False
)
def _row(content, longest):
    """Decode the bytes of one sound to at most `longest` positions (see `AudioSource`).

    Returns (samples, number of positions, whether the sound is longer).
    """
    size = tf.cast(tf.strings.length(content), tf.int64)
    size = tf.where(size < sounds.MOST_BYTES, size, 2 * size)  # only a part of the file was read
    form = wav_format(content, size)
    block = form.channels * form.width
    allowed = tf.minimum(longest * form.rate // POSITIONS, longest * _BYTES // block)
    frames = tf.minimum(form.frames, allowed)
    values = wav_samples(content, form, frames)
    is_still = tf.reduce_max(values) - tf.reduce_min(values) <= STILL  # digital silence
    frames = tf.where(is_still, tf.zeros((), tf.int64), frames)
    values = resampled(values[:frames], form.rate)
    values = tf.clip_by_value(values, -LOUDEST, LOUDEST)
    positions = -(-frames * POSITIONS // form.rate)
    return values, tf.cast(positions, tf.int32), form.frames > allowed


def _decoded(audio_bytes, longest):
    """Decode a batch row by row to (`Samples`, truncated bool `(batch,)`)."""
    most = tf.constant(longest, tf.int64)
    values, lengths, truncated = tf.map_fn(
        lambda content: _row(content, most),
        audio_bytes,
        fn_output_signature=(
            tf.RaggedTensorSpec((None,), tf.float32, ragged_rank=0),
            tf.TensorSpec((), tf.int32),
            tf.TensorSpec((), tf.bool),
        ),
        parallel_iterations=1 if tf.executing_eagerly() else _AT_ONCE,
    )
    time = tf.maximum(1, tf.reduce_max(lengths))
    values = values.to_tensor()
    # -> (batch, time * 160)
    values = tf.pad(values, [[0, 0], [0, time * HOP - tf.shape(values)[1]]])
    return Samples(values, lengths), truncated


def _check_sound(name, raw):
    """Raise an error unless an input is bytes, a path or a pair that can be decoded."""
    if isinstance(raw, tuple | list):
        sounds.pair_of(raw)
        return
    if not isinstance(raw, bytes | os.PathLike):
        hint = " Pass pathlib.Path(...) for a file." if isinstance(raw, str) else ""
        raise TypeError(
            f"`{name}` must be the bytes of a sound file, its path, or a pair (array, rate). "
            f"Received: {raw!r:.80}.{hint}"
        )
    if not isinstance(raw, bytes) and not os.path.isfile(raw):
        raise ValueError(f"`{name}` must be the path of a file. Received: {os.fspath(raw)!r}.")
    if name := read_or(None, sounds.decoded_form, raw):
        sounds.require_soundfile(name)


def _label(index):
    return f"{index / POSITIONS:.2f}"


def _tone(seconds, frequency, rate):
    """Return a tone as the content of a 16-bit WAV file."""
    steps = np.arange(round(seconds * rate)) / rate
    wave = np.sin(2 * np.pi * frequency * steps) * 2**13
    return sounds.encoded(wave.astype(np.int16)[:, np.newaxis], rate)


def _edge_cases():
    tone = _tone(0.06, 700, 22_050)
    stereo = np.stack([np.linspace(-1, 1, 480), np.zeros(480)], axis=1)
    return [
        b"",
        b"RIFF\xff\xff\xff\xffWAVEfmt ",
        tone[:-99],
        tone[:45],
        (np.zeros(1600), RATE),
        (np.full(1, 0.5), RATE),
        (np.array([np.nan, np.inf, -1e30]), 1000),
        (stereo.astype(np.float32), 48_000),
        ((stereo[:, 0] * 2e9).astype(np.int32), 32_000),
        _tone(0.24, 440, 44_100),
    ]
