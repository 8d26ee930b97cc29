"""Options for text: vocabularies, and how words are split in training."""

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
    """Create a dataclass field for a training option; None means that the option is not given.

    `default` is a value, or a function of the other options. For the other arguments, see
    `settings.option.option`.
    """
    return option(None, check, help, resolved=default, heading=heading, **metadata)


text_field = functools.partial(training_field, heading="Text")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Options for the source and target vocabularies, and for splitting words."""

    vocabulary_size: int | None = text_field(
        VOCABULARY_SIZE,
        "Number of tokens in each vocabulary; fewer if the text does not have that many.",
    )
    model_type: str | None = text_field(
        _MODEL_TYPE,
        'Type of vocabulary: {choices}. The tokens of "grapheme" are characters with their '
        'combining marks. Those of "word" are separated by spaces, such as words or phonemes. '
        '"auto" is "word" for text that consists of single symbols separated by spaces, and '
        'otherwise "char".',
        "bpe",
    )
    normalization: str | None = text_field(
        _NORMALIZATION,
        'Unicode normalization of both sides: {choices}. "identity" and "none" keep characters '
        'unchanged, as phonemes require. With "none", a character vocabulary also keeps every '
        'space. "nfd" keeps every space, too, but decomposes characters, such as Hangul syllables '
        'into letters; outputs are recomposed. "auto" is "nfd" for Hangul, and otherwise "none". '
        '"fold" leaves the characters of targets unchanged: it is "nmt_nfkc" for the source and '
        '"identity" for the target. For a joint vocabulary, it is "nmt_nfkc" if that changes no '
        'target, and otherwise "identity".',
        FOLD,
    )
    source_vocabulary_size: int | None = text_field(
        VOCABULARY_SIZE,
        "Number of tokens in the source vocabulary. By default, `vocabulary_size`.",
        lambda options: options.vocabulary_size,
    )
    target_vocabulary_size: int | None = text_field(
        VOCABULARY_SIZE,
        "Number of tokens in the target vocabulary. By default, `vocabulary_size`.",
        lambda options: options.vocabulary_size,
    )
    source_model_type: str | None = text_field(
        _MODEL_TYPE,
        "Type of the source vocabulary: {choices}. By default, `model_type`.",
        lambda options: options.model_type,
    )
    target_model_type: str | None = text_field(
        _MODEL_TYPE,
        "Type of the target vocabulary: {choices}. By default, `model_type`.",
        lambda options: options.model_type,
    )
    source_normalization: str | None = text_field(
        _NORMALIZATION,
        "Unicode normalization of the source: {choices}. By default, `normalization`.",
        lambda options: options.normalization,
    )
    target_normalization: str | None = text_field(
        _NORMALIZATION,
        "Unicode normalization of the target: {choices}. By default, `normalization`.",
        lambda options: options.normalization,
    )
    subword_sampling: float | None = text_field(
        RATE,
        "Split words at random in each epoch. For BPE, this is the rate of skipped merges "
        "(BPE-dropout); for unigram, the smoothing of the probabilities. 0 for none.",
        0.0,
    )
    unknown_rate: float | None = text_field(
        RATE,
        "Fraction of pairs in which one character is replaced by the unknown token on both sides, "
        "so that the model learns to copy unseen characters. The saved search then uses "
        "replace_unknown. Use it for tasks whose sides share characters, such as inflection. The "
        'preset "characters" uses 0.2 for up to 5,000 such pairs.',
        0.0,
    )
    joint: bool | None = text_field(
        flag(),
        "Use one vocabulary for both languages, which requires the same model type, normalization "
        "and size for both.",
        can_be_joint,
        off="separate",
    )


def text_rules(settings):
    """Rules for vocabularies, and for using alignments with them."""
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
        "Leave joint out, or give both sides the same settings.",
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
            "Set subword_sampling to 0, or choose another model type.",
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
