"""Random changes of images in training: shear, rotation, zoom and translation, in one step."""

import math

import keras
from keras import ops

_SHEAR = 0.3  # of the height
_ANGLE = 0.01 * 2 * math.pi
_ZOOM = (0.05, 0.15)  # of width and height
_SHIFT = (0.02, 0.1)  # of width and height


def moved_images(images, widths, strength, seed):
    """Images, each changed at random around the middle c of its own columns.

    x'(p) = x(A (p - t - c) + c),   A = [1 s] [cos a  -sin a] [z_x  0 ]
                                        [0 1] [sin a   cos a] [0   z_y]

    The shear s, the angle a, the zooms z and the translation t are uniform draws: s up to 0.3, a
    up to 3.6 degrees, z from 1 by up to 5 % in width and 15 % in height, t up to 2 % of the
    width and 10 % of the height, all times the strength. Zero comes in from outside, and pixels
    are interpolated linearly. Columns behind the width of a row change nothing.

    Args:
        images: Float32 tensor `(batch, height, width, channels)`, zero behind each width.
        widths: Int32 tensor `(batch,)`, columns of each image.
        strength: Float in (0, 1].
        seed: `keras.random.SeedGenerator`.

    Returns:
        Float32 tensor of the same shape. What left the columns of an image stands behind them.
    """
    # (batch, 6): as many draws an image, whatever the width of the batch
    draws = keras.random.uniform((ops.shape(images)[0], 6), -strength, strength, seed=seed)
    shear, angle = _SHEAR * draws[:, 0], _ANGLE * draws[:, 1]
    zoom_x, zoom_y = 1 + _ZOOM[0] * draws[:, 2], 1 + _ZOOM[1] * draws[:, 3]
    sine, cosine = ops.sin(angle), ops.cos(angle)
    # A, row by row: each (batch,)
    a_xx, a_xy = (cosine + shear * sine) * zoom_x, (shear * cosine - sine) * zoom_y
    a_yx, a_yy = sine * zoom_x, cosine * zoom_y
    width, height = (ops.cast(size, "float32") for size in (widths, ops.shape(images)[1]))
    x, y = (width - 1) / 2, (height - 1) / 2  # c
    # t + c
    to_x, to_y = x + _SHIFT[0] * draws[:, 4] * width, y + _SHIFT[1] * draws[:, 5] * height
    zero = ops.zeros_like(shear)
    rows = [a_xx, a_xy, x - a_xx * to_x - a_xy * to_y]
    rows += [a_yx, a_yy, y - a_yx * to_x - a_yy * to_y]
    transform = ops.stack([*rows, zero, zero], axis=1)  # -> (batch, 8)
    return ops.image.affine_transform(
        images,
        transform,
        interpolation="bilinear",
        fill_mode="constant",
        fill_value=0.0,
        data_format="channels_last",
    )
