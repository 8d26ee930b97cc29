"""Speech to text: joint CTC and attention that knows where it was."""

from keras_bahdanau.training.presets.small import SMALL

SPEECH = {
    **SMALL,
    "embedding_units": 256,
    "units": 256,
    "encoder_units": 256,
    "depth": 2,
    "coverage": "convolution",
    "ctc_weight": 0.3,
    "convolutions": "32,32",
    "augmentation": 0.7,
    "dropout": 0.3,
    "recurrent_dropout": 0.0,
    "word_dropout": 0.0,
    "batch_tokens": 0,
    "batch_sentences": lambda options: 0 if options.batch_tokens else 16,
    "learning_rate": 1e-3,
    "epochs": 100,
    "best_by": "wer",
    "patience": 100,
}


def speech(source, target, **overrides):
    """Joint CTC and attention over the frames of speech.

    h    = BiGRU(BiGRU(CNN(log-mel)))                        `layers.AudioFrames`: a quarter of them
    f_i  = F * alpha_{i-1}
    e_ij = v^T tanh(W_a s'_i + U_a h_j + U_f f_ij)           (Chorowski et al. 2015, section 2.2)
    c_i  = sum_j alpha_ij h_j
    p(a_j | x) = softmax(W_c h_j + b_c)                      CTC, on the encoder alone
    L    = (1 - w) L_attention + w L_CTC                     (Kim et al. 2017, eq. 13)

    The search adds the prefix scores of CTC to those of the decoder in the same way (Watanabe et
    al. 2017). In training parts of the spectrum are hidden and the speed changes (Park et al.
    2019; Ko et al. 2015); the decoder is that of the preset "small".

    Args:
        source: A `Source` of long sequences that are read in order, such as `AudioSource`.
        target: The `Subwords` of the target text.
        **overrides: Model options that differ, such as `units=256`: see `building.new_model`.

    Returns:
        A `Seq2Seq`, not yet compiled.
    """
    from keras_bahdanau.training.presets.building import new_model

    return new_model(source, target, "speech", overrides)
