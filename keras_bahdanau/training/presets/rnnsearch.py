"""The models of Bahdanau, Cho and Bengio 2015: with attention, and without."""

RNNSEARCH = {
    "vocabulary_size": 30_000,
    "model_type": "word",
    "joint": False,
    "max_length": 51,  # 50 words and the end token
    "embedding_units": 620,
    "units": 1000,
    "cell": "gru-reset-before",
    "bridge": "backward",
    "readout": "maxout",
    "readout_units": lambda options: max(1, options.units // 2),
    "readout_state": lambda options: "previous" if options.when == "before" else "current",
    "batch_sentences": lambda options: 0 if options.batch_tokens else 80,
    "epochs": 5,
    "optimizer": "adadelta",
    "learning_rate": 1.0,
    "clip_norm": 1.0,
}
RNNENCDEC = {
    **RNNSEARCH,
    "attention": "none",
    "encoder": "unidirectional",
    "bridge": "last",
}


def rnnsearch(source, target, seed=None, **overrides):
    """RNNsearch, of Bahdanau et al. 2015, as its appendices A and B have it.

    Encoder (A.2.1), in each direction, h_j = [forward_j; backward_j], 1000 units each:

        h_j  = (1 - z_j) * h_{j-1} + z_j * h~_j,   h_0 = 0
        h~_j = tanh(W E x_j + U (r_j * h_{j-1}))
        z_j  = sigmoid(W_z E x_j + U_z h_{j-1}),   r_j = sigmoid(W_r E x_j + U_r h_{j-1})

    Alignment (A.1.2, A.2.2), 1000 units:

        c_i  = sum_j alpha_ij h_j,   alpha_i = softmax(e_i)
        e_ij = v_a^T tanh(W_a s_{i-1} + U_a h_j)

    Decoder (A.1.1, A.2.2), 1000 units, a maxout layer of 500 that reads s_{i-1}:

        s_i  = (1 - z_i) * s_{i-1} + z_i * s~_i,   s_0 = tanh(W_s backward_1)
        s~_i = tanh(W E y_{i-1} + U (r_i * s_{i-1}) + C c_i)
        z_i  = sigmoid(W_z E y_{i-1} + U_z s_{i-1} + C_z c_i),   r_i likewise
        t~_i = U_o s_{i-1} + V_o E y_{i-1} + C_o c_i
        t_i  = [max(t~_{i,2j-1}, t~_{i,2j})],   p(y_i) = softmax(W_o t_i)

    The gate z here is 1 - z there, as everywhere in Keras: the same function, with the
    signs of W_z, U_z, C_z and b_z turned. First weights: see
    `initial_weights.draw_as_bahdanau`.

    Training (B.2): Adadelta with rho 0.95 and epsilon 1e-6, gradients of at most length 1,
    batches of 80 sentences, 20 of them sorted by length at a time, up to 50 words, the 30,000
    most frequent words of each language. A loss is the sum over a sentence's tokens, and
    the mean over sentences. Five epochs are what the longest of their runs had (table 2).

    Args:
        source: A `Source`, or the `Subwords` of the source text: the size and the front end.
        target: The `Subwords` of the target text.
        seed: Integer or None: of the initial weights; from Keras' global seed if None.
        **overrides: Model options that differ, such as `units=256`: see `building.new_model`.

    Returns:
        A `Seq2Seq`, not yet compiled.
    """
    from keras_bahdanau.training.presets import building, initial_weights

    model = building.new_model(source, target, "rnnsearch", overrides)
    return initial_weights.draw_as_bahdanau(model, seed)


def rnnencdec(source, target, seed=None, **overrides):
    """RNNencdec, of Cho et al. 2014, as Bahdanau et al. 2015 compare with it.

    "The model becomes RNN Encoder-Decoder if we fix c_i to forward_n" (A.2.2): a decoder
    as in `rnnsearch`, with

        c_i = forward_n,   s_0 = tanh(W_s forward_n)

    where forward_n is the last state of an encoder that reads from left to right. All sizes,
    initial weights and the training are those of `rnnsearch`.

    Args:
        source: A `Source`, or the `Subwords` of the source text: the size and the front end.
        target: The `Subwords` of the target text.
        seed: Integer or None: of the initial weights; from Keras' global seed if None.
        **overrides: Model options that differ, such as `units=256`: see `building.new_model`.

    Returns:
        A `Seq2Seq`, not yet compiled.
    """
    from keras_bahdanau.training.presets import building, initial_weights

    model = building.new_model(source, target, "rnnencdec", overrides)
    return initial_weights.draw_as_bahdanau(model, seed)
