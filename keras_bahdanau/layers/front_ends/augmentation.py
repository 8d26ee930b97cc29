"""Data augmentation: affine transforms of images, and speed changes and masks for speech."""

import math

import keras
from keras import ops

from keras_bahdanau.layers.front_ends.log_mel import HOP

_SHEAR = 0.3  # as a fraction of the height
_ANGLE = 0.01 * 2 * math.pi
_ZOOM = (0.05, 0.15)  # as fractions of width and height
_SHIFT = (0.02, 0.1)  # as fractions of width and height
_SLIM = 4  # ratio of width to height up to which the changes have their full range


def moved_images(images, widths, strength, seed):
    """Transform each image at random around the center c of its real columns.

    x'(p) = x(A (p - t - c) + c),   A = [1 s] [cos a  -sin a] [z_x  0 ]
                                        [0 1] [sin a   cos a] [0   z_y]

    The parameters are drawn uniformly and scaled by the strength in (0, 1]: the shear s is up to
    0.3, the angle a up to 3.6 degrees, the zoom z up to 5% of the width and 15% of the height,
    and the translation t up to 2% of the width and 10% of the height. For images more than four
    times as wide as high, the angle, and zoom and translation along x, are smaller, so that the
    ends of a line of text stay in the image. Pixels are interpolated bilinearly, and are zero
    outside of the image.

    `images` is float32 `(batch, height, width, channels)`. Each image is zero after its width in
    `widths`, int32 `(batch,)`. Pixels that move beyond these widths are not cleared.
    """
    # (batch, 6): the number of draws does not depend on the width
    draws = keras.random.uniform((ops.shape(images)[0], 6), -strength, strength, seed=seed)
    width, height = (ops.cast(size, "float32") for size in (widths, ops.shape(images)[1]))
    slim = ops.minimum(1.0, _SLIM * height / ops.maximum(width, 1.0))  # -> (batch,)
    shear, angle = _SHEAR * draws[:, 0], _ANGLE * draws[:, 1] * slim
    zoom_x, zoom_y = 1 + _ZOOM[0] * draws[:, 2] * slim, 1 + _ZOOM[1] * draws[:, 3]
    sine, cosine = ops.sin(angle), ops.cos(angle)
    # the rows of A, each element (batch,)
    a_xx, a_xy = (cosine + shear * sine) * zoom_x, (shear * cosine - sine) * zoom_y
    a_yx, a_yy = sine * zoom_x, cosine * zoom_y
    x, y = (width - 1) / 2, (height - 1) / 2  # c
    # t + c
    to_x, to_y = x + _SHIFT[0] * draws[:, 4] * slim * width, y + _SHIFT[1] * draws[:, 5] * height
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


FASTEST = 0.1  # largest relative change of speed
_SHARE = 0.04  # p_M and p_S: masks per frame, and fraction of the frames in the widest mask
_MOST = 20  # largest number of time masks
_FREQUENCY_MASKS = 2
_WIDEST = 27 / 80  # fraction of the bands in the widest mask


def change_speed(values, lengths, strength, seed):
    """Change the speed, and with it the pitch, of a recording by a random factor.

    x'(i) = x(s i),   s from 1 - 0.1 strength to 1 + 0.1 strength      (Ko et al. 2015)

    `values` `(batch, samples)` is zero after the end of each row, and `lengths` `(batch,)` counts
    frames. The results are a ninth longer, which is enough for the slowest speed.
    """
    batch, samples = ops.shape(values)[0], ops.shape(values)[1]
    change = FASTEST * strength
    moved = keras.random.uniform((batch, 1), -change, change, seed=seed)  # s - 1
    longer = samples + samples // 9 + HOP
    steps = ops.arange(longer, dtype="int32")
    # s i = i + whole + part: float32 is not precise enough for s i in long recordings
    # (batch, longer)
    shift = ops.cast(steps, "float32") * moved
    whole = ops.floor(shift)
    part = shift - whole
    # each sample and the next one: (batch * (samples + 1), 2)
    ahead = ops.pad(values, ((0, 0), (0, 2)))
    pairs = ops.reshape(ops.stack([ahead[:, :-1], ahead[:, 1:]], axis=-1), (-1, 2))
    rows = ops.expand_dims(ops.arange(batch, dtype="int32"), axis=1) * (samples + 1)
    positions = rows + ops.minimum(steps + ops.cast(whole, "int32"), samples)
    near = ops.take(pairs, positions, axis=0)  # -> (batch, longer, 2)
    changed = near[..., 0] * (1 - part) + near[..., 1] * part
    frames = ops.cast(lengths, "float32") / (1 + moved[:, 0])
    return changed, ops.cast(ops.ceil(frames - 1e-3), "int32")


def visible_parts(lengths, time, bands, strength, seed):
    """Return random masks for spectra, bool `(batch, time, bands)`, False for hidden parts.

    Two masks hide up to 27 of 80 bands each (Park et al. 2019, "SpecAugment"). For n frames, 0.04 n
    masks, but at most 20, hide up to 0.04 n frames each (Park et al. 2020). The strength, in
    (0, 1], scales the widths. `lengths`, int32 `(batch,)`, counts frames.
    """
    frames = ops.expand_dims(ops.cast(lengths, "float32"), axis=1)  # -> (batch, 1)
    number = ops.minimum(ops.ceil(_SHARE * frames), float(_MOST))
    batch = ops.shape(lengths)[0]
    in_time = _spans(frames, _SHARE * strength * frames, time, (batch, _MOST), seed)
    used = ops.arange(_MOST, dtype="float32") < number  # -> (batch, masks)
    hidden = ops.any(in_time & ops.expand_dims(used, axis=-1), axis=1)  # -> (batch, time)
    widest = _WIDEST * strength * bands
    in_bands = _spans(float(bands), widest, bands, (batch, _FREQUENCY_MASKS), seed)
    hidden_bands = ops.any(in_bands, axis=1)  # -> (batch, bands)
    return ~(ops.expand_dims(hidden, axis=2) | ops.expand_dims(hidden_bands, axis=1))


def _spans(length, widest, size, shape, seed):
    """Return random intervals within `length`, bool `(batch, masks, size)`."""
    widths = ops.floor(keras.random.uniform(shape, seed=seed) * (ops.floor(widest) + 1))
    starts = ops.floor(keras.random.uniform(shape, seed=seed) * (length - widths + 1))
    starts, widths = ops.expand_dims(starts, axis=-1), ops.expand_dims(widths, axis=-1)
    steps = ops.arange(size, dtype="float32")
    return (steps >= starts) & (steps < starts + widths)
