"""The text-only baseline of WMT17's multimodal task."""

CONDITIONAL_GRU = {
    "vocabulary_size": 10_000,
    "share_embeddings": False,
    "embedding_units": 128,
    "units": 256,
    "encoder_cell": "layer-norm-gru",
    "when": "between",
    "dropout": 0.5,
    "embedding_dropout": 0.3,
    "l2": 1e-5,
    "batch_sentences": lambda options: 0 if options.batch_tokens else 32,
    "epochs": 100,
    "learning_rate": 4e-4,
    "patience": 10,
}


def conditional_gru(source, target, **overrides):
    """The monomodal baseline of Caglayan et al. 2017 ("LIUM-CVC submissions for WMT17").

    h_j  = [LNGRU(e(x_1) ... e(x_j)); LNGRU(e(x_n) ... e(x_j))]       (layer normalization)
    s_0  = tanh(W mean_j h_j + b)
    s'_i = GRU_1(s_{i-1}, e(y_{i-1}))
    c_i  = sum_j alpha_ij h_j,   alpha_i = softmax(v^T tanh(W_a s'_i + U_a h_j))
    s_i  = GRU_2(s'_i, c_i)                       (the conditional GRU of Sennrich et al. 2017)
    p(y_i) = softmax(W_o tanh(W_t [s_i; c_i; e(y_{i-1})] + b_t) + b_o)

    256 units, 256 for each direction of the encoder, embeddings of 128, none of them shared.

    Training: Glorot's first weights, Adam with rate 4e-4, an L2 penalty of 1e-5 on all
    weights, gradients of at most length 5, batches of 32 sentences, a joint BPE
    vocabulary of 10,000, until ten validations bring nothing better. A loss is the sum over a
    sentence's tokens, and the mean over sentences.

    Dropout is 0.3 on embeddings and 0.5 on values and readout.

    Differences: their dropout is on the source's embeddings alone, not on the target's. Validation
    is once an epoch, by perplexity, and not by METEOR every 1000 steps; their text is
    tokenized and lower-case.

    Args:
        source: A `Source`, or the `Subwords` of the source text: the size and the front end.
        target: The `Subwords` of the target text.
        **overrides: Model options that differ, such as `units=128`: see `building.new_model`.

    Returns:
        A `Seq2Seq`, not yet compiled.
    """
    from keras_bahdanau.training.presets.building import new_model

    return new_model(source, target, "conditional-gru", overrides)
