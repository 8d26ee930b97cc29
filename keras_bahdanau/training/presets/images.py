"""Images to text: a convolutional front end, and attention that remembers where it looked."""

from keras_bahdanau.training.presets.small import SMALL

IMAGES = {
    **SMALL,
    "embedding_units": 256,
    "units": 256,
    "encoder": "rows",
    "encoder_units": 128,
    "coverage": "grid",
    "convolutions": "32,64,96",
    "augmentation": 0.3,
    "dropout": 0.2,
    "embedding_dropout": lambda options: options.dropout / 2,
    "recurrent_dropout": 0.0,
    "word_dropout": 0.0,
    "batch_tokens": 0,
    "batch_sentences": lambda options: 0 if options.batch_tokens else 32,
    "learning_rate": 1e-3,
    "epochs": 40,
    "best_by": "wer",
    "patience": 40,
}


def images(source, target, **overrides):
    """Attention over the cells of an image, row by row encoded.

    v_xy = CNN(image)_xy + r_y + p_x                         `layers.ImagePatches`
    h_xy = [GRU(v_1y ... v_xy); GRU(v_ny ... v_xy)]          a GRU along each row of cells
    s_0  = tanh(W mean_j h_j + b)
    s'_i = GRU_1(s_{i-1}, e(y_{i-1}))
    F_i  = Q * sum_{l < i} alpha_l                           a convolution over both axes
    e_ij = v^T tanh(W_a s'_i + U_a h_j + U_f F_ij)
    s_i  = GRU_2(s'_i, c_i),   c_i = sum_j alpha_ij h_j

    Attention over a convolutional grid is that of Xu et al. 2015 ("Show, attend and tell"), the
    rows are those of Deng et al. 2017 ("What you get is what you see"), the coverage that of
    Zhang et al. 2017 ("Watch, attend and parse"); the decoder is that of the preset "small".

    Args:
        source: A `Source` whose positions are cells of a grid, such as `ImageSource`.
        target: The `Subwords` of the target text.
        **overrides: Model options that differ, such as `units=256`: see `building.new_model`.

    Returns:
        A `Seq2Seq`, not yet compiled.
    """
    from keras_bahdanau.training.presets.building import new_model

    return new_model(source, target, "images", overrides)
