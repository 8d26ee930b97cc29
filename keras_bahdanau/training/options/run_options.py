"""Options for a training run: batches, loss, optimizer, time, and choice of the best epoch."""

import dataclasses
import functools

from keras_bahdanau.evaluation.corpus_metrics import METRICS
from keras_bahdanau.settings.limits import HARD_VOCABULARY_SIZE, LENGTH, PRECISIONS
from keras_bahdanau.settings.option import flag, integer, names, number, one_of
from keras_bahdanau.training.options.text_options import RATE, WEIGHT, training_field

COUNT = integer(1, 1_000_000)
first_field = functools.partial(training_field, heading=None)
data_field = functools.partial(training_field, heading="Data")
adaptation_field = functools.partial(training_field, heading="Adaptation")
run_field = functools.partial(training_field, heading="Run")
TOKENIZATIONS = (
    *("13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none"),
    *("spm", "flores101", "flores200"),
)
_JUDGE = one_of(
    "perplexity", *(name for name, metric in METRICS.items() if metric.nbest == 1)
)._replace(
    advice=dict.fromkeys(
        (name for name, metric in METRICS.items() if metric.nbest > 1),
        "Validation decodes greedily, one output per source, but top-k accuracy needs several. "
        "Use 'exact', and measure top-k accuracy of the trained model with `evaluate`.",
    )
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Training options that do not affect the model's architecture."""

    freeze: str | None = adaptation_field(
        names(100),
        "Parts of a fine-tuned model whose weights are kept unchanged: names of layers, such as "
        "encoder,embeddings.",
        "",
    )
    update_vocabulary: str | None = adaptation_field(
        one_of("none", "append", "replace"),
        'How to update the vocabularies of a fine-tuned model: {choices}. "append" adds pieces '
        'from the new text. "replace" learns new vocabularies from that text; pieces that are also '
        "in the old vocabularies keep their weights.",
        "none",
    )
    appended_pieces: int | None = adaptation_field(
        integer(1, 100_000),
        "Maximum number of pieces that update_vocabulary=append adds to each vocabulary.",
        1000,
    )

    temperature: float | None = training_field(
        number(1, 1000),
        "Temperature T for mixing several corpora without weights. A corpus's share of the batches "
        "is proportional to its size to the power of 1/T. With 1, each pair occurs once per epoch; "
        "higher values increase the share of small corpora.",
        1.0,
    )
    label_smoothing: float | None = training_field(
        RATE, "Probability mass spread uniformly over the vocabulary.", 0.0
    )
    word_distillation: float | None = training_field(
        number(0, 1),
        "Fraction of the loss that trains the student to match the teacher's distribution over "
        "each token (word-level knowledge distillation), such as 0.8; 0 for none.",
        0.0,
    )
    l2: float | None = training_field(
        WEIGHT, "Coefficient of the L2 penalty (sum of squared weights) in the loss.", 0.0
    )
    weight_decay: float | None = training_field(
        WEIGHT,
        "Decoupled weight decay: each step reduces a weight by this fraction of it, multiplied by "
        "the learning rate. Embeddings, biases and normalization gains are exempt.",
        0.0,
    )
    loss_mean: str | None = training_field(
        one_of("tokens", "sentences"),
        'How to average the loss: over "tokens"; or over "sentences", after summing over the '
        "tokens of each sentence, as in the papers.",
        "sentences",
    )
    batch_tokens: int | None = training_field(
        integer(0, 1_000_000),
        "Number of positions per batch, including padding. Use 0 with batch_sentences.",
        0,
    )
    batch_sentences: int | None = training_field(
        integer(0, 10_000),
        "Number of pairs per batch. The pairs of 20 batches at a time are sorted by length. Use 0 "
        "with batch_tokens.",
        0,
    )
    buckets: int | None = run_field(
        integer(1, 1000),
        "Number of different batch lengths, with batch_tokens. More lengths need less padding, but "
        "XLA compiles the training step once for each length.",
        lambda options: 7 if options.jit_compile else 16,
    )
    accumulate: int | None = run_field(
        integer(1, 1024),
        "Number of parts into which each batch is split, for batches that don't fit in memory. The "
        "parts are computed one after another; the gradient is that of the whole batch.",
        1,
    )
    max_length: int | None = data_field(
        LENGTH,
        "Maximum number of tokens on either side. Longer pairs are skipped and counted.",
        128,
    )
    max_source_length: int | None = data_field(
        integer(0, 100_000),
        "Maximum number of positions in a source; pairs with longer sources are skipped. 0 means "
        "max_length for text, and the source's own limit otherwise.",
        0,
    )

    epochs: int | None = training_field(
        COUNT,
        "Maximum number of epochs. An epoch is one pass over the pairs, or more with epoch_steps.",
    )
    epoch_steps: int | None = training_field(
        integer(0, 1_000_000),
        "Minimum number of batches per epoch. If there are too few pairs, an epoch makes several "
        "passes over them. Validation, patience and schedule count these longer epochs. 0 for one "
        "pass.",
        0,
    )
    optimizer: str | None = training_field(
        one_of("adam", "adadelta", "sgd"), "Optimizer: {choices}.", "adam"
    )
    learning_rate: float | None = training_field(
        number(0, 1000, "(]"),
        "Highest learning rate, after warm-up and before decay.",
    )
    schedule: str | None = training_field(
        one_of("cosine", "constant", "inverse-sqrt", "halving"),
        'Learning-rate schedule: "cosine" (to zero at the last step), "constant", '
        '"inverse-sqrt" (of the step number), or "halving" (once per epoch).',
        "constant",
    )
    warmup: float | None = training_field(
        RATE, "Fraction of all steps to use for learning-rate warm-up.", 0.0
    )
    halving_after: int | None = training_field(
        COUNT,
        "Number of epochs at the full learning rate before schedule=halving halves it.",
        5,
    )
    clip_norm: float | None = training_field(
        number(0, 1_000_000_000, "(]"),
        "Maximum global norm of the gradient; larger gradients are scaled down.",
        5.0,
    )
    ema_momentum: float | None = training_field(
        RATE,
        "Momentum of a moving average of the weights, which is used for validation and in the "
        "saved translator; 0 for none.",
        0.0,
    )
    average_last: int | None = training_field(
        integer(0, 1000),
        "Number of recent epochs whose weights are averaged for validation and the saved "
        "translator; 0 for none.",
        0,
    )

    minutes: float | None = first_field(
        number(0, 10_000_000),
        "Time limit for training and validation, in minutes. Training ends before an epoch that "
        "would exceed the limit. The cosine schedule reaches zero at the limit, unless the epochs "
        "end earlier. 0 for no limit.",
        0.0,
    )
    best_by: str | None = first_field(
        _JUDGE,
        "Validation metric that selects the best epoch: {choices}. Perplexity breaks ties. For any "
        "other metric, the validation sources are decoded greedily after each epoch, so top-k "
        "accuracy is not available. For short outputs, as in speech, such a metric can keep "
        "improving long after perplexity has stopped.",
        "perplexity",
    )
    tokenize: str | None = run_field(
        one_of(*TOKENIZATIONS),
        "sacreBLEU's tokenization for best_by=bleu: {choices}. Text without spaces needs zh, "
        "ja-mecab, ko-mecab or char. Some tokenizations need a download or a package.",
        "13a",
    )
    max_length_ratio: float | None = run_field(
        number(0, 1000),
        "Limit each output, in validation and in the saved search, to max_length_ratio * source "
        "positions + max_length_offset tokens. If both are 0, they are derived from the training "
        "pairs and are at least 2 and 10.",
        0.0,
    )
    max_length_offset: int | None = run_field(integer(0, 10_000), "See max_length_ratio.", 0)
    patience: int | None = run_field(COUNT, "Stop after this many epochs without improvement.", 5)
    checkpoint_steps: int | None = run_field(
        integer(1, 1_000_000_000), "Number of batches between checkpoints.", 100
    )
    jit_compile: bool | None = run_field(
        flag(),
        "Compile the training step with XLA, once for each batch shape. There are few shapes with "
        "batch_tokens, and many with batch_sentences.",
        False,
    )
    precision: str | None = run_field(
        one_of(*PRECISIONS),
        "Precision of the matrix products in training: {choices}. bfloat16 can be faster on "
        "processors and GPUs that support it, and is slower on others. Weights, validation and the "
        "saved translator are always in float32.",
        "float32",
    )
    quantization_aware: bool | None = training_field(
        flag(),
        "Train with weights rounded as in a LiteRT export, so that the export loses no further "
        "precision. Use it to train a finished model for a few more epochs (--from), for example "
        "with learning_rate=2e-4 and epochs=3.",
        False,
    )
    quantization: str | None = training_field(
        one_of("int8", "int4"),
        "Type of export for quantization_aware: {choices}. An int4 file has about 60% of the size "
        "of an int8 file, but training needs more epochs and a higher learning rate, such as "
        "learning_rate=6e-4.",
        "int8",
    )
    seed: int | None = run_field(
        integer(0, 2**32 - 1), "Random seed for weights, dropout and the order of batches.", 0
    )


def run_rules(settings):
    """Rules for batches and the optimizer."""
    yield (
        "The batch size must be given either in tokens or in sentences",
        (settings.batch_tokens > 0) != (settings.batch_sentences > 0),
        ("batch_tokens", "batch_sentences"),
        "Leave one of them out, or set it to 0.",
    )
    yield (
        "Only Adam keeps a moving average of the weights",
        settings.optimizer == "adam" or not settings.ema_momentum,
        ("ema_momentum", "optimizer"),
        "Set ema_momentum to 0, or use `average_last`, which works with all optimizers.",
    )
    yield (
        "4-bit weights need training with rounded weights",
        settings.quantization_aware or settings.quantization == "int8",
        ("quantization", "quantization_aware"),
        "Add quantization_aware, or leave quantization out.",
    )


def hard_memory_rules(settings):
    """Rules for exact hard alignments, which limit the memory of a batch."""
    longest = max(settings.max_length, settings.max_source_length)
    positions = settings.batch_tokens or settings.batch_sentences * longest
    yield (
        "With hard alignments, each position predicts a distribution over the vocabulary: its size "
        f"must be at most {HARD_VOCABULARY_SIZE:,}, and its size times the number of positions per "
        "batch at most 2^28",
        settings.target_vocabulary_size <= HARD_VOCABULARY_SIZE
        and settings.target_vocabulary_size * positions <= 2**28,
        ("target_vocabulary_size", "batch_tokens", "batch_sentences", "hard_alignment"),
        "Use a smaller vocabulary, such as target_model_type='char', or smaller batches.",
    )
    yield (
        "Hard alignments that depend on the previous position compute all pairs of positions, "
        "which must be at most 2^28 per batch",
        settings.hard_alignment == "zeroth" or positions * longest <= 2**28,
        ("max_length", "max_source_length", "batch_tokens", "batch_sentences", "hard_alignment"),
        "Use a smaller maximum length, smaller batches, or hard_alignment='zeroth'.",
    )
