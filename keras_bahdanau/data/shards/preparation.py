"""Settings for preparing parallel text, for Python and the command line."""

import dataclasses
import functools
import re

from keras_bahdanau.settings import limits
from keras_bahdanau.settings.option import (
    Check,
    check_option,
    documented,
    flag,
    integer,
    one_of,
    option,
    optional,
)
from keras_bahdanau.text.folding import FOLD, KEPT

WORKERS = optional(limits.WORKERS)
_NAMES = Check("names separated by commas", lambda value: isinstance(value, str))


def _are_scripts(value):
    import regex  # slow

    names = value.split(",") if isinstance(value, str) else [""]
    try:
        return all(
            re.fullmatch("[A-Za-z_]+", name) and regex.compile(rf"\p{{Script={name}}}")
            for name in names
        )
    except regex.error:
        return False


_SCRIPT = optional(
    Check("names of Unicode scripts separated by commas, such as Latin", _are_scripts)
)
_RATIO = Check(
    "0, or a number in [1, 1000]",
    lambda value: isinstance(value, int | float) and (value == 0 or 1 <= value <= 1000),
)


filter_field = functools.partial(option, heading="Filters")


@documented
@dataclasses.dataclass(frozen=True, kw_only=True)
class Filters:
    """Filters for pairs of texts.

    Raises:
        ValueError: If a value is out of range.

    Example:
        >>> Filters(max_ratio=3, target_script="Cyrillic")
    """

    drop_empty: bool = filter_field(
        True, flag(), "Drop pairs with a side that is empty or only white space.", off="keep-empty"
    )
    drop_broken: bool = filter_field(
        True,
        flag(),
        "Drop pairs with invalid UTF-8, replacement characters or control characters.",
        off="keep-broken",
    )
    max_characters: int = filter_field(
        1000,
        integer(0, 2**26),
        "Drop pairs with more than this many characters on a side. 0 keeps all.",
    )
    max_ratio: float = filter_field(
        9.0,
        _RATIO,
        "Drop pairs where one side has more than this many times the characters of the other. 0 "
        "keeps all.",
    )
    drop_copies: bool = filter_field(
        True, flag(), "Drop pairs whose two sides are identical.", off="keep-copies"
    )
    source_script: str | None = filter_field(
        None,
        _SCRIPT,
        "Drop pairs if at least half of the source's letters are not in these Unicode scripts, "
        "such as Latin, or Han,Hiragana,Katakana.",
    )
    target_script: str | None = filter_field(
        None, _SCRIPT, "Unicode scripts of the target: see source_script."
    )
    drop_duplicates: bool = filter_field(
        True,
        flag(),
        "Drop pairs that are identical to an earlier pair on both sides.",
        off="keep-duplicates",
    )

    def __post_init__(self):
        for field in dataclasses.fields(self):
            check_option(field, getattr(self, field.name))


@documented
@dataclasses.dataclass(frozen=True, kw_only=True)
class Preparation(Filters):
    """Settings for `prepare`: the filters, the vocabulary and the size of shards.

    Raises:
        ValueError: If a value is out of range.

    Example:
        >>> Preparation(vocabulary_size=16_000, target_script="Cyrillic")
    """

    vocabulary_size: int = option(
        32_000,
        limits.VOCABULARY_SIZE,
        "Number of tokens in each vocabulary; fewer if the text does not have that many.",
    )
    model_type: str = option(
        "bpe",
        one_of("bpe", "unigram", "char", "grapheme", "word"),
        'Type of vocabulary: {choices}. "bpe" is the fastest at splitting text.',
    )
    normalization: str = option(
        FOLD,
        one_of("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity", "none", FOLD),
        'Unicode normalization of both sides: {choices}. "fold" leaves the characters of targets '
        "unchanged, as in train.",
    )
    joint: bool = option(True, flag(), "Use one vocabulary for both sides.", off="separate")
    symbols: str = option(
        "",
        _NAMES,
        "Names separated by commas, such as <2de>,<2fr>, each of which is always a single token.",
    )
    sample: int = option(
        1_000_000,
        integer(1, 10_000_000),
        "Number of pairs from which the vocabulary is learned. The same corpus always gives the "
        "same sample.",
    )
    shard_pairs: int = option(
        100_000,
        integer(1, 1_000_000),
        "Number of pairs to read for each shard, including those that are dropped.",
    )

    def __post_init__(self):
        super().__post_init__()
        if self.symbols:
            from keras_bahdanau.text.vocabulary import training_settings  # slow

            normalization, symbols = self.text_settings.values()
            normalization = KEPT if normalization == FOLD else normalization
            training_settings(self.vocabulary_size, self.model_type, 1.0, normalization, symbols)

    @property
    def text_settings(self):
        """The settings for `Subwords.train_pair`, except the size and the type."""
        symbols = tuple(filter(None, self.symbols.split(",")))
        return {"normalization": self.normalization, "symbols": symbols}
