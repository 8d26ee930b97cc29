"""Options of the run: optimizer, learning rate, time, and the choice of the best epoch."""

import dataclasses

from keras_bahdanau.evaluation.corpus_metrics import METRICS
from keras_bahdanau.settings.limits import PRECISIONS
from keras_bahdanau.settings.option import flag, integer, number, one_of
from keras_bahdanau.training.options.declaring import COUNT, RATE, of_training

_JUDGE = one_of(
    "perplexity", *(name for name, metric in METRICS.items() if metric.nbest == 1)
)._replace(
    mends=dict.fromkeys(
        (name for name, metric in METRICS.items() if metric.nbest > 1),
        "Validation decodes greedily, one text of a source, and top-k accuracy takes several. "
        "Judge by 'exact', and measure the trained model with `evaluate`.",
    )
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The optimizer, and when a training ends."""

    epochs: int | None = of_training(
        COUNT, "Most epochs: passes over the pairs, or several passes each by `epoch_steps`."
    )
    epoch_steps: int | None = of_training(
        integer(0, 1_000_000),
        "Least batches of an epoch: it passes over few pairs several times, and validation, "
        "patience and schedule count such epochs; 0 for one pass.",
        0,
    )
    optimizer: str | None = of_training(
        one_of("adam", "adadelta", "sgd"), "Optimizer: {choices}.", "adam"
    )
    learning_rate: float | None = of_training(
        number(0, 1000, "(]"),
        "Highest learning rate: after the warm-up and before the decay of the schedule.",
    )
    schedule: str | None = of_training(
        one_of("cosine", "constant", "inverse-sqrt", "halving"),
        'Schedule of the learning rate: "cosine" (to zero at the last step), "constant", '
        '"inverse-sqrt" (of the steps), or "halving" (each epoch).',
        "constant",
    )
    warmup: float | None = of_training(
        RATE, "Part of all steps in which the learning rate rises.", 0.0
    )
    halving_after: int | None = of_training(
        COUNT,
        'Epochs before the first one with half the learning rate, for the schedule "halving".',
        5,
    )
    clip_norm: float | None = of_training(
        number(0, 1_000_000_000, "(]"), "Longest gradient, over all weights.", 5.0
    )
    ema_momentum: float | None = of_training(
        RATE,
        "Momentum of the moving average of the weights, which validation and the saved "
        "translator use; 0 for none.",
        0.0,
    )
    average_last: int | None = of_training(
        integer(0, 1000),
        "Epochs whose weights are averaged, for validation and the saved translator; 0 for none.",
        0,
    )

    minutes: float | None = of_training(
        number(0, 10_000_000),
        "Most time of training, validation included; it ends before an epoch that would last "
        "longer than that. The cosine schedule ends with it, if the epochs do not end before. "
        "0 for no limit.",
        0.0,
    )
    best_by: str | None = of_training(
        _JUDGE,
        "Judge of the best epoch: {choices}. A metric decodes the validation pairs greedily "
        "after each epoch, which top-k accuracy can't judge; texts of few words, such as speech, "
        "can get better by it long after their perplexity has.",
        "perplexity",
    )
    patience: int | None = of_training(
        COUNT, "Epochs that are not better than the best before training ends.", 5
    )
    checkpoint_steps: int | None = of_training(
        integer(1, 1_000_000_000), "Batches between checkpoints.", 100
    )
    jit_compile: bool | None = of_training(
        flag(),
        "Compile the training step with XLA, once for each shape of a batch: with batch_tokens "
        "there are few, with batch_sentences many.",
        False,
    )
    precision: str | None = of_training(
        one_of(*PRECISIONS),
        "Precision of the products in training: {choices}, which can be faster on processors "
        "and GPUs that have it, and is slower on others. Weights, validation and the saved "
        "translator are in float32.",
        "float32",
    )
    quantization_aware: bool | None = of_training(
        flag(),
        "Train with the weights rounded as an export to LiteRT rounds them, so that it takes "
        "nothing more off them. For the last epochs of a trained model (--from), such as "
        "learning_rate=2e-4 and epochs=3.",
        False,
    )
    quantization: str | None = of_training(
        one_of("int8", "int4"),
        "Export that quantization_aware is for: {choices}. A file of int4 has some 60 % of the "
        "size. It takes more epochs, and a higher rate, such as learning_rate=6e-4.",
        "int8",
    )
    seed: int | None = of_training(
        integer(0, 2**32 - 1), "Seed of weights, dropout and the order of batches.", 0
    )
