"""What a search is to do: frozen, checked once, recorded with every export."""

import dataclasses
import math

from keras_bahdanau.search.penalties import LENGTH_PENALTIES


@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Settings of a search.

    The command line shows these sentences as its own.

    Args:
        beam_width: Hypotheses kept for each sentence; 1 is greedy search. If
            tokens are drawn at random, the number of draws.
        length_normalization: Exponent a of the length penalty that log p is
            divided by. 0 ranks by probability, which favours short translations.
        length_penalty: "power" for length^a, or "gnmt" for ((5 + length) / 6)^a
            (Wu et al. 2016, eq. 14).
        coverage_penalty: Factor b of b * sum_j log(min(sum_i alpha_ij, 1)),
            which lowers the scores of whole hypotheses that leave source tokens
            out (Wu et al. 2016, eq. 14); 0 for none.
        min_length: Fewest tokens of a translation, the end token included.
        max_length: Most tokens of a translation, the end token included.
        max_length_ratio: With max_length_offset, bounds each translation by
            its own source: ratio * source tokens + offset, so that a sentence
            gives the same translation in any batch.
        max_length_offset: See max_length_ratio.
        no_repeat_ngram: Size n of n-grams that no translation has twice; 0
            for any repetition.
        temperature: Draws tokens at random, from p^(1/temperature), instead
            of searching for the best ones.
        top_k: Draws tokens at random, from so many that are most probable.
        top_p: Draws tokens at random, from the fewest whose probabilities sum
            to this share (Holtzman et al. 2020); faster if top_k is given too.
        seed: Of the draws.
        replace_unknown: Whether the most attended source word is copied for
            each unknown target token (Luong et al. 2015; Jean et al. 2015).

    Raises:
        ValueError: If a value is out of range.
    """

    beam_width: int = 5
    length_normalization: float = 1.0
    length_penalty: str = "power"
    coverage_penalty: float = 0.0
    min_length: int = 1
    max_length: int = 256
    max_length_ratio: float = 2.0
    max_length_offset: int = 10
    no_repeat_ngram: int = 0
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0
    replace_unknown: bool = False

    def __post_init__(self):
        for names, demand, fulfils in _DEMANDS:
            for name in names:
                value = getattr(self, name)
                if not fulfils(value):
                    raise ValueError(f"`{name}` must be {demand}. Received: {name}={value!r}")
        if self.min_length > self.max_length:
            raise ValueError(
                "`min_length` must be at most `max_length`. "
                f"Received: min_length={self.min_length}, max_length={self.max_length}"
            )

    @property
    def random(self):
        """Whether tokens are drawn at random: one of `temperature`, `top_k`, `top_p` is given."""
        return any(value is not None for value in (self.temperature, self.top_k, self.top_p))


def require_deterministic(options):
    """Raises ValueError if a search draws at random, which no export may.

    Args:
        options: `SearchOptions`.
    """
    if options.random:
        raise ValueError(
            "An exported translator must give the same answer each time, so its search must not "
            f"draw at random. Received: temperature={options.temperature!r}, "
            f"top_k={options.top_k!r}, top_p={options.top_p!r}. Export a Translator whose "
            "SearchOptions have none of them."
        )


def _whole(lowest):
    return lambda value: type(value) is int and value >= lowest


def _number(value):
    return type(value) in (int, float) and math.isfinite(value)


def _optional(fulfils):
    return lambda value: value is None or fulfils(value)


_DEMANDS = (
    (("beam_width", "min_length", "max_length"), "a positive integer", _whole(1)),
    (("no_repeat_ngram", "seed"), "an integer >= 0", _whole(0)),
    (
        ("length_normalization", "coverage_penalty", "max_length_ratio", "max_length_offset"),
        "a number >= 0",
        lambda value: _number(value) and value >= 0,
    ),
    (
        ("length_penalty",),
        f"one of {', '.join(map(repr, LENGTH_PENALTIES))}",
        lambda value: isinstance(value, str) and value in LENGTH_PENALTIES,
    ),
    (
        ("temperature",),
        "a number above 0, or None",
        _optional(lambda value: _number(value) and value > 0),
    ),
    (("top_k",), "a positive integer, or None", _optional(_whole(1))),
    (
        ("top_p",),
        "a number above 0, at most 1, or None",
        _optional(lambda value: _number(value) and 0 < value <= 1),
    ),
    (("replace_unknown",), "True or False", lambda value: isinstance(value, bool)),
)
