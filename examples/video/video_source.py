"""A custom source for grey videos, with a convolutional front end.

To train on videos, call `training.train(source=VideoSource(32, 32))`; everything else comes from
the package. A program must import this module before it loads a model; for commands, pass
`--import video_source`.
"""

import keras
import numpy as np
from keras import ops

import keras_bahdanau as kb


@keras.saving.register_keras_serializable(package="video_source")
class VideoConvolutions(kb.layers.FrameProjection):
    """Front end for videos: convolutions over each frame and its change, then a projection.

    x^0_t = [frame_t; frame_t - frame_{t-1}] / 255    two channels; the change of frame_0 is 0
    x^l_t = relu(conv(x^{l-1}_t))                     5 x 5, then 3 x 3; l = 2, 3: stride 2
    v_t   = W max_{y,x} x^L_t + b

    The maximum of each channel shows what moves, at any position. The frames of all videos form one
    batch of images.

    Args:
        height: Positive integer. Height of a frame in pixels.
        width: Positive integer. Width of a frame in pixels.
        units: Positive integer. Width of the output vectors.
        convolutions: Sequence of positive integers. Number of channels of each convolution.

    The input is `Frames` with `height * width` values from 0 to 255. The output is (vectors, mask)
    with the shapes `(batch, source_time, units)` and `(batch, source_time)`.
    """

    def __init__(self, height, width, units, convolutions=(16, 32, 64, 64), **kwargs):
        super().__init__(height * width, units, **kwargs)
        self.height, self.width = height, width
        self.widths = tuple(convolutions)
        self.convolutions = [
            keras.layers.Conv2D(
                channels,
                5 if number == 0 else 3,
                strides=2 if number in (1, 2) else 1,
                padding="same",
                activation="relu",
                kernel_initializer="he_normal",
                data_format="channels_last",
                dtype=self.dtype_policy,
            )
            for number, channels in enumerate(self.widths)
        ]

    def build(self, frames_shape=None):
        channels = 2
        for convolution in self.convolutions:
            convolution.build((None, self.height, self.width, channels))
            channels = convolution.filters
        self.projection.build((None, None, channels))

    def call(self, frames, training=None):
        values, lengths = frames
        batch, time = ops.shape(values)[0], ops.shape(values)[1]
        values = ops.cast(values, self.compute_dtype) / 255
        before = ops.concatenate([values[:, :1], values[:, :-1]], axis=1)
        # (batch, time, height * width) -> (batch * time, height, width, 2)
        images = ops.stack([values, values - before], axis=-1)
        images = ops.reshape(images, (-1, self.height, self.width, 2))
        for convolution in self.convolutions:
            images = convolution(images)
        # -> (batch, time, channels)
        largest = ops.reshape(ops.max(images, axis=(1, 2)), (batch, time, self.widths[-1]))
        return super().call(kb.layers.Frames(largest, lengths))

    def get_config(self):
        config = super().get_config()
        del config["frame_size"]
        sizes = {"height": self.height, "width": self.width, "convolutions": list(self.widths)}
        return {**config, **sizes}


@keras.saving.register_keras_serializable(package="video_source")
class VideoSource(kb.sources.FeatureSource):
    """Source for grey videos, each an array `(time, height * width)` of values from 0 to 255."""

    def __init__(self, height, width):
        self.height, self.width = height, width
        super().__init__(height * width)

    def front_end(self, units, convolutions=None, augmentation=0.0):
        if augmentation:
            raise ValueError(
                "A VideoSource does not support augmentation. "
                f"Received: augmentation={augmentation!r}. Leave it out."
            )
        widths = {"convolutions": convolutions} if convolutions else {}
        return VideoConvolutions(self.height, self.width, units, name="front_end", **widths)

    def picture(self, raw, longest=None):
        """Return the frames side by side."""
        (values,), (length,) = self.batch([raw], longest)
        if not length:
            return None
        frames = values[:length].reshape(-1, self.height, self.width) / 255
        return kb.sources.Picture(np.hstack(frames), int(length), axis="frames")

    def get_config(self):
        return {"height": self.height, "width": self.width}
