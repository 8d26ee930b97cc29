"""Options of the text: vocabularies, and how training splits words."""

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
    """Field of a training option, with None for an option that is left out.

    `default` is a value, or a function of the other options; for the rest see
    `settings.option.option`.
    """
    return option(None, check, help, resolved=default, heading=heading, **metadata)


text_field = functools.partial(training_field, heading="Text")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Vocabularies of source and target, and how words are split."""

    vocabulary_size: int | None = text_field(
        VOCABULARY_SIZE, "Tokens of each vocabulary, or as many as the text has."
    )
    model_type: str | None = text_field(
        _MODEL_TYPE,
        'Vocabulary of SentencePiece: {choices}. "grapheme" has characters, each with its '
        'combining marks; "word" has words separated by spaces, such as phonemes; "auto" is "word" '
        'for text that consists of space-separated single symbols, otherwise "char".',
        "bpe",
    )
    normalization: str | None = text_field(
        _NORMALIZATION,
        'Unicode normalization of both sides: {choices}. "identity" and "none" keep characters '
        'unchanged, as phonemes require; with "none" a character vocabulary also keeps every '
        'space. So does "nfd", which decomposes characters, such as Hangul syllables into letters; '
        'outputs are recomposed. "auto" is "nfd" for Hangul, otherwise "none". "fold" keeps the '
        'characters of targets: it is "nmt_nfkc" for the source and "identity" for the target; '
        'for a joint vocabulary "nmt_nfkc" if that changes no target, otherwise "identity".',
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
        "Split words at random in each epoch: the rate of skipped merges for BPE (BPE-dropout), "
        "the smoothing of the probabilities for unigram; 0 for none.",
        0.0,
    )
    unknown_rate: float | None = text_field(
        RATE,
        "Rate of pairs in which one character on both sides becomes the unknown token, so that the "
        "model learns to copy unseen characters. The saved search then uses replace_unknown. For "
        "sides that share characters, as in inflection; the preset characters uses 0.2 for up to "
        "5,000 such pairs.",
        0.0,
    )
    joint: bool | None = text_field(
        flag(),
        "One vocabulary for both languages; requires the same model type, normalization and size "
        "for both.",
        can_be_joint,
        off="separate",
    )


def text_rules(settings):
    """Rules for vocabularies, and for alignments with them."""
    yield (
        "A joint vocabulary needs the same model type, normalization and size on both sides",
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
        "Sharing embeddings needs a joint vocabulary",
        settings.joint or not settings.share_embeddings,
        ("share_embeddings", "joint"),
        "Leave one of them out.",
    )
    for name in ("source_model_type", "target_model_type"):
        yield (
            "Only BPE and unigram support subword sampling",
            not settings.subword_sampling or getattr(settings, name) in ("bpe", "unigram"),
            ("subword_sampling", name),
            "Set it to 0, or give another model type.",
        )
    for name, aligned in {
        "guided_alignment": settings.guided_alignment > 0,
        "attention": settings.attention == "forced",
    }.items():
        yield (
            "Alignments need words that are always split in the same way",
            not (settings.subword_sampling and aligned),
            ("subword_sampling", name),
            "Leave one of them out.",
        )
