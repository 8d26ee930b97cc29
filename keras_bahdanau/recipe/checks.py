"""What each option demands of its value, and what some demand of others."""

import math
import typing

from keras_bahdanau.recipe.recipes import RECIPES

SCORES = (
    *("additive", "concat", "cosine", "dot", "general"),
    *("location", "pair", "pair-tanh", "scaled-dot"),
)
CELLS = ("simple", "gru", "gru-reset-before", "lstm", "layer-norm-gru", "layer-norm-lstm")
QUERY_PARTS = ("state", "embedding", "context", "task")
CHOICES = {  # the names are those of the registries in `layers`, which need Keras
    "preset": tuple(RECIPES),
    "model_type": ("bpe", "unigram", "char", "word"),
    "encoder": ("bidirectional", "unidirectional", "convolutional", "convolutional-tanh"),
    "encoder_cell": CELLS,
    "cell": CELLS,
    "attention": ("bahdanau", *SCORES, "forced", "none"),
    "window": ("everywhere", "local-m", "local-p"),
    "normalizer": ("softmax", "monotonic", "monotonic-hard"),
    "coverage": ("none", "sum", "convolution"),
    "when": ("before", "after", "between"),
    "bridge": ("mean", "backward", "last", "zeros"),
    "readout": ("tanh", "maxout", "attentional", "plain"),
    "readout_state": ("current", "previous"),
    "loss_mean": ("tokens", "sentences"),
    "optimizer": ("adam", "adadelta", "sgd"),
    "precision": ("float32", "bfloat16"),
    "schedule": ("cosine", "constant", "inverse-sqrt", "halving"),
}
_SHARES = {
    *("dropout", "embedding_dropout", "readout_dropout"),
    *("recurrent_dropout", "context_dropout", "word_dropout"),
    *("subword_sampling", "label_smoothing", "scheduled_sampling", "warmup", "ema_momentum"),
}
_MAY_BE_ZERO = {
    *("past", "guided_alignment", "r_drop", "l2", "weight_decay"),
    *("batch_tokens", "batch_sentences", "average_last", "minutes", "seed"),
}
_OF_SCORES = {"window": "everywhere", "normalizer": "softmax", "coverage": "none", "heads": 1}


def check_value(field, value):
    """Raises ValueError if a field of the options does not allow the value."""
    demand, fulfils = _rule(field)
    if not fulfils(value):
        raise ValueError(f"`{field.name}` must be {demand}. Received: {field.name}={value!r}")


def _rule(field):
    """What a field demands in words, and the function that says whether a value fulfils it."""
    name = field.name
    kind = next(iter(typing.get_args(field.type)), field.type)
    if name in CHOICES:
        return f"one of {CHOICES[name]}", CHOICES[name].__contains__
    if name == "query":
        return f"one or more of {QUERY_PARTS}, with commas between", _names_parts
    if kind is bool:
        return "True or False", lambda value: isinstance(value, bool)
    if kind is int:
        lowest = 0 if name in _MAY_BE_ZERO else 1
        return f"an integer of at least {lowest}", lambda value: _is_int(value) and value >= lowest
    if name in _SHARES:
        return "a number from 0 to 1, less than 1", lambda value: _is_real(value) and 0 <= value < 1
    if name in _MAY_BE_ZERO:
        return "a number of at least 0", lambda value: _is_real(value) and value >= 0
    return "a number above 0", lambda value: _is_real(value) and value > 0


def _is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _is_real(value):
    return _is_int(value) or (isinstance(value, float) and math.isfinite(value))


def _names_parts(value):
    parts = value.split(",") if isinstance(value, str) else [""]
    return set(parts) <= set(QUERY_PARTS) and len(set(parts)) == len(parts)


def check_together(options):
    """Raises ValueError if options do not go together."""
    for demand, fulfilled, names, mend in _demands(options):
        if not fulfilled:
            received = ", ".join(f"{name}={getattr(options, name)!r}" for name in names)
            raise ValueError(f"{demand}. Received: {received}. {mend}")


def _demands(options):
    """(what is demanded, whether it is fulfilled, the options it is of, the mend)."""
    yield from _of_batches_and_text(options)
    yield from _of_the_model(options)
    yield (
        "Only Adam keeps a moving average of the weights",
        options.optimizer == "adam" or not options.ema_momentum,
        ("ema_momentum", "optimizer"),
        "Give 0 for it; `average_last` goes with all optimizers.",
    )


def _of_batches_and_text(options):
    yield (
        "Batches are measured either in tokens or in sentences",
        (options.batch_tokens > 0) != (options.batch_sentences > 0),
        ("batch_tokens", "batch_sentences"),
        "Leave one of them out, or give 0 for it.",
    )
    yield (
        "Only the tokens of BPE and of unigram can be sampled",
        not options.subword_sampling or options.model_type in ("bpe", "unigram"),
        ("subword_sampling", "model_type"),
        "Give 0 for it, or another model_type.",
    )
    for name, aligned in {
        "guided_alignment": options.guided_alignment > 0,
        "attention": options.attention == "forced",
    }.items():
        yield (
            "Alignments go with words that are split in one way",
            not (options.subword_sampling and aligned),
            ("subword_sampling", name),
            "Leave one of them out.",
        )


def _of_the_model(options):
    unscored = options.attention in ("none", "forced")
    yield (
        "Sharing embeddings takes one vocabulary",
        options.joint or not options.share_embeddings,
        ("share_embeddings", "joint"),
        "Leave one of them out.",
    )
    yield (
        "Only a decoder that attends before its cell moves can read out the state before",
        options.when == "before" or options.readout_state == "current",
        ("readout_state", "when"),
        "Give 'current', or attend 'before'.",
    )
    yield (
        "Alignments guide an attention that learns where to look",
        not (unscored and options.guided_alignment),
        ("guided_alignment", "attention"),
        "Give 0 for it, or another attention.",
    )
    for name, plain in _OF_SCORES.items():
        yield (
            f"`{name}` is part of an attention that scores",
            not unscored or getattr(options, name) == plain,
            (name, "attention"),
            f"Give {plain!r} for it, or another attention.",
        )
