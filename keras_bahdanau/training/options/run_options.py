"""Options of a run: batches, loss, optimizer, time, and the choice of the best epoch."""

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
        "Validation decodes greedily, one text per source, but top-k accuracy needs several. "
        "Use 'exact', and measure the trained model with `evaluate`.",
    )
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of the training that do not affect the model's architecture."""

    freeze: str | None = adaptation_field(
        names(100),
        "Parts of an adapted model to keep unchanged, by the names of layers, such as "
        "encoder,embeddings.",
        "",
    )
    update_vocabulary: str | None = adaptation_field(
        one_of("none", "append", "replace"),
        "Vocabulary update of an adapted model: {choices}: keep its own, append pieces of the new "
        "text, or learn new ones, where pieces in both keep their weights.",
        "none",
    )
    appended_pieces: int | None = adaptation_field(
        integer(1, 100_000), "Most pieces that update_vocabulary appends to each vocabulary.", 1000
    )

    temperature: float | None = training_field(
        number(1, 1000),
        "Temperature T for several corpora without weights: each has a share of the batches "
        "proportional to its size to the power of 1/T. With 1, each pair occurs once per epoch; "
        "higher values increase the share of small corpora.",
        1.0,
    )
    label_smoothing: float | None = training_field(
        RATE, "Probability mass spread uniformly over the vocabulary.", 0.0
    )
    word_distillation: float | None = training_field(
        number(0, 1),
        "Share of the loss that teaches the student the teacher's distribution of each token "
        "(word-level knowledge distillation), such as 0.8; 0 for none.",
        0.0,
    )
    l2: float | None = training_field(
        WEIGHT, "Coefficient of the L2 penalty (sum of squared weights) in the loss.", 0.0
    )
    weight_decay: float | None = training_field(
        WEIGHT,
        "Decoupled weight decay: each step subtracts this fraction of a weight times the learning "
        "rate. Embeddings, biases and norms are exempt.",
        0.0,
    )
    loss_mean: str | None = training_field(
        one_of("tokens", "sentences"),
        'Average the loss over "tokens", or over "sentences", summing over the tokens of each, as '
        "in the papers.",
        "sentences",
    )
    batch_tokens: int | None = training_field(
        integer(0, 1_000_000),
        "Positions per batch, including padding; 0 with batch_sentences.",
        0,
    )
    batch_sentences: int | None = training_field(
        integer(0, 10_000),
        "Pairs per batch; 20 batches at a time are sorted by length. 0 with batch_tokens.",
        0,
    )
    buckets: int | None = run_field(
        integer(1, 1000),
        "Number of different batch lengths, with batch_tokens: more lengths need less padding, "
        "but XLA compiles once for each.",
        lambda options: 7 if options.jit_compile else 16,
    )
    accumulate: int | None = run_field(
        integer(1, 1024),
        "Number of parts of each batch to compute one after another, for batches that do not fit "
        "in memory; the gradient is that of the whole batch.",
        1,
    )
    max_length: int | None = data_field(
        LENGTH, "Most tokens on either side; longer pairs are skipped and counted.", 128
    )
    max_source_length: int | None = data_field(
        integer(0, 100_000),
        "Most positions of a source, as max_length; 0 for max_length if it is text, else for the "
        "source's own limit.",
        0,
    )

    epochs: int | None = training_field(
        COUNT, "Most epochs, each one pass over the pairs, or more with `epoch_steps`."
    )
    epoch_steps: int | None = training_field(
        integer(0, 1_000_000),
        "Fewest batches per epoch: an epoch of few pairs makes several passes, and validation, "
        "patience and schedule count such epochs; 0 for one pass.",
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
        '"inverse-sqrt" (of the step), or "halving" (each epoch).',
        "constant",
    )
    warmup: float | None = training_field(
        RATE, "Fraction of all steps for learning-rate warm-up.", 0.0
    )
    halving_after: int | None = training_field(
        COUNT,
        "Epochs at the full learning rate before `halving` starts.",
        5,
    )
    clip_norm: float | None = training_field(
        number(0, 1_000_000_000, "(]"),
        "Maximum global norm of the gradient; larger gradients are scaled down.",
        5.0,
    )
    ema_momentum: float | None = training_field(
        RATE,
        "Momentum of the moving average of the weights, which validation and the saved "
        "translator use; 0 for none.",
        0.0,
    )
    average_last: int | None = training_field(
        integer(0, 1000),
        "Epochs whose weights are averaged, for validation and the saved translator; 0 for none.",
        0,
    )

    minutes: float | None = first_field(
        number(0, 10_000_000),
        "Time limit of training, including validation; training ends before an epoch that would "
        "exceed it. The cosine schedule ends with it, unless the epochs end earlier. 0 for no "
        "limit.",
        0.0,
    )
    best_by: str | None = first_field(
        _JUDGE,
        "Validation metric that selects the best epoch: {choices}; perplexity breaks ties. Other "
        "metrics decode the validation pairs greedily after each epoch, so top-k accuracy is not "
        "available. For texts of few words, as in speech, they can keep improving long after "
        "perplexity has stopped.",
        "perplexity",
    )
    tokenize: str | None = run_field(
        one_of(*TOKENIZATIONS),
        "Tokenization of sacreBLEU for best_by=bleu: {choices}. Text without spaces needs zh, "
        "ja-mecab, ko-mecab or char; some need a download or a package.",
        "13a",
    )
    max_length_ratio: float | None = run_field(
        number(0, 1000),
        "Limit the length of each output in validation and in the saved search to "
        "max_length_ratio * source positions + max_length_offset tokens. Set both to 0 to derive "
        "them from the training pairs, at least 2 and 10.",
        0.0,
    )
    max_length_offset: int | None = run_field(integer(0, 10_000), "See max_length_ratio.", 0)
    patience: int | None = run_field(COUNT, "Stop after this many epochs without improvement.", 5)
    checkpoint_steps: int | None = run_field(
        integer(1, 1_000_000_000), "Batches between checkpoints.", 100
    )
    jit_compile: bool | None = run_field(
        flag(),
        "Compile the training step with XLA, once per batch shape: there are few with "
        "batch_tokens, many with batch_sentences.",
        False,
    )
    precision: str | None = run_field(
        one_of(*PRECISIONS),
        "Precision of the products in training: {choices}, which can be faster on processors "
        "and GPUs that support it, and is slower on others. Weights, validation and the saved "
        "translator are in float32.",
        "float32",
    )
    quantization_aware: bool | None = training_field(
        flag(),
        "Train with weights rounded as in an export to LiteRT, so that the export loses no further "
        "precision. For the last epochs of a trained model (--from), with learning_rate=2e-4 and "
        "epochs=3, for example.",
        False,
    )
    quantization: str | None = training_field(
        one_of("int8", "int4"),
        "Target export of quantization_aware: {choices}. An int4 file has about 60 % of the size "
        "of int8, but needs more epochs and a higher rate, such as learning_rate=6e-4.",
        "int8",
    )
    seed: int | None = run_field(
        integer(0, 2**32 - 1), "Seed of weights, dropout and the order of batches.", 0
    )


