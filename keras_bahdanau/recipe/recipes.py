"""What each preset says of the options: a value, or a function of the other options."""


def _units(options):
    return options.units


def _dropout(options):
    return options.dropout


def _of_dropout(factor):
    """A share in proportion to `dropout`, so that without it there is none of any kind."""
    return lambda options: round(factor * options.dropout, 3)


def _half_of_units(options):
    return max(1, options.units // 2)


def _readout_units(options):
    """What a plain readout has, or what can be tied."""
    return options.units if options.readout == "plain" else options.embedding_units


def _unless_measured_in_tokens(sentences):
    return lambda options: 0 if options.batch_tokens else sentences


_PLAIN = {  # the mechanism of 2015 and no trick of training: what all others differ from
    "model_type": "bpe",
    "subword_sampling": 0.0,
    "joint": True,
    "share_embeddings": lambda options: options.joint,
    "encoder": "bidirectional",
    "encoder_units": _units,
    "encoder_cell": lambda options: options.cell,
    "cell": "gru",
    "depth": 1,
    "decoder_depth": 1,
    "residual": False,
    "attention": "bahdanau",
    "attention_units": _units,
    "heads": 1,
    "window": "everywhere",
    "normalizer": "softmax",
    "coverage": "none",
    "past": 0,
    "when": "before",
    "query": "state",
    "bridge": "mean",
    "readout": "tanh",
    "readout_units": _readout_units,
    "readout_state": "current",
    "tie_embeddings": False,
    "dropout": 0.0,
    "embedding_dropout": _dropout,
    "readout_dropout": _dropout,
    "recurrent_dropout": 0.0,
    "context_dropout": 0.0,
    "word_dropout": 0.0,
    "label_smoothing": 0.0,
    "scheduled_sampling": 0.0,
    "guided_alignment": 0.0,
    "r_drop": 0.0,
    "l2": 0.0,
    "weight_decay": 0.0,
    "loss_mean": "sentences",
    "batch_tokens": 0,
    "batch_sentences": 0,
    "buckets": lambda options: 7 if options.jit_compile else 16,
    "max_length": 128,
    "optimizer": "adam",
    "schedule": "constant",
    "warmup": 0.0,
    "halving_after": 5,
    "clip_norm": 5.0,
    "ema_momentum": 0.0,
    "average_last": 0,
    "minutes": 0.0,
    "patience": 5,
    "checkpoint_steps": 100,
    "jit_compile": False,
    "precision": "float32",
    "seed": 0,
}

_SMALL = {
    **_PLAIN,
    "vocabulary_size": 6000,
    "embedding_units": 256,
    "units": 512,
    "encoder_units": _half_of_units,
    "attention_units": 256,
    "when": lambda options: "before" if options.readout_state == "previous" else "between",
    "tie_embeddings": lambda options: options.readout_units == options.embedding_units,
    "dropout": 0.45,
    "embedding_dropout": _of_dropout(2 / 3),
    "recurrent_dropout": _of_dropout(4 / 9),
    "word_dropout": _of_dropout(2 / 9),
    "label_smoothing": 0.1,
    "loss_mean": "tokens",
    "batch_tokens": lambda options: 0 if options.batch_sentences else 1500,
    "epochs": 54,  # an hour and a half for Multi30K on two cores
    "learning_rate": 2e-3,
    "schedule": "cosine",
    "warmup": 0.02,
    "ema_momentum": lambda options: 0.998 if options.optimizer == "adam" else 0.0,
}

_WORDS = {"model_type": "word", "joint": False, "max_length": 51}  # 50 words and the end token

_RNNSEARCH = {
    **_PLAIN,
    **_WORDS,
    "vocabulary_size": 30_000,
    "embedding_units": 620,
    "units": 1000,
    "cell": "gru-reset-before",
    "bridge": "backward",
    "readout": "maxout",
    "readout_units": _half_of_units,
    "readout_state": lambda options: "previous" if options.when == "before" else "current",
    "batch_sentences": _unless_measured_in_tokens(80),
    "epochs": 5,
    "optimizer": "adadelta",
    "learning_rate": 1.0,
    "clip_norm": 1.0,
}

_LUONG = {
    **_PLAIN,
    **_WORDS,
    "vocabulary_size": 50_000,
    "embedding_units": 1000,
    "units": 1000,
    "encoder": "unidirectional",
    "cell": "lstm",
    "depth": 4,
    "decoder_depth": 4,
    "attention": "dot",
    "when": "after",
    "bridge": "last",
    "readout": "plain",
    "dropout": 0.2,
    "batch_sentences": _unless_measured_in_tokens(128),
    "epochs": 12,
    "optimizer": "sgd",
    "learning_rate": 1.0,
    "schedule": "halving",
    "halving_after": 8,
    "patience": 12,
}

RECIPES = {
    "small": _SMALL,
    "rnnsearch": _RNNSEARCH,
    "rnnencdec": {
        **_RNNSEARCH,
        "attention": "none",
        "encoder": "unidirectional",
        "bridge": "last",
    },
    "luong": _LUONG,
    "luong-local": {**_LUONG, "attention": "general", "window": "local-p"},
    "conditional-gru": {
        **_PLAIN,
        "vocabulary_size": 10_000,
        "share_embeddings": False,
        "embedding_units": 128,
        "units": 256,
        "encoder_cell": "layer-norm-gru",
        "when": "between",
        "dropout": 0.5,
        "embedding_dropout": 0.3,
        "l2": 1e-5,
        "batch_sentences": _unless_measured_in_tokens(32),
        "epochs": 100,
        "learning_rate": 4e-4,
        "patience": 10,
    },
}
