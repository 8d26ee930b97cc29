"""Hard or soft attention, found from the pairs: phonemes are in the order of the letters."""

import dataclasses

from keras_bahdanau.training.combinations import AUTO, in_order_of_letters

MOST = 20_000  # pairs; from more of them soft attention learns the order, too
MONOTONIC = "first-monotonic"


def with_hard_alignment(options, pairs, say=None):
    """Options with the kind of attention that was to be found.

    From letters to symbols with spaces between, such as phonemes, attention is exact, hard and
    monotonic (Wu and Cotterell 2019). It is soft for all other texts, for more than `MOST` pairs,
    with an option that only soft attention takes, and with more positions in a batch than the
    sums of hard attention may have.

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
    first, _ = next(iter(pairs), (None, None))  # another source than text has model types, too
    in_order = in_order_of_letters(resolved) and isinstance(first, str)
    if not in_order or len(pairs) > MOST:
        return soft
    try:
        hard = dataclasses.replace(options, hard_alignment=MONOTONIC)
    except ValueError:  # it does not go with the others
        return soft
    if say is not None:
        say(f"hard_alignment {MONOTONIC}: symbols are in the order of the letters")
    return hard
