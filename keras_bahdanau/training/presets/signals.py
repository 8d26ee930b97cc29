"""Presets for sources other than text: images, handwriting and speech."""

from keras_bahdanau.training.presets.preset import SMALL, Preset, half_of_dropout, sentences

_SIGNALS = {  # settings of all three presets
    **SMALL.settings,
    "embedding_units": 256,
    "units": 256,
    "recurrent_dropout": 0.0,
    "word_dropout": 0.0,
    "batch_tokens": 0,
    "batch_sentences": sentences(32),
    "learning_rate": 1e-3,
    "best_by": "wer",
}

IMAGES = Preset(
    name="images",
    settings={
        **_SIGNALS,
        "encoder": "rows",
        "encoder_units": 128,
        "coverage": "grid",
        "convolutions": "32,64,96",
        "augmentation": 0.3,
        "dropout": 0.2,
        "embedding_dropout": half_of_dropout,
        "epochs": 40,
        "patience": 40,
    },
    equations="""Attention over the cells of an image, with an encoder along each row.

    v_xy = CNN(image)_xy + r_y + p_x                         `layers.ImagePatches`
    h_xy = [GRU(v_1y ... v_xy); GRU(v_ny ... v_xy)]          a GRU along each row of cells
    s_0  = tanh(W mean_j h_j + b)
    s'_i = GRU_1(s_{i-1}, e(y_{i-1}))
    F_i  = Q * sum_{l < i} alpha_l                           a convolution over both axes
    e_ij = v^T tanh(W_a s'_i + U_a h_j + U_f F_ij)
    s_i  = GRU_2(s'_i, c_i),   c_i = sum_j alpha_ij h_j

    Attention over a convolutional grid follows Xu et al. 2015 ("Show, attend and tell"), the
    encoder along rows follows Deng et al. 2017 ("What you get is what you see"), and coverage
    follows Zhang et al. 2017 ("Watch, attend and parse"). The decoder is that of the preset
    "small".""",
)

INK = Preset(
    name="ink",
    settings={
        **_SIGNALS,
        "encoder_units": 256,
        "depth": 2,
        "coverage": "grid",
        "ctc_weight": 0.3,
        "convolutions": "64,128",
        "augmentation": 1.0,
        "dropout": 0.4,
        "embedding_dropout": 0.1,
        "word_dropout": 0.05,
        "epochs": 42,
        "patience": 42,
    },
    equations="""Attention over the strokes of a pen, with a memory of what was attended to.

    h    = BiGRU(BiGRU(CNN(frames)))                         `layers.FrameConvolutions`: a quarter
    F_i  = Q * sum_{l < i} alpha_l
    e_ij = v^T tanh(W_a s'_i + U_a h_j + U_f F_ij)           (Zhang et al. 2019, section 3.2)
    c_i  = sum_j alpha_ij h_j
    p(a_j | x) = softmax(W_c h_j + b_c)                      CTC, on the encoder alone
    L    = (1 - w) L_attention + w L_CTC                     (Kim et al. 2017, eq. 13)

    As in "Track, attend and parse", the strokes are read as a sequence, and coverage keeps the
    attention away from symbols that have already been output. CTC trains the encoder to predict
    the symbol at each position, so that fewer epochs are needed, and the search adds the prefix
    scores of CTC. The decoder is that of the preset "small".""",
)

SPEECH = Preset(
    name="speech",
    settings={
        **_SIGNALS,
        "encoder_units": 256,
        "depth": 2,
        "coverage": "convolution",
        "ctc_weight": 0.3,
        "convolutions": "32,32",
        "augmentation": 0.7,
        "dropout": 0.3,
        "batch_sentences": sentences(16),
        "epochs": 100,
        "patience": 100,
    },
    equations="""Joint CTC and attention over the frames of speech.

    h    = BiGRU(BiGRU(CNN(log-mel)))                        `layers.AudioFrames`: a quarter of them
    f_i  = F * alpha_{i-1}
    e_ij = v^T tanh(W_a s'_i + U_a h_j + U_f f_ij)           (Chorowski et al. 2015, section 2.2)
    c_i  = sum_j alpha_ij h_j
    p(a_j | x) = softmax(W_c h_j + b_c)                      CTC, on the encoder alone
    L    = (1 - w) L_attention + w L_CTC                     (Kim et al. 2017, eq. 13)

    The search combines the prefix scores of CTC with those of the decoder in the same way
    (Watanabe et al. 2017). In training, parts of the spectrum are masked and the speed is varied
    (Park et al. 2019; Ko et al. 2015). The decoder is that of the preset "small".""",
)
