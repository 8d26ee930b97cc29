"""A Transformer that reads; a recurrence or a Transformer that writes."""

import math

SSRU_STUDENT = {
    "vocabulary_size": 6000,
    "embedding_units": 256,
    "units": 256,
    "encoder_units": lambda options: options.units,
    "encoder": "transformer",
    "depth": 4,
    "when": "blocks",
    "cell": "ssru",
    "decoder_depth": 2,
    "heads": lambda options: math.gcd(4, options.units, options.encoder_units),
    "feed_forward_units": lambda options: 2 * options.units,
    "attention": "scaled-dot",
    "bridge": "zeros",
    "readout": "plain",
    "tie_embeddings": lambda options: options.units == options.embedding_units,
    "dropout": 0.3,
    "embedding_dropout": lambda options: options.dropout,
    "word_dropout": lambda options: round(options.dropout / 3, 3),
    "label_smoothing": 0.1,
    "loss_mean": "tokens",
    "batch_tokens": lambda options: 0 if options.batch_sentences else 1500,
    "epochs": 54,
    "learning_rate": 2e-3,
    "schedule": "cosine",
    "warmup": 0.05,
    "ema_momentum": lambda options: 0.998 if options.optimizer == "adam" else 0.0,
}


TRANSFORMER_TINY = {
    **SSRU_STUDENT,
    "embedding_units": 128,
    "units": 128,
    "cell": "self-attention",
    "decoder_depth": 4,
}


def ssru_student(source, target, **overrides):
    """A Transformer encoder under a decoder of simpler simple recurrent units.

    h   = Transformer(e(x_1) ... e(x_n))                     `layers.SelfAttentionReader`
    s   = sqrt(d) (W_e e(y_{i-1}) + b_e), and in each block  `layers.BlockCell`, d units
        f   = sigmoid(W_f LN(s) + b_f)                       an SSRU: `layers.SSRUCell`
        u_i = f * u_{i-1} + (1 - f) * (W LN(s) + b)
        s'  = s + max(0, u_i)
        c_i = sum_j alpha_ij h_j                             alpha_i from LN(s')
        s"  = s' + W_c c_i
        s   = s" + FFN(LN(s"))
    p(y_i) = softmax(E LN(s))

    `encoder="bidirectional"` with `encoder_cell="ssru"` has parallel recurrences that read, too.

    The shape of the models that translate in Firefox, as Kim et al. 2019 ("From research to
    production and back") and Bogoychev et al. 2020 ("Edinburgh's submissions to the 2020
    machine translation efficiency task") describe it: the encoder reads all tokens at once, and a
    step of the decoder needs no earlier steps but one vector a block. Here each sublayer is
    normalized before it, and the embedding E also is the output layer where both have one width.
    In training no product waits for the step before.

    Args:
        source: A `Source`, or the `Subwords` of the source text: the size and the front end.
        target: The `Subwords` of the target text.
        **overrides: Model options that differ, such as `units=128`: see `building.new_model`.

    Returns:
        A `Seq2Seq`, not yet compiled.
    """
    from keras_bahdanau.training.presets.building import new_model

    return new_model(source, target, "ssru-student", overrides)


def transformer_tiny(source, target, **overrides):
    """The small Transformer that peers are compared by.

    Four blocks of 128 units, four heads and 256 inner units on each side, as Wu et al. 2021
    ("Good for misconceived reasons") chose them for Multi30K: 41.02 BLEU on its test of 2016,
    English to German.

    h   = Transformer(e(x_1) ... e(x_n))                     `layers.SelfAttentionReader`
    s   = sqrt(d) (W_e e(y_{i-1}) + b_e) + p_i               p_i: position; in each block
        s'  = s + A(LN(s))                                   A: `layers.SelfAttentionCell`, over
        c_i = sum_j alpha_ij h_j                             the tokens so far; alpha_i from LN(s')
        s"  = s' + W_c c_i                                   `layers.BlockCell`, d units
        s   = s" + FFN(LN(s"))
    p(y_i) = softmax(E LN(s))

    The model of Vaswani et al. 2017, normalized before each sublayer. The settings of its
    training are those of `ssru_student`.

    Args:
        source: A `Source`, or the `Subwords` of the source text: the size and the front end.
        target: The `Subwords` of the target text.
        **overrides: Model options that differ: see `building.new_model`.

    Returns:
        A `Seq2Seq`, not yet compiled.
    """
    from keras_bahdanau.training.presets.building import new_model

    return new_model(source, target, "transformer-tiny", overrides)