def run_rules(settings):
    """Rules of batches and optimizer."""
    yield (
        "Batches are measured either in tokens or in sentences",
        (settings.batch_tokens > 0) != (settings.batch_sentences > 0),
        ("batch_tokens", "batch_sentences"),
        "Leave one of them out, or give 0 for it.",
    )
    yield (
        "Only Adam keeps a moving average of the weights",
        settings.optimizer == "adam" or not settings.ema_momentum,
        ("ema_momentum", "optimizer"),
        "Set it to 0; `average_last` works with all optimizers.",
    )
    yield (
        "4-bit weights need training with rounded weights",
        settings.quantization_aware or settings.quantization == "int8",
        ("quantization", "quantization_aware"),
        "Also give quantization_aware, or leave quantization out.",
    )


def hard_memory_rules(settings):
    """Rules of exact hard alignments, whose batches have a memory limit."""
    longest = max(settings.max_length, settings.max_source_length)
    positions = settings.batch_tokens or settings.batch_sentences * longest
    yield (
        "Hard alignments predict the vocabulary from each position: its size must be at most "
        f"{HARD_VOCABULARY_SIZE:,}, and at most 2^28 when multiplied by the positions per batch",
        settings.target_vocabulary_size <= HARD_VOCABULARY_SIZE
        and settings.target_vocabulary_size * positions <= 2**28,
        ("target_vocabulary_size", "batch_tokens", "batch_sentences", "hard_alignment"),
        "Give a smaller vocabulary, such as target_model_type='char', or smaller batches.",
    )
    yield (
        "Hard alignments that depend on the previous position use all pairs of positions, at most "
        "2^28 per batch",
        settings.hard_alignment == "zeroth" or positions * longest <= 2**28,
        ("max_length", "max_source_length", "batch_tokens", "batch_sentences", "hard_alignment"),
        "Give smaller lengths, smaller batches, or hard_alignment='zeroth'.",
    )
