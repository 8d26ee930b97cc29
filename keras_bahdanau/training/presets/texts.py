"""Presets for text, in addition to "small": for characters, and with Transformer encoders."""

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
        "model_type": AUTO,  # symbols separated by spaces, such as phonemes, or characters
        "normalization": AUTO,  # "nfd" for Hangul, else "none": NFKC turns the aspirated tʰ into th
        "embedding_units": 128,
        "units": 240,  # for a file of less than a megabyte in 8 bits
        "attention_units": 128,
        "hard_alignment": AUTO,  # monotonic from letters to phonemes, otherwise soft
        "when": lambda options: "apart" if is_hard(options) else "before",
        "query": "state,embedding",
        "dropout": 0.3,
        "word_dropout": 0.0,  # a character that is dropped can't be copied
        "batch_tokens": 0,
        "batch_sentences": sentences(32),
        "learning_rate": 1e-3,
        "epochs": 40,
        "epoch_steps": 500,
        "patience": 20,  # which is at least 10,000 batches
        "best_by": "exact",
    },
    many_pairs={
        20_000: {"dropout": 0.2, "batch_sentences": 64, "learning_rate": 1.5e-3},
        # a word has few pronunciations, but a name has many spellings
        100_000: {"dropout": lambda options: 0.08 if maps_letters_to_symbols(options) else 0.2},
    },
    common_letters={"unknown_rate": 0.2},  # a new stem can have a letter that is in no pair
    equations="""Attention over the characters of a word, with about 850,000 weights.

    h_j  = [GRU(e(x_1) ... e(x_j)); GRU(e(x_n) ... e(x_j))]
    s_0  = tanh(W mean_j h_j + b)
    e_ij = v^T tanh(W_a [s_{i-1}; e(y_{i-1})] + U_a h_j)
    s_i  = GRU(s_{i-1}, [e(y_{i-1}); c_i]),   c_i = sum_j softmax(e_i)_j h_j
    p(y_i) = softmax(E tanh(W_t [s_i; c_i; e(y_{i-1})] + b_t))

    This preset is for pronunciation, transliteration and inflection. Toolkits for such tasks use
    similar settings: one bidirectional encoder, embeddings of 128 to 200 units, attention before
    the cell, dropout of 0.2 to 0.4, Adam with a learning rate of 0.001, and batches of 20 to 32
    (Wu and Cotterell 2019; the defaults of yoyodyne). Here, the query also contains the embedding
    of the previous character, because the state before the cell does not depend on it yet. The
    conditional GRU of the preset "small" solves this with a second cell as large as the first;
    this model instead fits into a file of one megabyte in 8 bits.

    Batches are small, because only Transformers need large batches for characters (Wu, Cotterell
    and Hulden 2021). An epoch has at least 500 batches, the range of the moving average. Epochs,
    patience and schedule therefore mean the same for 800 pairs, where an epoch makes 20 passes,
    and for 100,000 pairs, where it makes one. The best epoch is the one with the most exact
    outputs, because their number keeps growing long after the perplexity has begun to rise. For
    more than 20,000 pairs, there is less dropout, batches have 64 pairs, and the learning rate is
    higher. With 108,000 words and their pronunciations, 63.5% of the outputs are then exact
    after 3 epochs with soft attention, compared with 55.5% with dropout 0.3 and learning rate
    0.001. For more than 100,000 pairs of words and phonemes, there is still less dropout.

    Source and target share one vocabulary if both consist of characters, as in inflection, which
    copies most characters. `training.infer` infers other options from the pairs. A side of single
    symbols separated by spaces, such as phonemes, gets a vocabulary of these symbols. With few
    pairs of letters and such symbols, attention is exact and hard. Hangul syllables are split
    into letters, because a new word may contain a new syllable. For up to 5,000 pairs whose sides
    have many letters in common, such as lemmas and inflected forms, the model learns to copy
    unknown characters. For scripts with combining marks, use `--model-type grapheme`.""",
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
    equations="""A Transformer encoder with a decoder of simpler simple recurrent units (SSRU).

    h   = Transformer(e(x_1) ... e(x_n))                     `layers.SelfAttentionReader`
    s   = sqrt(d) (W_e e(y_{i-1}) + b_e), and in each block  `layers.BlockCell`, d units
        f   = sigmoid(W_f LN(s) + b_f)                       an SSRU: `layers.SSRUCell`
        u_i = f * u_{i-1} + (1 - f) * (W LN(s) + b)
        s'  = s + max(0, u_i)
        c_i = sum_j alpha_ij h_j                             alpha_i from LN(s')
        s"  = s' + W_c c_i
        s   = s" + FFN(LN(s"))
    p(y_i) = softmax(E LN(s))

    An encoder with `encoder="bidirectional"` and `encoder_cell="ssru"` also runs in parallel over
    time.

    This is the architecture of the models that translate in Firefox, described by Kim et al. 2019
    ("From research to production and back") and Bogoychev et al. 2020 ("Edinburgh's submissions
    to the 2020 machine translation efficiency task"). The encoder reads all tokens in parallel,
    and a decoder step needs only one vector per block from the earlier steps. Here, normalization
    comes before each sublayer, and the embedding E is also the output layer if both have the same
    width. In training, no matrix product depends on the previous step.""",
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

    The encoder and decoder have four blocks each, with 128 units, four heads and 256 inner units,
    as Wu et al. 2021 ("Good for misconceived reasons") chose for Multi30K. They report 41.02 BLEU
    on its 2016 test set, English to German.

    h   = Transformer(e(x_1) ... e(x_n))                     `layers.SelfAttentionReader`
    s   = sqrt(d) (W_e e(y_{i-1}) + b_e) + p_i               p_i: position; in each block
        s'  = s + A(LN(s))                                   A: `layers.SelfAttentionCell`, over
        c_i = sum_j alpha_ij h_j                             the tokens so far; alpha_i from LN(s')
        s"  = s' + W_c c_i                                   `layers.BlockCell`, d units
        s   = s" + FFN(LN(s"))
    p(y_i) = softmax(E LN(s))

    This is the model of Vaswani et al. 2017, with normalization before each sublayer. It is
    trained with the settings of `ssru_student`.""",
)
