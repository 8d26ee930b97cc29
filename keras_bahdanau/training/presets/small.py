"""The package's own default."""

from keras_bahdanau.training.combinations import UNDROPPED_CELLS, is_hard


def _when(options):
    if is_hard(options):
        return "apart"
    return "before" if options.readout_state == "previous" else "between"


def _recurrent_dropout(options):
    if {options.cell, options.encoder_cell} & {*UNDROPPED_CELLS}:
        return 0.0
    return round(4 / 9 * options.dropout, 3)


SMALL = {
    "vocabulary_size": 6000,
    "embedding_units": 256,
    "units": 512,
    "encoder_units": lambda options: max(1, options.units // 2),
    "attention_units": 256,
    "when": _when,
    "tie_embeddings": lambda options: options.readout_units == options.embedding_units,
    "dropout": 0.45,  # and in proportion to it, so that without it there is none of any kind
    "embedding_dropout": lambda options: round(2 / 3 * options.dropout, 3),
    "recurrent_dropout": _recurrent_dropout,
    "word_dropout": lambda options: round(2 / 9 * options.dropout, 3),
    "label_smoothing": 0.1,
    "loss_mean": "tokens",
    "batch_tokens": lambda options: 0 if options.batch_sentences else 1500,
    "epochs": 54,  # an hour and a half for Multi30K on two cores
    "learning_rate": 2e-3,
    "schedule": "cosine",
    "warmup": 0.02,
    "ema_momentum": lambda options: 0.998 if options.optimizer == "adam" else 0.0,
}


def small(source, target, **overrides):
    """Bahdanau's attention between two GRUs, for tens of thousands of sentence pairs.

    h_j  = [GRU(e(x_1) ... e(x_j)); GRU(e(x_n) ... e(x_j))]
    s_0  = tanh(W mean_j h_j + b)
    s'_i = GRU_1(s_{i-1}, e(y_{i-1}))
    c_i  = sum_j alpha_ij h_j,   alpha_i = softmax(v^T tanh(W_a s'_i + U_a h_j))
    s_i  = GRU_2(s'_i, c_i)
    p(y_i) = softmax(E tanh(W_t [s_i; c_i; e(y_{i-1})] + b_t))

    In contrast to the paper (Bahdanau et al. 2015) the query has read the last token (Sennrich
    et al. 2017; `when="before"` is the paper's own step), it starts from the mean of the
    annotations, reads out s_i by a tanh layer, and the embedding E also is the output
    layer (Press and Wolf 2017); where source and target have one vocabulary, they share
    it: three uses of one matrix. It is trained with label smoothing, dropout, Adam, and a
    moving average of the weights. `examples/multi30k/RESULTS.md` reports how it was chosen.

    Args:
        source: A `Source`, or the `Subwords` of the source text: the size and the front end.
        target: The `Subwords` of the target text.
        **overrides: Model options that differ, such as `units=256`: see `building.new_model`.

    Returns:
        A `Seq2Seq`, not yet compiled.
    """
    from keras_bahdanau.training.presets.building import new_model

    return new_model(source, target, "small", overrides)
