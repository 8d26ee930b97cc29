"""Presets for the models in papers: Bahdanau et al. 2015, Luong et al. 2015, and others."""

from keras_bahdanau.training.presets.preset import Preset, half_of_units, read_state, sentences

RNNSEARCH = Preset(
    name="rnnsearch",
    initial_weights="bahdanau",
    settings={
        "vocabulary_size": 30_000,
        "model_type": "word",
        "joint": False,
        "max_length": 51,  # 50 words and the end token
        "embedding_units": 620,
        "units": 1000,
        "cell": "gru-reset-before",
        "bridge": "backward",
        "readout": "maxout",
        "readout_units": half_of_units,
        "readout_state": read_state,
        "batch_sentences": sentences(80),
        "epochs": 5,
        "optimizer": "adadelta",
        "learning_rate": 1.0,
        "clip_norm": 1.0,
    },
    equations="""RNNsearch of Bahdanau et al. 2015, appendices A and B.

    Encoder (A.2.1), in each direction, h_j = [forward_j; backward_j], 1000 units each:

        h_j  = (1 - z_j) * h_{j-1} + z_j * h~_j,   h_0 = 0
        h~_j = tanh(W E x_j + U (r_j * h_{j-1}))
        z_j  = sigmoid(W_z E x_j + U_z h_{j-1}),   r_j = sigmoid(W_r E x_j + U_r h_{j-1})

    Alignment (A.1.2, A.2.2), 1000 units:

        c_i  = sum_j alpha_ij h_j,   alpha_i = softmax(e_i)
        e_ij = v_a^T tanh(W_a s_{i-1} + U_a h_j)

    Decoder (A.1.1, A.2.2), 1000 units, with a maxout layer of 500 units that uses s_{i-1}:

        s_i  = (1 - z_i) * s_{i-1} + z_i * s~_i,   s_0 = tanh(W_s backward_1)
        s~_i = tanh(W E y_{i-1} + U (r_i * s_{i-1}) + C c_i)
        z_i  = sigmoid(W_z E y_{i-1} + U_z s_{i-1} + C_z c_i),   r_i in the same way
        t~_i = U_o s_{i-1} + V_o E y_{i-1} + C_o c_i
        t_i  = [max(t~_{i,2j-1}, t~_{i,2j})],   p(y_i) = softmax(W_o t_i)

    The gate z here is 1 - z in the paper, as everywhere in Keras. The function is the same, with
    the signs of W_z, U_z, C_z and b_z changed. Initial weights: see `models.draw_as_bahdanau`.

    Training (B.2): Adadelta with rho 0.95 and epsilon 1e-6, the gradient's norm limited to 1,
    batches of 80 sentences, where 20 batches at a time are sorted by length, sentences of up to
    50 words, and the 30,000 most frequent words of each language. The loss is summed over the
    tokens of a sentence and averaged over sentences. Five epochs correspond to the longest run
    in the paper (table 2).""",
)

RNNENCDEC = Preset(
    name="rnnencdec",
    initial_weights="bahdanau",
    settings={
        **RNNSEARCH.settings,
        "attention": "none",
        "encoder": "unidirectional",
        "bridge": "last",
    },
    equations="""RNNencdec of Cho et al. 2014, in the form that Bahdanau et al. 2015 compare with.

    "The model becomes RNN Encoder-Decoder if we fix c_i to forward_n" (A.2.2). The decoder is
    that of `rnnsearch`, with

        c_i = forward_n,   s_0 = tanh(W_s forward_n)

    where forward_n is the last state of an encoder that reads from left to right. Sizes, initial
    weights and training are the same as in `rnnsearch`.""",
)

