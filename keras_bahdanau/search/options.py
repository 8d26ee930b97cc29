"""What a search is to do: frozen, checked once, recorded with every export."""

import dataclasses
import math


@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Settings of greedy and beam search.

    Args:
        beam_width: Hypotheses kept for each sentence; 1 is greedy search.
        length_normalization: Exponent a of score = log p / length^a. 0 ranks
            by probability, which favours short translations.
        max_length: Most tokens of a translation, the end token included.
        max_length_ratio: With `max_length_offset`, bounds each translation by
            its own source: ratio * source tokens + offset, so that a sentence
            gives the same translation in any batch.
        max_length_offset: See `max_length_ratio`.

    Raises:
        ValueError: If a value is out of range.
    """

    beam_width: int = 5
    length_normalization: float = 1.0
    max_length: int = 256
    max_length_ratio: float = 2.0
    max_length_offset: int = 10

    def __post_init__(self):
        for name in ("beam_width", "max_length"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"`{name}` must be a positive integer. Received: {name}={value!r}")
        for name in ("length_normalization", "max_length_ratio", "max_length_offset"):
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 <= value < math.inf:
                raise ValueError(f"`{name}` must be a number >= 0. Received: {name}={value!r}")
