"""Options of a run: its batches, loss, optimizer, time, and the choice of the best epoch."""

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
        "Validation decodes greedily, one text of a source, and top-k accuracy takes several. "
        "Judge by 'exact', and measure the trained model with `evaluate`.",
    )
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of the training itself, which the model does not depend on."""

    freeze: str | None = adaptation_field(
        names(100),
        "Parts of an adapted model that stay as they are, by the names of layers, such as "
        "encoder,embeddings.",
        "",
    )
    update_vocabulary: str | None = adaptation_field(
        one_of("none", "append", "replace"),
        "Vocabularies of an adapted model: {choices}: its own, its own with pieces of the new "
        "text after them, or new ones, in which the pieces that both have keep their weights.",
        "none",
    )
    appended_pieces: int | None = adaptation_field(
        integer(1, 100_000), "Most pieces that update_vocabulary appends to a vocabulary.", 1000
    )

    temperature: float | None = training_field(
        number(1, 1000),
        "Temperature T of several corpora without weights: each has a share of the batches in "
        "proportion to its size to the power of 1/T. 1 is once an epoch for each pair; a higher "
        "one lifts the small corpora.",
        1.0,
    )
    label_smoothing: float | None = training_field(
        RATE, "Probability mass spread uniformly over the vocabulary.", 0.0
    )
    word_distillation: float | None = training_field(
        number(0, 1),
        "Share of the loss by which the student learns the teacher's distribution of each token "
        "(word-level knowledge distillation), such as 0.8; 0 for none.",
        0.0,
    )
    l2: float | None = training_field(
        WEIGHT, "Coefficient of the L2 penalty (sum of squared weights) in the loss.", 0.0
    )
    weight_decay: float | None = training_field(
        WEIGHT,
        "Decoupled weight decay: each step subtracts this fraction of a weight, times the learning "
        "rate. Embeddings, biases and norms are exempt.",
        0.0,
    )
    loss_mean: str | None = training_field(
        one_of("tokens", "sentences"),
        'Unit that the loss is the mean over: "tokens", or "sentences", each with the sum of its '
        "tokens' losses, as in the papers.",
        "sentences",
    )
    batch_tokens: int | None = training_field(
        integer(0, 1_000_000),
        "Positions of a batch, padding included; 0 with batch_sentences.",
        0,
    )
    batch_sentences: int | None = training_field(
        integer(0, 10_000),
        "Pairs of a batch, 20 such batches sorted by length at a time; 0 with batch_tokens.",
        0,
    )
    buckets: int | None = run_field(
        integer(1, 1000),
        "Number of different lengths of batches, with batch_tokens: more of them have less "
        "padding, and XLA compiles once for each.",
        lambda options: 7 if options.jit_compile else 16,
    )
    accumulate: int | None = run_field(
        integer(1, 1024),
        "Number of parts of each batch that are computed one after another, for batches that do "
        "not fit in memory: the gradient is that of the whole batch.",
        1,
    )
    max_length: int | None = data_field(
        LENGTH, "Most tokens on a side; longer pairs are left out, and counted.", 128
    )
    max_source_length: int | None = data_field(
        integer(0, 100_000),
        "Most positions of a source, likewise; 0 for max_length where it is text, else for "
        "the source's own limit.",
        0,
    )

    epochs: int | None = training_field(
        COUNT, "Most epochs: passes over the pairs, or several passes each by `epoch_steps`."
    )
    epoch_steps: int | None = training_field(
        integer(0, 1_000_000),
        "Least batches of an epoch: it passes over few pairs several times, and validation, "
        "patience and schedule count such epochs; 0 for one pass.",
        0,
    )
    optimizer: str | None = training_field(
        one_of("adam", "adadelta", "sgd"), "Optimizer: {choices}.", "adam"
    )
    learning_rate: float | None = training_field(
        number(0, 1000, "(]"),
        "Highest learning rate: after the warm-up and before the decay of the schedule.",
    )
    schedule: str | None = training_field(
        one_of("cosine", "constant", "inverse-sqrt", "halving"),
        'Schedule of the learning rate: "cosine" (to zero at the last step), "constant", '
        '"inverse-sqrt" (of the steps), or "halving" (each epoch).',
        "constant",
    )
    warmup: float | None = training_field(
        RATE, "Fraction of all steps used for learning-rate warm-up.", 0.0
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
        "Most time of training, validation included; it ends before an epoch that would last "
        "longer than that. The cosine schedule ends with it, if the epochs do not end before. "
        "0 for no limit.",
        0.0,
    )
    best_by: str | None = first_field(
        _JUDGE,
        "Validation metric that selects the best epoch: {choices}. A metric decodes the "
        "validation pairs greedily after each epoch, which top-k accuracy can't judge; the "
        "perplexity decides between equal values. Texts of "
        "few words, such as speech, can get better by it long after their perplexity has.",
        "perplexity",
    )
    tokenize: str | None = run_field(
        one_of(*TOKENIZATIONS),
        "Tokenization of sacreBLEU for best_by=bleu: {choices}. Text without spaces takes zh, "
        "ja-mecab, ko-mecab or char; some need a download or a package.",
        "13a",
    )
    max_length_ratio: float | None = run_field(
        number(0, 1000),
        "Bounds each output by its own source in validation and in the saved search: "
        "max_length_ratio * positions + max_length_offset tokens. 0 for both to take them from the "
        "training pairs, at least 2 and 10.",
        0.0,
    )
    max_length_offset: int | None = run_field(integer(0, 10_000), "See max_length_ratio.", 0)
    patience: int | None = run_field(COUNT, "Stop after this many epochs without improvement.", 5)
    checkpoint_steps: int | None = run_field(
        integer(1, 1_000_000_000), "Batches between checkpoints.", 100
    )
    jit_compile: bool | None = run_field(
        flag(),
        "Compile the training step with XLA, once for each shape of a batch: with batch_tokens "
        "there are few, with batch_sentences many.",
        False,
    )
    precision: str | None = run_field(
        one_of(*PRECISIONS),
        "Precision of the products in training: {choices}, which can be faster on processors "
        "and GPUs that have it, and is slower on others. Weights, validation and the saved "
        "translator are in float32.",
        "float32",
    )
    quantization_aware: bool | None = training_field(
        flag(),
        "Train with the weights rounded as an export to LiteRT rounds them, so that it takes "
        "nothing more off them. For the last epochs of a trained model (--from), such as "
        "learning_rate=2e-4 and epochs=3.",
        False,
    )
    quantization: str | None = training_field(
        one_of("int8", "int4"),
        "Export that quantization_aware is for: {choices}. A file of int4 has some 60 % of the "
        "size. It takes more epochs, and a higher rate, such as learning_rate=6e-4.",
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
        "Give 0 for it; `average_last` goes with all optimizers.",
    )
    yield (
        "Weights of 4 bits are those of a training with rounded weights",
        settings.quantization_aware or settings.quantization == "int8",
        ("quantization", "quantization_aware"),
        "Give quantization_aware, too, or leave quantization out.",
    )


def hard_memory_rules(settings):
    """Rules of exact hard alignments, whose batches have a memory limit."""
    longest = max(settings.max_length, settings.max_source_length)
    positions = settings.batch_tokens or settings.batch_sentences * longest
    yield (
        "Hard alignments predict the vocabulary from each position: its size is at most "
        f"{HARD_VOCABULARY_SIZE:,}, and times the positions of a batch at most 2^28",
        settings.target_vocabulary_size <= HARD_VOCABULARY_SIZE
        and settings.target_vocabulary_size * positions <= 2**28,
        ("target_vocabulary_size", "batch_tokens", "batch_sentences", "hard_alignment"),
        "Give a smaller vocabulary, such as target_model_type='char', or smaller batches.",
    )
    yield (
        "Hard alignments that remember their place take each pair of positions, in a batch at most "
        "2^28",
        settings.hard_alignment == "zeroth" or positions * longest <= 2**28,
        ("max_length", "max_source_length", "batch_tokens", "batch_sentences", "hard_alignment"),
        "Give smaller lengths, smaller batches, or hard_alignment='zeroth'.",
    )
