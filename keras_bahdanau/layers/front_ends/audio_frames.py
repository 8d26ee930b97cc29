"""Front end for speech with log-mel spectra, convolutions with stride 2, and a projection."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bahdanau.layers.front_ends.augmentation import change_speed, visible_parts
from keras_bahdanau.layers.front_ends.front_end import FrontEnd, until, widths_of, zeroed
from keras_bahdanau.layers.front_ends.log_mel import BINS, HOP, frames_of, log_mel
from keras_bahdanau.settings import checks

NORMALIZATIONS = ("utterance", "global", "none")
_EPSILON = 0.1  # added to variances, which are 2 to 10 for speech and 0 for a steady tone


class Samples(NamedTuple):
    """Features of a sound source.

    Attributes:
        values: Non-empty float32 tensor `(batch, samples)`, at 16 kHz, with values from -1 to 1.
        lengths: Int32 tensor `(batch,)`, the number of real frames (160 samples) in each row.
    """

    values: Any
    lengths: Any


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class AudioFrames(FrontEnd):
    """Front end for speech: log-mel spectra, normalized and then downsampled by convolutions.

    y_t     = log-mel spectrum of the 25 ms from the start of frame t    (`log_mel`)
    z_t     = (y_t - mean) / sqrt(variance + 0.1)
    x^l_j   = relu(conv(x^{l-1})_{2j}),   x^0 = z                        (3 x 3, stride 2)
    vectors = W x^L_j + b

    Each convolution halves the number of frames and of bands (Dong et al. 2018,
    "Speech-transformer", section 3.2), and padding is set to zero before each convolution. Spectra
    are float32 under any dtype policy.

    Args:
        units: Positive integer. Width of a vector.
        bands: Positive integer. Number of mel bands.
        convolutions: Tuple of at most 12 positive integers, the widths of the convolutions.
        normalization: How the mean and variance of each band are computed: "utterance" to use the
            frames of the row; "global" to use the frames of the batch in training and their moving
            averages in inference; "none" for no normalization.
        augmentation: Float in [0, 1]. Strength of the random changes in training, which vary the
            speed and hide parts of the spectrum.
        seed: Integer for reproducible random changes.

    The inputs are `Samples`, whose padding may have any value. The output is the pair (vectors,
    mask): `(batch, ceil(frames / reduction), units)` and `(batch, ceil(frames / reduction))`. In
    training, the changes of speed make the time axis a ninth longer.

    Example:
        >>> samples = Samples(np.zeros((1, 16000), "float32"), np.array([100]))
        >>> AudioFrames(256)(samples)[0].shape
        TensorShape([1, 25, 256])
    """

    def __init__(
        self,
        units,
        bands=80,
        convolutions=(32, 32),
        normalization="utterance",
        augmentation=0.0,
        seed=None,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)  # samples stay float32 under any dtype policy
        self.units = checks.positive_integer("units", "the width of a vector", units)
        self.bands = checks.positive_integer("bands", "the number of mel bands", bands, BINS)
        self.widths = widths_of(convolutions)
        self.normalization = checks.choice("normalization", normalization, NORMALIZATIONS)
        self.augmentation = checks.fraction("augmentation", "the strength of changes", augmentation)
        self.seed = seed
        if augmentation:
            self.seed_generator = keras.random.SeedGenerator(seed)
        policy = {"dtype": self.dtype_policy, "data_format": "channels_last"}
        self.convolutions = [
            keras.layers.Conv2D(
                width, 3, strides=2, activation="relu", name=f"convolution_{index}", **policy
            )
            for index, width in enumerate(self.widths)
        ]
        self.projection = keras.layers.Dense(units, name="projection", dtype=self.dtype_policy)
        if normalization == "global":
            self.statistics = keras.layers.BatchNormalization(
                center=False, scale=False, epsilon=_EPSILON, name="statistics", dtype="float32"
            )

    @property
    def source_size(self):
        return self.bands

    @property
    def reduction(self):
        """Number of 10 ms frames per vector."""
        return 2 ** len(self.widths)

    def build(self, samples_shape=None):
        if self.normalization == "global":
            self.statistics.build((None, None, self.bands))
        height, channels = self.bands, 1
        for convolution in self.convolutions:
            convolution.build((None, None, height + 2, channels))
            height, channels = -(-height // 2), convolution.filters
        self.projection.build((None, None, height * channels))

    def call(self, samples, training=None):
        values, mask = self.spectra(samples, training)
        # x^0: (batch, time, bands, 1)
        values = ops.expand_dims(ops.cast(values, self.compute_dtype), axis=-1)
        for convolution in self.convolutions:
            # pad one position per side, to get ceil(n / 2) for any n
            values = convolution(ops.pad(values, ((0, 0), (1, 1), (1, 1), (0, 0))))
            mask = mask[:, ::2]  # -> (batch, ceil(time / 2))
            values = zeroed(values, mask)
        width = values.shape[2] * values.shape[3]
        vectors = ops.reshape(values, (-1, ops.shape(values)[1], width))
        return self.projection(vectors), mask

    def spectra(self, samples, training=None):
        """Return normalized spectra z, float32 `(batch, frames, bands)`, and their mask.

        The spectra are zero at padding.
        """
        values, lengths = real_samples(samples)
        augmented = training and self.augmentation
        if augmented:
            strength, seed = self.augmentation, self.seed_generator
            values, lengths = change_speed(values, lengths, strength, seed)
        spectra = log_mel(values, lengths, self.bands)  # y
        time = ops.shape(spectra)[1]
        mask = until(lengths, time)  # -> (batch, time)
        real = ops.expand_dims(mask, axis=-1)
        spectra = self._normalized(ops.where(real, spectra, 0.0), mask, training)
        if augmented:
            real &= visible_parts(lengths, time, self.bands, strength, seed)
        return ops.where(real, spectra, 0.0), mask

    def _normalized(self, spectra, mask, training):
        if self.normalization == "global":
            return self.statistics(spectra, training=training, mask=mask)
        if self.normalization == "none":
            return spectra
        real = ops.expand_dims(ops.cast(mask, "float32"), axis=-1)
        count = ops.maximum(ops.sum(real, axis=1, keepdims=True), 1.0)

        def mean(values):  # -> (batch, 1, bands)
            return ops.sum(values * real, axis=1, keepdims=True) / count

        centred = spectra - mean(spectra)
        centred = centred - mean(centred)  # removes the rounding error of the mean
        return centred * ops.rsqrt(mean(ops.square(centred)) + _EPSILON)

    def compute_output_shape(self, samples_shape):
        batch = samples_shape[0][0]
        return (batch, None, self.units), (batch, None)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "bands": self.bands,
            "convolutions": list(self.widths),
            "normalization": self.normalization,
            "augmentation": self.augmentation,
            "seed": self.seed,
        }


def real_samples(samples):
    """Return (values, lengths) as float32 and int32, with values zeroed after each row's end."""
    values, lengths = ops.cast(samples.values, "float32"), ops.cast(samples.lengths, "int32")
    size = ops.shape(values)[1]
    frames = frames_of(size)
    lengths = ops.clip(lengths, 0, frames)
    # mask whole frames: LiteRT files then need no constant per sample. -> (batch, frames, HOP)
    values = ops.pad(values, ((0, 0), (0, frames * HOP - size)))
    values = zeroed(ops.reshape(values, (-1, frames, HOP)), until(lengths, frames))
    return ops.reshape(values, (-1, frames * HOP))[:, :size], lengths
