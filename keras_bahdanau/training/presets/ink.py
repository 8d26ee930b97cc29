"""Handwriting to text: attention over the frames of a pen."""

from keras_bahdanau.training.presets.small import SMALL

INK = {
    **SMALL,
    "embedding_units": 256,
    "units": 256,
    "encoder_units": 256,
    "depth": 2,
    "coverage": "grid",
    "convolutions": "64,128",
    "augmentation": 0.5,
    "dropout": 0.3,
    "embedding_dropout": 0.1,
    "recurrent_dropout": 0.0,
    "word_dropout": 0.05,
    "batch_tokens": 0,
    "batch_sentences": lambda options: 0 if options.batch_tokens else 32,
    "learning_rate": 1e-3,
    "epochs": 40,
    "best_by": "wer",
    "patience": 40,
}


def ink(source, target, **overrides):
    """Attention over the way of a pen, with a memory of where it was.

    h    = BiGRU(BiGRU(CNN(frames)))                         `layers.FrameConvolutions`: a quarter
    F_i  = Q * sum_{l < i} alpha_l
    e_ij = v^T tanh(W_a s'_i + U_a h_j + U_f F_ij)           (Zhang et al. 2019, section 3.2)
    c_i  = sum_j alpha_ij h_j

    After "Track, attend and parse": the strokes are read as a sequence, and coverage keeps the
    attention from symbols that are written already. The decoder is that of the preset "small".

    Args:
        source: An `InkSource`, or another one of frames with convolutions.
        target: The `Subwords` of the target text.
        **overrides: Model options that differ, such as `units=256`: see `building.new_model`.

    Returns:
        A `Seq2Seq`, not yet compiled.
    """
    from keras_bahdanau.training.presets.building import new_model

    return new_model(source, target, "ink", overrides)
