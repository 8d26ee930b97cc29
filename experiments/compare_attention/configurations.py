"""Presets from papers, and variants of Bahdanau's step that each change one thing."""

from typing import NamedTuple


class Configuration(NamedTuple):
    """A preset, the options that differ from it, and a description."""

    preset: str
    overrides: dict
    about: str


def _before(about, **overrides):
    """Return `small` with attention before the cell, as in the paper."""
    return Configuration("small", {"when": "before", **overrides}, about)


PRESETS = {
    "additive": _before("additive scores with the query s_{i-1}, as in the paper"),
    "none": _before("the same without attention: only the encoder's last states", attention="none"),
    "small": Configuration(
        "small", {}, "the same with attention between two cells: the package's default"
    ),
    "rnnsearch": Configuration("rnnsearch", {}, "Bahdanau et al. 2015"),
    "rnnencdec": Configuration("rnnencdec", {}, "Cho et al. 2014: without attention"),
    "luong": Configuration("luong", {}, "Luong et al. 2015: dot scores, input feeding, LSTM"),
    "luong-local": Configuration(
        "luong-local", {}, "the same with general scores in a predicted window"
    ),
    "conditional-gru": Configuration("conditional-gru", {}, "attention between two cells"),
}
SCORES = {
    "concat": _before("Luong's concat: additive, initialized as one matrix", attention="concat"),
    "dot": _before("s h", attention="dot"),
    "general": _before("s W h", attention="general"),
    "scaled-dot": _before("s h / sqrt(d)", attention="scaled-dot"),
    "cosine": _before("cosine divided by a learned temperature", attention="cosine"),
    "pair": _before("w [s; h]: one layer, no v", attention="pair"),
    "pair-tanh": _before("tanh(w [s; h] + b)", attention="pair-tanh"),
    "location": _before("W s: depends only on the position", attention="location"),
}
OTHERS = {
    "heads-4": _before("four heads", heads=4),
    "local-m": _before("within 10 positions of the step's index", window="local-m"),
    "local-p": _before("within 10 positions of a predicted one", window="local-p"),
    "monotonic": _before("never goes back, in expectation", normalizer="monotonic"),
    "monotonic-hard": _before(
        "never goes back, and stops at one position", normalizer="monotonic-hard"
    ),
    "coverage": _before("uses the sum of all previous weights", coverage="sum"),
    "convolution": _before("uses its last weights through a convolution", coverage="convolution"),
    "past": _before("also attends to its last 64 states", past=64),
}
CONFIGURATIONS = {**PRESETS, **SCORES, **OTHERS}

# Pairs that differ only in the attention, or in the same way as the paper's two models.
WITHOUT_AND_WITH = {"none": "additive", "rnnencdec": "rnnsearch"}

# All configurations use the size and the training options of `keras-bahdanau demo`.
SIZE = {
    "embedding_units": 96,
    "units": 192,
    "attention_units": 96,
    "depth": 1,
    "decoder_depth": 1,
    "dropout": 0.1,
    "embedding_dropout": 0.1,
    "recurrent_dropout": 0.0,
    "word_dropout": 0.0,
    "context_dropout": 0.0,
}
TRAINING = {
    "batch_tokens": 1200,
    "learning_rate": 3e-3,
    "warmup": 0.02,
    "clip_norm": 5.0,
    "ema_momentum": 0.99,
    "label_smoothing": 0.05,
}
