"""The models of Luong, Pham and Manning 2015."""

LUONG = {
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
    "batch_sentences": lambda options: 0 if options.batch_tokens else 128,
    "epochs": 12,
    "optimizer": "sgd",
    "learning_rate": 1.0,
    "schedule": "halving",
    "halving_after": 8,
    "patience": 12,
}
LUONG_LOCAL = {**LUONG, "attention": "general", "window": "local-p"}


def luong(source, target, seed=None, **overrides):
    """Global attention of Luong et al. 2015, with input feeding.

    s_i  = LSTM(s_{i-1}, [e(y_{i-1}); h~_{i-1}])                 (section 3.3)
    e_ij = s_i^T h_j                                             (eq. 8, "dot")
    c_i  = sum_j alpha_ij h_j,   alpha_i = softmax(e_i)          (eq. 7)
    h~_i = tanh(W_c [c_i; s_i])                                  (eq. 5)
    p(y_i) = softmax(W_s h~_i)                                   (eq. 6)

    Encoder and decoder are four LSTMs on each other, 1000 units wide, as are embeddings.
    "dot" had the highest BLEU with global attention (section 5.3).

    Training (section 4.1): all weights start uniform in [-0.1, 0.1], SGD with rate 1.0,
    halved each epoch after the eighth of twelve, gradients of at most length 5, batches of
    128 sentences, dropout 0.2, up to 50 words, the 50,000 most frequent words of
    each language. A loss is the sum over a sentence's tokens, and the mean over sentences.

    Differences: each decoder state starts as tanh(W h_n + b) of the top encoder's last
    state, and not as a copy of the encoder state of its layer; the decoder's forget gates
    have a bias of 1 more than drawn; dropout is between the encoder's layers, on
    embeddings, values and h~, and not between the decoder's layers; sources are not
    turned around.

    Args:
        source: A `Source`, or the `Subwords` of the source text: the size and the front end.
        target: The `Subwords` of the target text.
        seed: Integer or None: of the initial weights; from Keras' global seed if None.
        **overrides: Model options that differ, such as `units=256`: see `building.new_model`.

    Returns:
        A `Seq2Seq`, not yet compiled.
    """
    from keras_bahdanau.training.presets import building, initial_weights

    model = building.new_model(source, target, "luong", overrides)
    return initial_weights.draw_as_luong(model, seed)


def luong_local(source, target, seed=None, **overrides):
    """Local attention of Luong et al. 2015, local-p, with input feeding.

    p_i      = n sigmoid(v_p^T tanh(W_p s_i))                    (eq. 9)
    e_ij     = s_i^T W_a h_j,   |j - p_i| <= D = 10              (eq. 8, "general")
    alpha_ij = softmax_j(e_ij) exp(-(j - p_i)^2 / (2 (D / 2)^2)) (eq. 10)

    "general" had the highest BLEU with local attention (section 5.3). All else is as in
    `luong`.

    Args:
        source: A `Source`, or the `Subwords` of the source text: the size and the front end.
        target: The `Subwords` of the target text.
        seed: Integer or None: of the initial weights; from Keras' global seed if None.
        **overrides: Model options that differ, such as `units=256`: see `building.new_model`.

    Returns:
        A `Seq2Seq`, not yet compiled.
    """
    from keras_bahdanau.training.presets import building, initial_weights

    model = building.new_model(source, target, "luong-local", overrides)
    return initial_weights.draw_as_luong(model, seed)
