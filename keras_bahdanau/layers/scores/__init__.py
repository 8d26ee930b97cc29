"""Scores: how well a query and a key go together, before the softmax."""

from keras_bahdanau.layers.registry import Registry
from keras_bahdanau.layers.scores.additive import AdditiveScore, ConcatScore, PairScore
from keras_bahdanau.layers.scores.location import LocationScore
from keras_bahdanau.layers.scores.multiplicative import (
    CosineScore,
    DotScore,
    GeneralScore,
    ScaledDotScore,
)
from keras_bahdanau.layers.scores.score import Score

__all__ = [
    "SCORES",
    "AdditiveScore",
    "ConcatScore",
    "CosineScore",
    "DotScore",
    "GeneralScore",
    "LocationScore",
    "PairScore",
    "ScaledDotScore",
    "Score",
]


def _without_units(kind, **options):
    """A score that has no width of its own: it takes `units` like the others, and ignores it."""
    return lambda units=None, **kwargs: kind(**options, **kwargs)


# The width `units` is that of the space in which query and values meet: of "additive" and
# "concat". The others meet in the query's width, or, "pair", in a number.
SCORES = Registry(
    "score",
    {  # name: function (units, **kwargs) -> Score
        "additive": AdditiveScore,
        "concat": ConcatScore,
        "cosine": _without_units(CosineScore),
        "dot": _without_units(DotScore),
        "general": _without_units(GeneralScore),
        "location": _without_units(LocationScore),
        "pair": _without_units(PairScore),
        "pair-tanh": _without_units(PairScore, activation="tanh"),
        "scaled-dot": _without_units(ScaledDotScore),
    },
)
