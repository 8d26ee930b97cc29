"""The package's own default."""

from keras_bahdanau.presets.building import new_model


def small(tokenizer, **overrides):
    """Bahdanau's attention between two GRUs, for tens of thousands of sentence pairs.

    h_j  = [GRU(e(x_1) ... e(x_j)); GRU(e(x_n) ... e(x_j))]
    s_0  = tanh(W mean_j h_j + b)
    s'_i = GRU_1(s_{i-1}, e(y_{i-1}))
    c_i  = sum_j alpha_ij h_j,   alpha_i = softmax(v^T tanh(W_a s'_i + U_a h_j))
    s_i  = GRU_2(s'_i, c_i)
    p(y_i) = softmax(E tanh(W_t [s_i; c_i; e(y_{i-1})] + b_t))

    Beside the paper (Bahdanau et al. 2015) what asks has read the last token (Sennrich et
    al. 2017; `when="before"` is the paper's own step), it starts from the mean of the
    annotations, reads out s_i by a tanh layer, and the embedding E also is the output
    layer (Press and Wolf 2017); where source and target have one vocabulary, they share
    it: three uses of one matrix. It is trained with label smoothing, dropout, Adam, and a
    moving average of the weights. `examples/multi30k/RESULTS.md` tells how it was chosen.

    Args:
        tokenizer: A `Tokenizer`; it says how large the vocabularies are.
        **overrides: What is to differ, such as `units=256`: see `building.new_model`.

    Returns:
        A `Seq2Seq`, not yet compiled.
    """
    return new_model(tokenizer, "small", overrides)
