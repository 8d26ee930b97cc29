"""Several pipelines as one."""

import dataclasses

from keras_bahdanau.models import Ensemble
from keras_bahdanau.pipelines.by_source import pipeline_of
from keras_bahdanau.pipelines.pipeline import Pipeline


def ensemble(translators, search=None):
    """A pipeline whose models choose each token together: see `models.Ensemble`.

    Args:
        translators: List of `Translator` or other `Pipeline`, or of paths of their files. All
            must have the same source and target.
        search: `SearchOptions`; those of the first translator when left out, without a share of
            CTC unless all have a CTC layer.

    Returns:
        `Translator`, or `Pipeline` if the source is no text; it decodes, aligns, is saved and
        exported as any other.

    Raises:
        ValueError: If there is no translator, one comes twice, or the vocabularies differ.
        FileNotFoundError: If a file is missing.

    Example:
        >>> translator = ensemble(["seed-1/translator.keras", "seed-2/translator.keras"])
        >>> translator.save("both.keras")
    """
    translators = [one if isinstance(one, Pipeline) else Pipeline.load(one) for one in translators]
    if not translators:
        raise ValueError("An ensemble must have at least one translator. Received: translators=[]")
    first = translators[0]
    check_same_sides([(one.source, one.target) for one in translators])
    model = Ensemble([translator.model for translator in translators])
    if search is None:
        search = first.search
        if not model.has_ctc:
            search = dataclasses.replace(search, ctc_weight=0.0)
    parts = first.source, model, first.target, search
    return pipeline_of(*parts, vars(first).get("metrics"))


def check_same_sides(sides):
    """Raise ValueError unless all models of an ensemble have the same source and target.

    Args:
        sides: List of (`Source`, `Subwords`).
    """
    for number, other in enumerate(sides[1:], start=2):
        if other != sides[0]:
            raise ValueError(
                "The translators of an ensemble must have the same source and target. "
                f"Received: translator {number} with {_difference(other, sides[0])}."
            )


def _difference(other, first):
    """Text on the difference of two (source, target), a translator's and the first one's."""
    sides, own = ((getattr(source, "subwords", None), target) for source, target in (other, first))
    if other[0] != first[0] and sides == own:
        return (
            f"other settings of the source, {other[0].card} and not {first[0].card}. Train one of "
            "them again, on pairs of the same form"
        )
    return (
        "other vocabularies than the first. Train them on the same pairs, with the same vocabulary "
        "settings"
    )
