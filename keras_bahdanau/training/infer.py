"""Options that follow from the pairs of a training: model types, normalizations, defaults.

Only options that the user leaves out, or sets to "auto", are inferred.
"""

import math
from typing import NamedTuple

import regex

from keras_bahdanau.settings.limits import LONGEST
from keras_bahdanau.text.folding import FOLD, fold_normalizations
from keras_bahdanau.text.graphemes import is_cluster
from keras_bahdanau.training.options import resolve
from keras_bahdanau.training.presets import PRESETS
from keras_bahdanau.training.presets.preset import AUTO, is_hard, maps_letters_to_symbols

SIDES = ("source", "target")
SAMPLE, BEGINNING = 2000, 1000  # texts of a side, spread evenly, and code points of each
SHARE_OF_SEQUENCES = 0.8  # share of texts with several symbols
LONGEST_SYMBOL = 2  # mean characters of a symbol
HANGUL = "\uac00", "\ud7a3"  # first and last of the syllables
SHARE_OF_HANGUL = 0.5  # share of texts with a syllable
MOST_HARD = 20_000  # pairs; with more of them soft attention learns the order, too
MONOTONIC = "first-monotonic"
MOST_COPIED = 5_000  # pairs: 1,000 forms gain from unknown characters, 10,000 do not
SHARE_OF_COPIES = 0.5  # share of the letters of a target that its source also has
HEADROOM = 1.25  # ratio of outputs to the longest training targets
SHARE_OF_RATIO = 0.99  # share of the pairs whose ratio bounds outputs; the rest raises the offset
_CHARACTER = regex.compile(r"\X")
_MEANINGS = {
    "word": "word (symbols with spaces between)",
    "nfd": "nfd (Hangul syllables in letters)",
}


class Facts(NamedTuple):
    """Properties of the pairs from which options are inferred.

    Attributes:
        texts: List of (input, target string); empty for shards, which hold ids.
        count: Integer, number of pairs.
        symbols: Strings in a source that are not part of its text, such as features.
        source: `Source` or `Subwords`, or None for a vocabulary to be learned.
        target: `Subwords`, or None.
    """

    texts: list
    count: int
    symbols: tuple | list = ()
    source: object = None
    target: object = None


class Inference(NamedTuple):
    """Options that a rule infers, and a line for the report or "".

    `otherwise` replaces values that contradict other options; None raises that error.
    """

    values: dict
    report: str = ""
    otherwise: dict | None = None


def infer(decided, facts, say=None, rules=None):
    """Options with the values that follow from the pairs.

    A rule maps (`ResolvedOptions`, names, `Facts`) to an `Inference` or None; later rules build on
    earlier ones. Raises ValueError if inferred values contradict other options, such as `joint`.
    """
    options = resolve(decided)
    for rule in RULES if rules is None else rules:
        inference = rule(options, inferred_names(decided, options), facts)
        if inference is None:
            continue
        values, report, otherwise = inference
        try:
            options = resolve({**decided, **values})
        except ValueError:
            if otherwise is None:
                raise
            values, report = otherwise, ""
            options = resolve({**decided, **values})
        decided = {**decided, **values}
        if report and say is not None:
            say(report)
    return decided


def inferred_names(decided, options):
    """Names of the options to infer from the pairs: "auto", "fold", and defaults."""
    names = [name for name, value in vars(options).items() if value in (AUTO, FOLD)]
    preset = PRESETS[options.preset]
    defaults = dict.fromkeys(name for values in preset.many_pairs.values() for name in values)
    # what is off stays off: batches of sentences where there are batches of tokens
    names += [name for name in defaults if getattr(options, name) and name not in decided]
    return names + [name for name in preset.common_letters if name not in decided]


def infer_model_types(options, names, facts):
    """Model types of both sides: "word" for single symbols separated by spaces, else "char"."""
    types = {
        side: model_type_of([pair[column] for pair in facts.texts], facts.symbols)
        for column, side in enumerate(SIDES)
        if f"{side}_model_type" in names
    }
    return _model_types(types, "text") if types else None


def model_types_of_vocabularies(decided, source, target):
    """Model types of existing vocabularies, where options have none."""
    types = types_of(source, target)
    names = inferred_names(decided, resolve(decided))
    unknown = {side: value for side, value in types.items() if f"{side}_model_type" in names}
    inference = _model_types(unknown, "vocabularies") if unknown else Inference({})
    if "model_type" in decided:
        return inference
    values = {f"{side}_model_type": value for side, value in types.items()}
    left_out = {name: value for name, value in values.items() if name not in decided}
    return inference._replace(values={**left_out, **inference.values})


