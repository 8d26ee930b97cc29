"""Options of what is trained: parts of an adapted model, the loss, and the batches."""

import dataclasses

from keras_bahdanau.settings.limits import LENGTH
from keras_bahdanau.settings.option import integer, names, number, one_of
from keras_bahdanau.training.options.declaring import RATE, WEIGHT, of_training


@dataclasses.dataclass(frozen=True, kw_only=True)
class LossOptions:
    """The model that a training begins with, its loss, and its batches."""

    freeze: str | None = of_training(
        names(100),
        "Parts of an adapted model that stay as they are, by the names of layers, such as "
        "encoder,embeddings.",
        "",
    )
    update_vocabulary: str | None = of_training(
        one_of("none", "append", "replace"),
        "Vocabularies of an adapted model: {choices}: its own, its own with pieces of the new "
        "text behind them, or new ones, in which the pieces that both have keep their weights.",
        "none",
    )
    appended_pieces: int | None = of_training(
        integer(1, 100_000), "Most pieces that update_vocabulary appends to a vocabulary.", 1000
    )

    temperature: float | None = of_training(
        number(1, 1000),
        "Temperature T of several corpora without weights: each has a share of the batches in "
        "proportion to its size to the power of 1/T. 1 is once an epoch for each pair; a higher "
        "one lifts the small corpora.",
        1.0,
    )
    label_smoothing: float | None = of_training(
        RATE, "Probability that is spread over all tokens alike.", 0.0
    )
    word_distillation: float | None = of_training(
        number(0, 1),
        "Share of the loss by which the student learns the teacher's distribution of each token "
        "(word-level knowledge distillation), such as 0.8; 0 for none.",
        0.0,
    )
    l2: float | None = of_training(
        WEIGHT, "Factor of the sum of all squared weights, which is added to the loss.", 0.0
    )
    weight_decay: float | None = of_training(
        WEIGHT,
        "Part of each weight, times the learning rate, that each step takes off beside the loss; "
        "embeddings, biases and norms keep theirs.",
        0.0,
    )
    loss_mean: str | None = of_training(
        one_of("tokens", "sentences"),
        'Unit that the loss is the mean over: "tokens", or "sentences", each with the sum of its '
        "tokens' losses, as in the papers.",
        "sentences",
    )
    batch_tokens: int | None = of_training(
        integer(0, 1_000_000),
        "Positions of a batch, padding included; 0 with batch_sentences.",
        0,
    )
    batch_sentences: int | None = of_training(
        integer(0, 10_000),
        "Pairs of a batch, 20 such batches sorted by length at a time; 0 with batch_tokens.",
        0,
    )
    buckets: int | None = of_training(
        integer(1, 1000),
        "Number of different lengths of batches, with batch_tokens: more of them have less "
        "padding, and XLA compiles once for each.",
        lambda options: 7 if options.jit_compile else 16,
    )
    accumulate: int | None = of_training(
        integer(1, 1024),
        "Number of parts of each batch that are computed one after another, for batches that do "
        "not fit in memory: the gradient is that of the whole batch.",
        1,
    )
    max_length: int | None = of_training(
        LENGTH, "Most tokens on a side; longer pairs are left out, and counted.", 128
    )
    max_source_length: int | None = of_training(
        integer(0, 100_000),
        "Most positions of a source, likewise; 0 for max_length where it is text, else for "
        "the source's own limit.",
        0,
    )
