"""Hard or soft attention, found from the pairs: phonemes are in the order of the letters."""

import dataclasses
import itertools

from keras_bahdanau.training.combinations import AUTO
from keras_bahdanau.training.many_pairs import MANY

LETTERS, SYMBOLS = ("char", "grapheme"), "word"  # model types
MONOTONIC = "first-monotonic"


def with_hard_alignment(options, pairs, say=None):
    """Options with the kind of attention that was to be found.

    Where pairs are few, attention is exact, hard and monotonic (Wu and Cotterell 2019) from letters
    to symbols with spaces between, such as phonemes. It is soft for all else; for many pairs, which
    teach soft attention the order; where an option is given that only soft attention takes; and
    where there are too many positions for the sums of hard attention.

    Args:
        options: `TrainingOptions`, with model types that are found.
        pairs: List of (input of the source, target string); without pairs attention is soft.
        say: Function of one string, which is told of hard attention; None for none.

    Returns:
        `TrainingOptions`; the same ones if there is nothing to find.

    Example:
        >>> options = with_model_types(TrainingOptions(preset="characters"), [("red", "R EH D")])
        >>> with_hard_alignment(options, [("red", "R EH D")]).hard_alignment
        'first-monotonic'
    """
    resolved = options.resolved()
    if resolved.hard_alignment != AUTO:
        return options
    soft = dataclasses.replace(options, hard_alignment="none")
    types = resolved.source_model_type, resolved.target_model_type
    in_order = types[0] in LETTERS and types[1] == SYMBOLS and _are_texts(pairs)
    if not in_order or len(pairs) > MANY:
        return soft
    try:
        hard = dataclasses.replace(options, hard_alignment=MONOTONIC)
    except ValueError:  # it does not go with the others
        return soft
    if say is not None:
        say(f"hard_alignment {MONOTONIC}: symbols are in the order of the letters")
    return hard


def _are_texts(pairs):
    first = [one for one, _ in itertools.islice(pairs, 1)]
    return bool(first) and isinstance(first[0], str)
