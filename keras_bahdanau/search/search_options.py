"""Settings for a search, which are immutable, checked once, and recorded in every export."""

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


# Functions `(lengths, exponent)` by which log p is divided; they return 1 for exponent 0
LENGTH_PENALTIES = {"power": power, "gnmt": gnmt}


@documented
@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Settings for a search.

    Raises:
        ValueError: If a value is out of range.
    """

    beam_width: int = option(
        5,
        BEAM_WIDTH,
        "Number of hypotheses kept for each sentence; 1 is greedy search. If tokens are drawn at "
        "random, the number of draws.",
    )
    length_normalization: float = search_field(
        1.0,
        number(0, 8),  # the largest length to this power is still a finite float32
        "Exponent a of the length penalty, by which log p is divided. 0 ranks by probability, "
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
        "Factor b in b * sum_j log(min(sum_i alpha_ij, 1)), which lowers the scores of complete "
        "hypotheses that do not attend to all source tokens (Wu et al. 2016, eq. 14); 0 for no "
        "penalty.",
    )
    ctc_weight: float = search_field(
        0.0,
        number(0, 1),
        "Weight w of CTC in the score of each token, (1 - w) log p_attention + w log p_ctc "
        "(Watanabe et al. 2017), for a model that was trained with ctc_weight; 0 to search without "
        "CTC.",
    )
    min_length: int = search_field(
        1, LENGTH, "Minimum number of tokens in a translation, including the end token."
    )
    max_length: int = search_field(
        256, LENGTH, "Maximum number of tokens in a translation, including the end token."
    )
    max_length_ratio: float = search_field(
        2.0,
        number(0, 1000),
        "With max_length_offset, limits each translation by the length of its source: ratio * "
        "source tokens (for sources that are not text, positions of the memory) + offset. So a "
        "sentence has the same translation in any batch.",
    )
    max_length_offset: int = search_field(10, number(0, 10_000), "See max_length_ratio.")
    max_source_length: int | None = search_field(
        None,
        optional(SOURCE_LENGTH),
        "Maximum number of positions in a source, including the end token of a text. A longer "
        "source is truncated and marked as such. None uses the default of the source, for example "
        "512 tokens for text or 4,096 frames.",
    )
    no_repeat_ngram: int = search_field(
        0,
        integer(0, 100),
        "Size n of n-grams that no translation repeats; 0 to allow any repetition.",
    )
    write_symbols: bool = search_field(
        True,
        flag(),
        "Allow outputs to contain symbols that the vocabulary was trained with, such as the "
        "feature <PST> of a source. Training turns this off if no target contains a symbol.",
    )
    write_unknown: bool = search_field(
        False,
        flag(),
        "Allow outputs to contain the unknown token, written as ⁇. Otherwise the next best token "
        "is used, unless `replace_unknown` copies a part of the source.",
    )
    temperature: float | None = search_field(
        None,
        optional(number(1e-9, 1000)),
        "Draw tokens at random from p^(1/temperature) instead of searching for the best ones.",
    )
    top_k: int | None = search_field(
        None,
        optional(integer(1, 1_000_000)),
        "Draw tokens at random from this number of the most probable ones.",
    )
    top_p: float | None = search_field(
        None,
        optional(number(0, 1, "(]")),
        "Draw tokens at random from the smallest set of most probable ones whose probabilities sum "
        "to this value (Holtzman et al. 2020). Faster if top_k is also set.",
    )
    seed: int = search_field(0, integer(0, 2**32 - 1), "Random seed for the draws.")
    replace_unknown: bool = search_field(
        False,
        flag(),
        "Replace each unknown target token with a copy of the most attended source word (Luong et "
        "al. 2015; Jean et al. 2015). Between two character vocabularies, the most attended "
        "character is copied instead, chosen from the unknown ones if the source contains any.",
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
                "A search with ctc_weight must not draw at random, because its scores are not a "
                f"distribution. Received: ctc_weight={self.ctc_weight!r}, "
                f"temperature={self.temperature!r}, top_k={self.top_k!r}, top_p={self.top_p!r}. "
                "Set ctc_weight to 0, or omit temperature, top_k and top_p."
            )

    @classmethod
    def from_config(cls, config):
        """Return the options in a dictionary from a file, without entries of removed options."""
        return cls(**drop_removed(config))

    @property
    def random(self):
        """True if tokens are drawn at random, because `temperature`, `top_k` or `top_p` is set."""
        return any(value is not None for value in (self.temperature, self.top_k, self.top_p))

    def check_nbest(self, nbest):
        """Raise ValueError if `nbest` is not from 1 to the beam width."""
        if not integer(1, self.beam_width).allows(nbest):
            raise ValueError(
                f"`nbest` must be from 1 to the beam width, {self.beam_width}. "
                f"Received: nbest={nbest!r}. Use a number in that range, or a wider beam."
            )


def require_ctc(model, options):
    """Raise ValueError if a search uses CTC but the model was trained without it."""
    if options.ctc_weight and not model.source_limits.has_ctc:
        raise ValueError(
            "Only a model that was trained with ctc_weight has CTC probabilities. Received: "
            f"ctc_weight={options.ctc_weight!r} for a model trained without it. Set it to 0."
        )


def require_deterministic(options):
    """Raise ValueError if a search draws at random, which is not allowed in exports."""
    if options.random:
        raise ValueError(
            "An exported translator must give the same answer each time, so its search must not "
            f"draw at random. Received: temperature={options.temperature!r}, "
            f"top_k={options.top_k!r}, top_p={options.top_p!r}. Export a Translator whose "
            "SearchOptions set none of these."
        )