LUONG = Preset(
    name="luong",
    initial_weights="luong",
    settings={
        "vocabulary_size": 50_000,
        "model_type": "word",
        "joint": False,
        "max_length": 51,  # 50 words and the end token
        "embedding_units": 1000,
        "units": 1000,
        "encoder": "unidirectional",
        "cell": "lstm",
        "depth": 4,
        "decoder_depth": 4,
        "attention": "dot",
        "when": "after",
        "bridge": "last",
        "readout": "plain",
        "dropout": 0.2,
        "batch_sentences": sentences(128),
        "epochs": 12,
        "optimizer": "sgd",
        "learning_rate": 1.0,
        "schedule": "halving",
        "halving_after": 8,
        "patience": 12,
    },
    equations="""Global attention of Luong et al. 2015, with input feeding.

    s_i  = LSTM(s_{i-1}, [e(y_{i-1}); h~_{i-1}])                 (section 3.3)
    e_ij = s_i^T h_j                                             (eq. 8, "dot")
    c_i  = sum_j alpha_ij h_j,   alpha_i = softmax(e_i)          (eq. 7)
    h~_i = tanh(W_c [c_i; s_i])                                  (eq. 5)
    p(y_i) = softmax(W_s h~_i)                                   (eq. 6)

    The encoder and decoder are stacks of four LSTMs with 1000 units each; embeddings also have
    1000 units. "dot" had the highest BLEU with global attention (section 5.3).

    Training (section 4.1): all weights are drawn uniformly from [-0.1, 0.1]; SGD with learning
    rate 1.0, halved once per epoch after the eighth of twelve epochs; the gradient's norm limited
    to 5; batches of 128 sentences; dropout 0.2; sentences of up to 50 words; the 50,000 most
    frequent words of each language. The loss is summed over the tokens of a sentence and averaged
    over sentences.

    Differences from the paper: each decoder state starts as tanh(W h_n + b) of the last state of
    the top encoder layer, not as a copy of the encoder state of the same layer. 1 is added to the
    biases of the decoder's forget gates. Dropout is applied between the encoder's layers, to
    embeddings, values and h~, but not between the decoder's layers. Sources are not reversed.""",
)

LUONG_LOCAL = Preset(
    name="luong-local",
    initial_weights="luong",
    settings={**LUONG.settings, "attention": "general", "window": "local-p"},
    equations="""Local attention of Luong et al. 2015, local-p, with input feeding.

    p_i      = n sigmoid(v_p^T tanh(W_p s_i))                    (eq. 9)
    e_ij     = s_i^T W_a h_j,   |j - p_i| <= D = 10              (eq. 8, "general")
    alpha_ij = softmax_j(e_ij) exp(-(j - p_i)^2 / (2 (D / 2)^2)) (eq. 10)

    "general" had the highest BLEU with local attention (section 5.3). All other settings are the
    same as in `luong`.""",
)

CONDITIONAL_GRU = Preset(
    name="conditional-gru",
    settings={
        "vocabulary_size": 10_000,
        "share_embeddings": False,
        "embedding_units": 128,
        "units": 256,
        "encoder_cell": "layer-norm-gru",
        "when": "between",
        "dropout": 0.5,
        "embedding_dropout": 0.3,
        "l2": 1e-5,
        "batch_sentences": sentences(32),
        "epochs": 100,
        "learning_rate": 4e-4,
        "patience": 10,
    },
    equations="""The text-only baseline of Caglayan et al. 2017 ("LIUM-CVC submissions for WMT17").

    h_j  = [LNGRU(e(x_1) ... e(x_j)); LNGRU(e(x_n) ... e(x_j))]       (layer normalization)
    s_0  = tanh(W mean_j h_j + b)
    s'_i = GRU_1(s_{i-1}, e(y_{i-1}))
    c_i  = sum_j alpha_ij h_j,   alpha_i = softmax(v^T tanh(W_a s'_i + U_a h_j))
    s_i  = GRU_2(s'_i, c_i)                       (the conditional GRU of Sennrich et al. 2017)
    p(y_i) = softmax(W_o tanh(W_t [s_i; c_i; e(y_{i-1})] + b_t) + b_o)

    The decoder has 256 units, and so has each direction of the encoder. The embeddings have 128
    units, and none of them are shared.

    Training: Glorot initialization, Adam with learning rate 4e-4, an L2 penalty of 1e-5 on all
    weights, the gradient's norm limited to 5, batches of 32 sentences, and a joint BPE vocabulary
    of 10,000 tokens. Training ends after ten validations without improvement. The loss is summed
    over the tokens of a sentence and averaged over sentences. The dropout rate is 0.3 for
    embeddings and 0.5 for values and readout.

    Differences from the paper: in the paper, embedding dropout applies only to the source.
    Validation here is by perplexity after each epoch, in the paper by METEOR every 1000 steps.
    The paper's text is tokenized and lowercased.""",
)
