"""Settings of a preparation of parallel text, for Python and the command line."""

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
_NAMES = Check("names with commas between", lambda value: isinstance(value, str))


def _are_scripts(value):
    import regex  # which takes its time

    names = value.split(",") if isinstance(value, str) else [""]
    try:
        return all(
            re.fullmatch("[A-Za-z_]+", name) and regex.compile(rf"\p{{Script={name}}}")
            for name in names
        )
    except regex.error:
        return False


_SCRIPT = optional(
    Check("names of Unicode scripts with commas between, such as Latin", _are_scripts)
)
_RATIO = Check(
    "0, or a number in [1, 1000]",
    lambda value: isinstance(value, int | float) and (value == 0 or 1 <= value <= 1000),
)


filter_field = functools.partial(option, heading="Filters")


@documented
@dataclasses.dataclass(frozen=True, kw_only=True)
class Filters:
    """Filters of pairs of texts.

    Raises:
        ValueError: If a value is out of range.

    Example:
        >>> Filters(max_ratio=3, target_script="Cyrillic")
    """

    drop_empty: bool = filter_field(
        True, flag(), "Drop pairs with a side of white space alone.", off="keep-empty"
    )
    drop_broken: bool = filter_field(
        True,
        flag(),
        "Drop pairs with bytes that are not UTF-8, replacement characters or control characters.",
        off="keep-broken",
    )
    max_characters: int = filter_field(
        1000, integer(0, 2**26), "Drop pairs with a side of more characters; 0 keeps them."
    )
    max_ratio: float = filter_field(
        9.0,
        _RATIO,
        "Drop pairs of which one side has more than this many times the characters of the other; "
        "0 keeps them.",
    )
    drop_copies: bool = filter_field(
        True, flag(), "Drop pairs whose two sides are the same.", off="keep-copies"
    )
    source_script: str | None = filter_field(
        None,
        _SCRIPT,
        "Drop pairs of whose source at least half of the letters have another Unicode script than "
        "these, such as Latin, or Han,Hiragana,Katakana.",
    )
    target_script: str | None = filter_field(None, _SCRIPT, "The same for the target.")
    drop_duplicates: bool = filter_field(
        True,
        flag(),
        "Drop pairs that came before, with both sides the same.",
        off="keep-duplicates",
    )

    def __post_init__(self):
        for field in dataclasses.fields(self):
            check_option(field, getattr(self, field.name))


@documented
@dataclasses.dataclass(frozen=True, kw_only=True)
class Preparation(Filters):
    """Settings of `prepare`: the filters, the vocabulary and the size of shards.

    Raises:
        ValueError: If a value is out of range.

    Example:
        >>> Preparation(vocabulary_size=16_000, target_script="Cyrillic")
    """

    vocabulary_size: int = option(
        32_000, limits.VOCABULARY_SIZE, "Tokens of each vocabulary, or as many as the text has."
    )
    model_type: str = option(
        "bpe",
        one_of("bpe", "unigram", "char", "grapheme", "word"),
        'Vocabulary of SentencePiece: {choices}. "bpe" splits text fastest.',
    )
    normalization: str = option(
        FOLD,
        one_of("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity", "none", FOLD),
        'Unicode normalization of both sides: {choices}. "fold" keeps the characters of targets, '
        "as in train.",
    )
    joint: bool = option(True, flag(), "One vocabulary for both sides.", off="separate")
    symbols: str = option(
        "",
        _NAMES,
        "Names with commas between, such as <2de>,<2fr>, each of which is one token always.",
    )
    sample: int = option(
        1_000_000,
        integer(1, 10_000_000),
        "Pairs that the vocabulary is learnt from, the same for the same corpus.",
    )
    shard_pairs: int = option(
        100_000, integer(1, 1_000_000), "Pairs that are read for one shard, filtered ones included."
    )

    def __post_init__(self):
        super().__post_init__()
        if self.symbols:
            from keras_bahdanau.text.vocabulary import training_settings  # takes its time

            normalization, symbols = self.text_settings.values()
            normalization = KEPT if normalization == FOLD else normalization
            training_settings(self.vocabulary_size, self.model_type, 1.0, normalization, symbols)

    @property
    def text_settings(self):
        """The settings of `Subwords.train_pair` that are neither size nor type."""
        symbols = tuple(filter(None, self.symbols.split(",")))
        return {"normalization": self.normalization, "symbols": symbols}
