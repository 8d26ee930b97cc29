"""Characters to characters: pronunciation, transliteration, inflection."""

from keras_bahdanau.training.combinations import in_order_of_letters, is_hard
from keras_bahdanau.training.presets.small import SMALL

CHARACTERS = {
    **SMALL,
    "model_type": "auto",  # phonemes and letters with spaces between, or characters
    "normalization": "auto",  # Hangul in letters, else none: NFKC makes "th" of the aspirated tʰ
    "embedding_units": 128,
    "units": 240,  # in 8 bits a file of less than a megabyte
    "attention_units": 128,
    "hard_alignment": "auto",  # monotonic from letters to phonemes, else soft
    "when": lambda options: "apart" if is_hard(options) else "before",
    "query": "state,embedding",
    "dropout": 0.3,
    "word_dropout": 0.0,  # a character that is dropped can't be copied
    "batch_tokens": 0,
    "batch_sentences": lambda options: 0 if options.batch_tokens else 32,
    "learning_rate": 1e-3,
    "epochs": 40,
    "epoch_steps": 500,
    "patience": 20,  # 10,000 batches at least
    "best_by": "exact",
}
OF_MANY_PAIRS = {
    20_000: {"dropout": 0.2, "batch_sentences": 64, "learning_rate": 1.5e-3},
    # a word has few pronunciations, a name many spellings
    100_000: {"dropout": lambda options: 0.08 if in_order_of_letters(options) else 0.2},
}
OF_COMMON_LETTERS = {"unknown_rate": 0.2}  # a new stem can have a letter that no pair has


def characters(source, target, **overrides):
    """Attention over the characters of a word, in about 850,000 weights.

    h_j  = [GRU(e(x_1) ... e(x_j)); GRU(e(x_n) ... e(x_j))]
    s_0  = tanh(W mean_j h_j + b)
    e_ij = v^T tanh(W_a [s_{i-1}; e(y_{i-1})] + U_a h_j)
    s_i  = GRU(s_{i-1}, [e(y_{i-1}); c_i]),   c_i = sum_j softmax(e_i)_j h_j
    p(y_i) = softmax(E tanh(W_t [s_i; c_i; e(y_{i-1})] + b_t))

    The toolkits for such tasks have the same parts: one bidirectional encoder, embeddings of 128
    to 200, attention before the cell, dropout 0.2 to 0.4, Adam with 0.001, batches of 20 to 32
    (Wu and Cotterell 2019; the defaults of yoyodyne). Here the query has the last character, too:
    a word is written from left to right, and the state before the cell does not know which
    character was the last. The conditional GRU of the preset "small" does, by a second cell as
    large as the first; this one fits a file of a megabyte in 8 bits.

    Batches stay small, since only Transformers need large ones for characters (Wu, Cotterell and
    Hulden 2021). An epoch has at least 500 batches, as long as the moving average reaches, so
    that epochs, patience and schedule mean the same at 800 pairs, which an epoch passes over 20
    times, and at 100,000, which it passes over once. The best epoch is the one with the most
    exact texts: they become more long after the perplexity has begun to rise. More than 20,000
    pairs take less dropout, batches of 64 and a learning rate as much higher: of 108,000 words and
    their pronunciations 63.5 % are exact after 3 epochs of soft attention, and 55.5 % with dropout
    0.3 and 0.001. More than 100,000 of words and phonemes take still less.

    Source and target share one vocabulary where both are characters, as in inflection, which
    copies most of them. A side of single symbols with spaces between, such as phonemes, has a
    vocabulary of these, which `model_types.model_type_of` finds from the text; scripts whose
    marks belong to letters take `--model-type grapheme`. From letters to such symbols, of few
    pairs, `train` takes exact hard attention: see `hard_alignments.with_hard_alignment`. Hangul
    syllables are read and written letter by letter, for a new word may have a syllable that no
    other had. Up to 5,000 pairs whose sides share their letters, such as lemmas and forms, have
    unknown characters: see `common_letters`.

    Args:
        source: The `Subwords` of the source, or a `Source`.
        target: The `Subwords` of the target text.
        **overrides: Model options that differ, such as `units=128`: see `building.new_model`.

    Returns:
        A `Seq2Seq`, not yet compiled.
    """
    from keras_bahdanau.training.presets.building import new_model

    return new_model(source, target, "characters", overrides)
