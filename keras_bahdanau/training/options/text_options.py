"""Options of the text: its vocabularies, and how training reads it."""

import dataclasses
import functools

from keras_bahdanau.settings.limits import VOCABULARY_SIZE
from keras_bahdanau.settings.option import flag, number, one_of, option
from keras_bahdanau.text.folding import FOLD
from keras_bahdanau.training.presets.preset import AUTO, can_be_joint

RATE, WEIGHT = number(0, 1, "[)"), number(0, 1000)
_MODEL_TYPE = one_of("bpe", "unigram", "char", "grapheme", "word", AUTO)
_NORMALIZATION = one_of(
    *("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity", "none", "nfd", AUTO, FOLD)
)


def training_field(check, help, default=None, heading="Training", **metadata):
    """Field of a training option; None if the user leaves it out.

    `default` is a value, or a function of the other options; the rest as in
    `settings.option.option`.
    """
    return option(None, check, help, resolved=default, heading=heading, **metadata)


text_field = functools.partial(training_field, heading="Text")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Vocabularies of source and target, and the splits of their words."""

    vocabulary_size: int | None = text_field(
        VOCABULARY_SIZE, "Tokens of each vocabulary, or as many as the text has."
    )
    model_type: str | None = text_field(
        _MODEL_TYPE,
        'Vocabulary of SentencePiece: {choices}. "grapheme" has characters, each with its '
        'combining marks, "word" what stands between spaces, such as phonemes; "auto" is "word" '
        'for a side whose text is single symbols with spaces between, and else "char".',
        "bpe",
    )
    normalization: str | None = text_field(
        _NORMALIZATION,
        'Unicode normalization of both sides: {choices}. "identity" and "none" leave characters as '
        'they are, which phonemes need; with "none" a vocabulary of characters keeps every space, '
        'too. "nfd" does, and decomposes characters, such as Hangul syllables into letters; '
        'targets are composed again. "auto" is "nfd" for a side of Hangul, and else "none". "fold" '
        'keeps the characters of targets: it is "nmt_nfkc" for the source and "identity" for the '
        'target; of a joint vocabulary "nmt_nfkc" if that changes no target, else "identity".',
        FOLD,
    )
    source_vocabulary_size: int | None = text_field(
        VOCABULARY_SIZE,
        "Tokens of the source vocabulary; `vocabulary_size` if left out.",
        lambda options: options.vocabulary_size,
    )
    target_vocabulary_size: int | None = text_field(
        VOCABULARY_SIZE,
        "Tokens of the target vocabulary; `vocabulary_size` if left out.",
        lambda options: options.vocabulary_size,
    )
    source_model_type: str | None = text_field(
        _MODEL_TYPE,
        "Vocabulary of the source: {choices}; `model_type` if left out.",
        lambda options: options.model_type,
    )
    target_model_type: str | None = text_field(
        _MODEL_TYPE,
        "Vocabulary of the target: {choices}; `model_type` if left out.",
        lambda options: options.model_type,
    )
    source_normalization: str | None = text_field(
        _NORMALIZATION,
        "Unicode normalization of the source: {choices}; `normalization` if left out.",
        lambda options: options.normalization,
    )
    target_normalization: str | None = text_field(
        _NORMALIZATION,
        "Unicode normalization of the target: {choices}; `normalization` if left out.",
        lambda options: options.normalization,
    )
    subword_sampling: float | None = text_field(
        RATE,
        "New split of the words in each epoch: for BPE the rate of merges left out "
        "(BPE-dropout), for unigram the smoothing of the probabilities; 0 for none.",
        0.0,
    )
    unknown_rate: float | None = text_field(
        RATE,
        "Rate of the pairs in which one character of both sides becomes the unknown token, so that "
        "the model learns to copy characters that it has never seen. The saved search then has "
        "replace_unknown. For sides that share characters, such as inflection: up to 5,000 such "
        "pairs have 0.2 in the preset characters.",
        0.0,
    )
    joint: bool | None = text_field(
        flag(),
        "One vocabulary for both languages; only if both have one model type, one normalization "
        "and one size.",
        can_be_joint,
        off="separate",
    )


def text_rules(settings):
    """Rules of vocabularies, and of alignments with them."""
    yield (
        "A joint vocabulary has one model type, one normalization and one size",
        not settings.joint
        or settings.source_model_type == settings.target_model_type
        and settings.source_normalization == settings.target_normalization
        and settings.source_vocabulary_size == settings.target_vocabulary_size,
        (
            *("joint", "source_model_type", "target_model_type"),
            *("source_normalization", "target_normalization"),
            *("source_vocabulary_size", "target_vocabulary_size"),
        ),
        "Leave joint out, or give both sides the same.",
    )
    yield (
        "Sharing embeddings takes one vocabulary",
        settings.joint or not settings.share_embeddings,
        ("share_embeddings", "joint"),
        "Leave one of them out.",
    )
    for name in ("source_model_type", "target_model_type"):
        yield (
            "Only the tokens of BPE and of unigram can be sampled",
            not settings.subword_sampling or getattr(settings, name) in ("bpe", "unigram"),
            ("subword_sampling", name),
            "Give 0 for it, or another model type.",
        )
    for name, aligned in {
        "guided_alignment": settings.guided_alignment > 0,
        "attention": settings.attention == "forced",
    }.items():
        yield (
            "Alignments go with words that are split in one way",
            not (settings.subword_sampling and aligned),
            ("subword_sampling", name),
            "Leave one of them out.",
        )