def _model_types(types, origin):
    meanings = ", ".join(f"{side} {_MEANINGS.get(value, value)}" for side, value in types.items())
    return Inference(
        {f"{side}_model_type": value for side, value in types.items()},
        f"model types, found from the {origin}: {meanings}",
    )


def infer_normalizations(options, names, facts):
    """Normalizations of both sides: "nfd" for Hangul, else "none"; words keep their symbols."""
    values = {}
    for column, side in enumerate(SIDES):
        if getattr(options, f"{side}_normalization") == AUTO:
            has_words = getattr(options, f"{side}_model_type") == "word"
            texts = [] if has_words else [pair[column] for pair in facts.texts]
            values[f"{side}_normalization"] = normalization_of(texts)
    if not values:
        return None
    meanings = (
        f"{name.partition('_')[0]} {_MEANINGS.get(value, value)}" for name, value in values.items()
    )
    report = f"normalization, found from the text: {', '.join(meanings)}"
    return Inference(values, report if "nfd" in values.values() else "")


def infer_folding(options, names, facts):
    """Normalizations that keep the characters of targets: see `fold_normalizations`."""
    sides = [side for side in SIDES if getattr(options, f"{side}_normalization") == FOLD]
    if not sides:
        return None
    joint = options.joint and facts.source is None and facts.target is None and len(sides) == 2
    targets = [target for _, target in facts.texts] if joint else []
    *normalizations, report = fold_normalizations(targets, joint)
    values = dict(zip(SIDES, normalizations, strict=True))
    return Inference({f"{side}_normalization": values[side] for side in sides}, report)


def infer_defaults_of_many_pairs(options, names, facts):
    """Defaults that a preset has for more pairs than a number."""
    many = PRESETS[options.preset].many_pairs
    passed = [limit for limit in many if facts.count > limit]
    settings = {name: value for limit in passed for name, value in many[limit].items()}
    values = {
        name: value(options) if callable(value) else value
        for name, value in settings.items()
        if name in names
    }
    if not values:
        return None
    return Inference(values, f"defaults for more than {max(passed):,} pairs: {_listed(values)}")


def infer_hard_alignment(options, names, facts):
    """Exact hard monotonic attention from letters to symbols such as phonemes, else soft.

    Wu and Cotterell 2019. Soft for more than `MOST_HARD` pairs, if an option requires it, or if a
    batch is too large for the sums of hard attention.
    """
    if options.hard_alignment != AUTO:
        return None
    soft = {"hard_alignment": "none"}
    first, _ = next(iter(facts.texts), (None, None))
    is_in_order = maps_letters_to_symbols(options) and isinstance(first, str)
    if not is_in_order or facts.count > MOST_HARD:
        return Inference(soft)
    report = f"hard_alignment {MONOTONIC}: symbols are in the order of the letters"
    return Inference({"hard_alignment": MONOTONIC}, report, otherwise=soft)


def infer_defaults_of_common_letters(options, names, facts):
    """A preset's defaults for sides that share their letters, as in inflection.

    Both sides are whole characters, at least half of a target's letters are in its source, and
    attention is soft, without a pointer-generator.
    """
    settings = PRESETS[options.preset].common_letters
    values = {name: value for name, value in settings.items() if name in names}
    can_copy = (
        options.source_model_type == options.target_model_type == "char"
        and options.target_normalization != "nfd"  # decomposed letters are not whole characters
        and not is_hard(options)
        and not options.copy
    )
    if not (values and can_copy and _have_characters(facts) and _share_letters(facts)):
        return None
    report = f"defaults for sides that share their letters: {_listed(values)}"
    return Inference(values, report, otherwise={})


RULES = (
    infer_model_types,
    infer_normalizations,
    infer_folding,
    infer_defaults_of_many_pairs,
    infer_hard_alignment,
    infer_defaults_of_common_letters,
)


def _listed(values):
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _have_characters(facts):
    """True if all existing vocabularies are of characters, none of them decomposed."""
    types = types_of(facts.source, facts.target)
    sides = {"source": facts.source, "target": facts.target}
    known = all(types.get(side) == "char" for side, value in sides.items() if value is not None)
    return known and not (facts.target and facts.target.composes)


