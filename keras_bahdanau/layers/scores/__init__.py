"""Scores: how well a query and a key go together, before the softmax."""

from keras_bahdanau import checks
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
    "new_score",
]


def _without_units(kind, **options):
    """A score that has no width of its own: it takes `units` like the others, and ignores it."""
    return lambda units, **kwargs: kind(**options, **kwargs)


SCORES = {  # name: function (units, **kwargs) -> Score
    "additive": AdditiveScore,
    "concat": ConcatScore,
    "cosine": _without_units(CosineScore),
    "dot": _without_units(DotScore),
    "general": _without_units(GeneralScore),
    "location": _without_units(LocationScore),
    "pair": _without_units(PairScore),
    "pair-tanh": _without_units(PairScore, activation="tanh"),
    "scaled-dot": _without_units(ScaledDotScore),
}


def new_score(kind, units=None, **kwargs):
    """The score of that name.

    ```python
    score = keras_bahdanau.layers.new_score("cosine", temperature=0.2)
    ```

    Args:
        kind: A name of `SCORES`.
        units: Positive integer. Width of the space in which query and values
            meet: for "additive" and "concat". The others have no such width and
            ignore it: they meet in the query's width, or, "pair", in a number.
        **kwargs: Further arguments of the score, and those of every Keras layer.

    Returns:
        A `Score`, not built.

    Raises:
        ValueError: If the name is unknown, or an argument of the score is wrong.
    """
    return SCORES[checks.choice("score", kind, SCORES)](units, **kwargs)
