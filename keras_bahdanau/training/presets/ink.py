"""Handwriting to text: attention over the frames of a pen."""

from keras_bahdanau.training.presets.small import SMALL

INK = {
    **SMALL,
    "embedding_units": 256,
    "units": 256,
    "encoder_units": 256,
    "depth": 2,
    "coverage": "grid",
    "ctc_weight": 0.3,
    "convolutions": "64,128",
    "augmentation": 1.0,
    "dropout": 0.4,
    "embedding_dropout": 0.1,
    "recurrent_dropout": 0.0,
    "word_dropout": 0.05,
    "batch_tokens": 0,
    "batch_sentences": lambda options: 0 if options.batch_tokens else 32,
    "learning_rate": 1e-3,
    "epochs": 42,
    "best_by": "wer",
    "patience": 42,
}


def ink(source, target, **overrides):
    """Attention over the way of a pen, with a memory of where it was.

    h    = BiGRU(BiGRU(CNN(frames)))                         `layers.FrameConvolutions`: a quarter
    F_i  = Q * sum_{l < i} alpha_l
    e_ij = v^T tanh(W_a s'_i + U_a h_j + U_f F_ij)           (Zhang et al. 2019, section 3.2)
    c_i  = sum_j alpha_ij h_j
    p(a_j | x) = softmax(W_c h_j + b_c)                      CTC, on the encoder alone
    L    = (1 - w) L_attention + w L_CTC                     (Kim et al. 2017, eq. 13)

    After "Track, attend and parse": the strokes are read as a sequence, and coverage keeps the
    attention from symbols that are written already. CTC teaches the encoder which symbol a place
    holds, so that fewer epochs are needed, and the search adds its prefix scores. The decoder is
    that of the preset "small".

    Args:
        source: An `InkSource`, or another one of frames with convolutions.
        target: The `Subwords` of the target text.
        **overrides: Model options that differ, such as `units=256`: see `building.new_model`.

    Returns:
        A `Seq2Seq`, not yet compiled.
    """
    from keras_bahdanau.training.presets.building import new_model

    return new_model(source, target, "ink", overrides)