def _share_letters(facts):
    """True for at most `MOST_COPIED` pairs whose targets are mostly letters of their sources."""
    if not 0 < len(facts.texts) <= MOST_COPIED:
        return False
    shares = []
    for source, target in list(facts.texts)[:: 1 + len(facts.texts) // SAMPLE]:
        letters = [letter for letter in target if letter.isalpha()]  # digits are known, as in dates
        if isinstance(source, str) and letters:
            source = " ".join(word for word in source.split() if word not in facts.symbols)
            shares.append(sum(letter in source for letter in letters) / len(letters))
    return bool(shares) and sum(shares) / len(shares) >= SHARE_OF_COPIES


def types_of(source, target):
    """Model types of vocabularies by side, "source" and "target", without unknown ones."""
    sides = {"source": getattr(source, "subwords", source), "target": target}
    return {side: _type_of(value) for side, value in sides.items() if value is not None}


def is_same_type(model_type, actual):
    """True if `model_type` fits a vocabulary: None always does, "grapheme" also without marks."""
    return model_type in (None, AUTO, actual) or (model_type, actual) == ("grapheme", "char")


def _type_of(subwords):
    """Model type of `Subwords`, "grapheme" if characters with marks are tokens."""
    if subwords.model_type != "char":
        return subwords.model_type
    tokens = subwords.tokens(range(subwords.vocabulary_size)).tolist()
    return "grapheme" if any(map(is_cluster, tokens)) else "char"


def model_type_of(texts, symbols=()):
    """The model type of a side of characters: "word" for symbols separated by spaces, else "char".

    Of some 2,000 lines, spread evenly, more than four in five must be several symbols separated by
    single spaces, with fewer than two characters (with their marks) per symbol on average.
    Phonemes have 1.0 to 1.5; words and Vietnamese syllables have more. Hangul with spaces is
    "char": its syllables are decomposed to letters (`normalization_of`).
    """
    ignored, texts = set(symbols), _sample(texts)
    rows = [[word for word in text.split() if word not in ignored] for text in texts]
    sequences = sum(
        len(row) > 1 and " ".join(row) in text for row, text in zip(rows, texts, strict=True)
    )
    lengths = [len(_CHARACTER.findall(word)) for row in rows for word in row]
    are_short = sum(lengths) < LONGEST_SYMBOL * len(lengths)
    are_symbols = sequences > SHARE_OF_SEQUENCES * len(rows) and are_short
    # symbols are the letters of Hangul, into which only model type "char" splits its syllables
    return "word" if are_symbols and normalization_of(texts) != "nfd" else "char"


def normalization_of(texts):
    """The normalization of a side of characters: "nfd" for Hangul, else "none".

    A text has only some of the 11,172 Hangul syllables, but all of their 67 letters. More than half
    of some 2,000 texts, spread evenly, must have a syllable.
    """
    texts = _sample(texts)
    first, last = HANGUL
    count = sum(any(first <= character <= last for character in text) for text in texts)
    return "nfd" if count > SHARE_OF_HANGUL * len(texts) else "none"


def _sample(texts):
    """The beginnings of some 2,000 non-empty texts, spread evenly."""
    texts = [text for text in texts if isinstance(text, str) and text.strip()]
    return [text[:BEGINNING] for text in texts[:: max(1, len(texts) // SAMPLE)]]


def infer_output_limits(lengths, reduction, limits):
    """Limits of a search, with headroom over the targets of the training pairs.

    `lengths` yields int arrays (positions of sources, tokens of targets); an encoder merges
    `reduction` positions into one. `limits` are the least `max_length_ratio`,
    `max_length_offset` and `max_length`, which stay if all targets fit. The ratio fits nearly all
    pairs, the offset the rest.
    """
    import numpy as np  # which takes its time

    sources, targets = (np.concatenate(side) for side in zip(*lengths, strict=True))
    positions, needed = -(-sources // reduction), HEADROOM * targets
    ratio, offset = limits["max_length_ratio"], limits["max_length_offset"]
    if np.any(needed > ratio * positions + offset):
        ratios = (needed - offset) / positions
        ratio = max(ratio, math.ceil(10 * np.quantile(ratios, SHARE_OF_RATIO)) / 10)
        ratio = min(ratio, 1000.0)
        offset = max(offset, math.ceil(np.max(needed - ratio * positions)))
    longest = max(limits["max_length"], math.ceil(needed.max(initial=0)))
    return {
        "max_length_ratio": ratio,
        "max_length_offset": min(offset, LONGEST),
        "max_length": min(longest, LONGEST),
    }
