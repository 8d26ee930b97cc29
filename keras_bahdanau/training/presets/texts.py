"""Presets of this package for text: characters, and Transformer encoders."""

import math

from keras_bahdanau.training.presets.preset import (
    AUTO,
    SMALL,
    Preset,
    is_hard,
    maps_letters_to_symbols,
    sentences,
    share_of_dropout,
)

CHARACTERS = Preset(
    name="characters",
    settings={
        **SMALL.settings,
        "model_type": AUTO,  # phonemes and letters with spaces between, or characters
        "normalization": AUTO,  # Hangul in letters, else none: NFKC makes "th" of the aspirated tʰ
        "embedding_units": 128,
        "units": 240,  # a file of less than a megabyte in 8 bits
        "attention_units": 128,
        "hard_alignment": AUTO,  # monotonic from letters to phonemes, else soft
        "when": lambda options: "apart" if is_hard(options) else "before",
        "query": "state,embedding",
        "dropout": 0.3,
        "word_dropout": 0.0,  # a character that is dropped can't be copied
        "batch_tokens": 0,
        "batch_sentences": sentences(32),
        "learning_rate": 1e-3,
        "epochs": 40,
        "epoch_steps": 500,
        "patience": 20,  # at least 10,000 batches
        "best_by": "exact",
    },
    many_pairs={
        20_000: {"dropout": 0.2, "batch_sentences": 64, "learning_rate": 1.5e-3},
        # a word has few pronunciations, a name many spellings
        100_000: {"dropout": lambda options: 0.08 if maps_letters_to_symbols(options) else 0.2},
    },
    common_letters={"unknown_rate": 0.2},  # a new stem can have a letter that no pair has
    equations="""Attention over the characters of a word, in about 850,000 weights.

    h_j  = [GRU(e(x_1) ... e(x_j)); GRU(e(x_n) ... e(x_j))]
    s_0  = tanh(W mean_j h_j + b)
    e_ij = v^T tanh(W_a [s_{i-1}; e(y_{i-1})] + U_a h_j)
    s_i  = GRU(s_{i-1}, [e(y_{i-1}); c_i]),   c_i = sum_j softmax(e_i)_j h_j
    p(y_i) = softmax(E tanh(W_t [s_i; c_i; e(y_{i-1})] + b_t))

    For pronunciation, transliteration and inflection. The toolkits for such tasks have the same
    parts: one bidirectional encoder, embeddings of 128 to 200, attention before the cell, dropout
    0.2 to 0.4, Adam with 0.001, batches of 20 to 32 (Wu and Cotterell 2019; the defaults of
    yoyodyne). Here the query also has the last character: a word is written from left to right,
    and the state before the cell does not know which character was the last. The conditional GRU
    of the preset "small" knows it by a second cell as large as the first; this model fits a file
    of a megabyte in 8 bits.

    Batches stay small, since only Transformers need large ones for characters (Wu, Cotterell and
    Hulden 2021). An epoch has at least 500 batches, the reach of the moving average, so that
    epochs, patience and schedule mean the same at 800 pairs, which an epoch passes over 20
    times, and at 100,000, which it passes over once. The best epoch is the one with the most
    exact texts: their number still grows long after the perplexity has begun to rise. More than
    20,000 pairs take less dropout, batches of 64 and a learning rate as much higher: of 108,000
    words and their pronunciations 63.5 % are exact after 3 epochs of soft attention, and 55.5 %
    with dropout 0.3 and 0.001. More than 100,000 pairs of words and phonemes take still less.

    Source and target share one vocabulary where both are characters, as in inflection, which
    copies most of them. `training.infer` infers the rest from the pairs: a vocabulary of symbols
    for a side of single symbols with spaces between, such as phonemes; exact hard attention from
    letters to such symbols, of few pairs; letters for Hangul syllables, since a new word may have
    a syllable that no other had; and unknown characters for up to 5,000 pairs whose sides share
    their letters, such as lemmas and forms. Scripts whose marks belong to letters take
    `--model-type grapheme`.""",
)

SSRU_STUDENT = Preset(
    name="ssru-student",
    settings={
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
        "word_dropout": share_of_dropout(1 / 3),
        "label_smoothing": 0.1,
        "loss_mean": "tokens",
        "batch_tokens": lambda options: 0 if options.batch_sentences else 1500,
        "epochs": 54,
        "learning_rate": 2e-3,
        "schedule": "cosine",
        "warmup": 0.05,
        "ema_momentum": lambda options: 0.998 if options.optimizer == "adam" else 0.0,
    },
    equations="""A Transformer encoder under a decoder of simpler simple recurrent units.

    h   = Transformer(e(x_1) ... e(x_n))                     `layers.SelfAttentionReader`
    s   = sqrt(d) (W_e e(y_{i-1}) + b_e), and in each block  `layers.BlockCell`, d units
        f   = sigmoid(W_f LN(s) + b_f)                       an SSRU: `layers.SSRUCell`
        u_i = f * u_{i-1} + (1 - f) * (W LN(s) + b)
        s'  = s + max(0, u_i)
        c_i = sum_j alpha_ij h_j                             alpha_i from LN(s')
        s"  = s' + W_c c_i
        s   = s" + FFN(LN(s"))
    p(y_i) = softmax(E LN(s))

    `encoder="bidirectional"` with `encoder_cell="ssru"` reads by parallel recurrences, too.

    The shape of the models that translate in Firefox, as Kim et al. 2019 ("From research to
    production and back") and Bogoychev et al. 2020 ("Edinburgh's submissions to the 2020
    machine translation efficiency task") describe it: the encoder reads all tokens at once, and a
    step of the decoder needs one vector a block from the earlier steps. Here each sublayer is
    normalized before it, and the embedding E is also the output layer where both have one width.
    In training no product waits for the step before.""",
)

TRANSFORMER_TINY = Preset(
    name="transformer-tiny",
    settings={
        **SSRU_STUDENT.settings,
        "embedding_units": 128,
        "units": 128,
        "cell": "self-attention",
        "decoder_depth": 4,
    },
    equations="""The small Transformer that papers on Multi30K compare with.

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
    training are those of `ssru_student`.""",
)
