"""Settings of a search: frozen, checked once, recorded in every export."""

import dataclasses
import functools

from keras_bahdanau.settings.limits import BEAM_WIDTH, LENGTH, SOURCE_LENGTH
from keras_bahdanau.settings.option import (
    check_option,
    documented,
    flag,
    integer,
    number,
    one_of,
    option,
    optional,
    plain,
)
from keras_bahdanau.settings.removed import drop_removed

search_field = functools.partial(option, heading="Search")


def power(lengths, exponent):
    """|Y|^a."""
    return lengths**exponent


def gnmt(lengths, exponent):
    """((5 + |Y|) / 6)^a      (Wu et al. 2016, eq. 14)."""
    return ((5.0 + lengths) / 6.0) ** exponent


# Functions `(lengths, exponent)` that log p is divided by; 1 for the exponent 0
LENGTH_PENALTIES = {"power": power, "gnmt": gnmt}


@documented
@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Settings of a search.

    Raises:
        ValueError: If a value is out of range.
    """

    beam_width: int = option(
        5,
        BEAM_WIDTH,
        "Hypotheses kept for each sentence; 1 is greedy search. If tokens are drawn at random, "
        "the number of draws.",
    )
    length_normalization: float = search_field(
        1.0,
        number(0, 8),  # the longest translation to this power is still a float32
        "Exponent a of the length penalty that log p is divided by. 0 ranks by probability, "
        "which favours short translations.",
    )
    length_penalty: str = search_field(
        "power",
        one_of(*LENGTH_PENALTIES),
        'Length penalty: "power" for length^a, or "gnmt" for ((5 + length) / 6)^a (Wu et al. '
        "2016, eq. 14).",
    )
    coverage_penalty: float = search_field(
        0.0,
        number(0, 1000),
        "Factor b of b * sum_j log(min(sum_i alpha_ij, 1)), which lowers the scores of whole "
        "hypotheses that leave source tokens out (Wu et al. 2016, eq. 14); 0 for none.",
    )
    ctc_weight: float = search_field(
        0.0,
        number(0, 1),
        "Share w of CTC in the score of each token, (1 - w) log p_attention + w log p_ctc "
        "(Watanabe et al. 2017), of a model that was trained with ctc_weight; 0 for none.",
    )
    min_length: int = search_field(
        1, LENGTH, "Fewest tokens of a translation, the end token included."
    )
    max_length: int = search_field(
        256, LENGTH, "Most tokens of a translation, the end token included."
    )
    max_length_ratio: float = search_field(
        2.0,
        number(0, 1000),
        "With max_length_offset, bounds each translation by its own source: ratio * source "
        "tokens + offset (of other sources: positions of the memory), so that a sentence gives "
        "the same translation in any batch.",
    )
    max_length_offset: int = search_field(10, number(0, 10_000), "See max_length_ratio.")
    max_source_length: int | None = search_field(
        None,
        optional(SOURCE_LENGTH),
        "Most positions of a source, the end token of a text included: a longer one is cut to them "
        "and marked. None stands for the source's own: 512 tokens of a text, 4,096 frames.",
    )
    no_repeat_ngram: int = search_field(
        0,
        integer(0, 100),
        "Size n of n-grams that no translation has twice; 0 for any repetition.",
    )
    write_symbols: bool = search_field(
        True,
        flag(),
        "Let texts have the symbols that the vocabulary was trained with, such as the features "
        "<PST> of a source; training turns it off where no target has one.",
    )
    write_unknown: bool = search_field(
        False,
        flag(),
        "Let texts have the unknown token, written as ⁇; otherwise the next best token replaces "
        "it, unless `replace_unknown` puts a part of the source there.",
    )
    temperature: float | None = search_field(
        None,
        optional(number(1e-9, 1000)),
        "Draws tokens at random, from p^(1/temperature), instead of searching for the best ones.",
    )
    top_k: int | None = search_field(
        None,
        optional(integer(1, 1_000_000)),
        "Draws tokens at random, from this number of the most probable ones.",
    )
    top_p: float | None = search_field(
        None,
        optional(number(0, 1, "(]")),
        "Draws tokens at random, from the fewest whose probabilities sum to this value (Holtzman "
        "et al. 2020); faster if top_k is given too.",
    )
    seed: int = search_field(0, integer(0, 2**32 - 1), "Seed of the draws.")
    replace_unknown: bool = search_field(
        False,
        flag(),
        "Copy the most attended source word for each unknown target token, or between two "
        "vocabularies of characters the character, an unknown one if the source has any (Luong et "
        "al. 2015; Jean et al. 2015).",
    )

    def __post_init__(self):
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, plain(getattr(self, field.name)))
            check_option(field, getattr(self, field.name))
        if self.min_length > self.max_length:
            raise ValueError(
                "`min_length` must be at most `max_length`. "
                f"Received: min_length={self.min_length}, max_length={self.max_length}"
            )
        if self.random and self.ctc_weight:
            raise ValueError(
                "A search with ctc_weight must not draw at random, as its scores are no "
                f"distribution. Received: ctc_weight={self.ctc_weight!r}, "
                f"temperature={self.temperature!r}, top_k={self.top_k!r}, top_p={self.top_p!r}. "
                "Give 0 for ctc_weight, or leave the others out."
            )

    @classmethod
    def from_config(cls, config):
        """The options that a file holds: `dataclasses.asdict` of them; see `settings.removed`."""
        return cls(**drop_removed(config))

    @property
    def random(self):
        """True if tokens are drawn at random: `temperature`, `top_k` or `top_p` is given."""
        return any(value is not None for value in (self.temperature, self.top_k, self.top_p))

    def check_nbest(self, nbest):
        """Raise ValueError if `nbest` is not from 1 to the beam width."""
        if not integer(1, self.beam_width).allows(nbest):
            raise ValueError(
                f"`nbest` must be from 1 to the beam width, {self.beam_width}. "
                f"Received: nbest={nbest!r}. Give such a number, or search with a wider beam."
            )


def require_ctc(model, options):
    """Raise ValueError if a search requests CTC from a model without it."""
    if options.ctc_weight and not model.source_limits.has_ctc:
        raise ValueError(
            "Only a model that was trained with ctc_weight has probabilities of CTC. Received: "
            f"ctc_weight={options.ctc_weight!r} for a search with another model. Give 0 for it."
        )


def require_deterministic(options):
    """Raise ValueError if a search draws at random, which exports must not."""
    if options.random:
        raise ValueError(
            "An exported translator must give the same answer each time, so its search must not "
            f"draw at random. Received: temperature={options.temperature!r}, "
            f"top_k={options.top_k!r}, top_p={options.top_p!r}. Export a Translator whose "
            "SearchOptions have none of them."
        )
