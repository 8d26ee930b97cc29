"""Options that are inferred from the training pairs: model types, normalizations, defaults.

An option is inferred only if the user leaves it out, or sets it to "auto" or "fold".
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
SAMPLE, BEGINNING = 2000, 1000  # evenly spread texts per side, and code points used of each
SHARE_OF_SEQUENCES = 0.8  # fraction of texts that must have several symbols
LONGEST_SYMBOL = 2  # limit on the mean number of characters in a symbol
HANGUL = "\uac00", "\ud7a3"  # first and last Hangul syllable
SHARE_OF_HANGUL = 0.5  # fraction of texts that must contain a Hangul syllable
MOST_HARD = 20_000  # from more pairs than this, soft attention also learns the order
MONOTONIC = "first-monotonic"
MOST_COPIED = 5_000  # pairs: unknown characters help with 1,000 forms, but not with 10,000
SHARE_OF_COPIES = 0.5  # fraction of a target's letters that must also be in its source
HEADROOM = 2  # maximum length of an output, relative to the training targets
SHARE_OF_RATIO = 0.99  # fraction of pairs that the ratio must fit; the offset fits the rest
_CHARACTER = regex.compile(r"\X")
_MEANINGS = {
    "word": "word (symbols separated by spaces)",
    "nfd": "nfd (Hangul syllables as letters)",
}


class Facts(NamedTuple):
    """Properties of the pairs from which options are inferred.

    Attributes:
        texts: List of (input, target string); empty for shards, which contain only ids.
        count: Integer, the number of pairs.
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
    """Options inferred by a rule, and a line to report, or "".

    If `values` contradict other options, `otherwise` is used instead. If that is None, the
    contradiction is an error.
    """

    values: dict
    report: str = ""
    otherwise: dict | None = None


def infer(decided, facts, say=None, rules=None):
    """Return the decided options, completed by those inferred from the pairs.

    A rule maps (`ResolvedOptions`, names, `Facts`) to an `Inference` or None. Later rules build on
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
    """Return the names of the options to infer: those set to "auto" or "fold", and defaults."""
    names = [name for name, value in vars(options).items() if value in (AUTO, FOLD)]
    preset = PRESETS[options.preset]
    defaults = dict.fromkeys(name for values in preset.many_pairs.values() for name in values)
    # an option that is off stays off, such as batch_sentences when batch_tokens is given
    names += [name for name in defaults if getattr(options, name) and name not in decided]
    return names + [name for name in preset.common_letters if name not in decided]


def infer_model_types(options, names, facts):
    """Infer the model type of each side: "word" for space-separated symbols, else "char"."""
    types = {
        side: model_type_of([pair[column] for pair in facts.texts], facts.symbols)
        for column, side in enumerate(SIDES)
        if f"{side}_model_type" in names
    }
    return _model_types(types, "text") if types else None


def model_types_of_vocabularies(decided, source, target):
    """Return the model types of existing vocabularies, for options that don't give them."""
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
        f"model types, inferred from the {origin}: {meanings}",
    )


def infer_normalizations(options, names, facts):
    """Infer the normalization of each side: "nfd" for Hangul characters, otherwise "none"."""
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
    report = f"normalization, inferred from the text: {', '.join(meanings)}"
    return Inference(values, report if "nfd" in values.values() else "")


def infer_folding(options, names, facts):
    """Choose normalizations that keep the characters of targets: see `fold_normalizations`."""
    sides = [side for side in SIDES if getattr(options, f"{side}_normalization") == FOLD]
    if not sides:
        return None
    joint = options.joint and facts.source is None and facts.target is None and len(sides) == 2
    targets = [target for _, target in facts.texts] if joint else []
    *normalizations, report = fold_normalizations(targets, joint)
    values = dict(zip(SIDES, normalizations, strict=True))
    return Inference({f"{side}_normalization": values[side] for side in sides}, report)


def infer_defaults_of_many_pairs(options, names, facts):
    """Return the defaults that a preset defines for large numbers of pairs."""
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
    """Choose exact hard monotonic attention from letters to symbols, such as phonemes.

    See Wu and Cotterell 2019. Attention is soft for other text, for more than `MOST_HARD` pairs, if
    an option requires it, or if a batch needs too much memory for hard attention.
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
    """Return a preset's defaults for sides with many letters in common, as in inflection.

    They apply if both sides are split into whole characters, if on average at least half of a
    target's letters are in its source, and if attention is soft, without a pointer-generator.
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
    report = f"defaults for sides with many letters in common: {_listed(values)}"
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
    """Return True if all existing vocabularies consist of characters that are not decomposed."""
    types = types_of(facts.source, facts.target)
    sides = {"source": facts.source, "target": facts.target}
    known = all(types.get(side) == "char" for side, value in sides.items() if value is not None)
    return known and not (facts.target and facts.target.composes)


def _share_letters(facts):
    """Return True if the letters of most targets are in the sources, for few enough pairs."""
    if not 0 < len(facts.texts) <= MOST_COPIED:
        return False
    shares = []
    for source, target in list(facts.texts)[:: 1 + len(facts.texts) // SAMPLE]:
        letters = [letter for letter in target if letter.isalpha()]  # digits are not new
        if isinstance(source, str) and letters:
            source = " ".join(word for word in source.split() if word not in facts.symbols)
            shares.append(sum(letter in source for letter in letters) / len(letters))
    return bool(shares) and sum(shares) / len(shares) >= SHARE_OF_COPIES


def types_of(source, target):
    """Return a dictionary from "source" and "target" to the model types of their vocabularies.

    A side without a vocabulary is left out.
    """
    sides = {"source": getattr(source, "subwords", source), "target": target}
    return {side: _type_of(value) for side, value in sides.items() if value is not None}


def is_same_type(model_type, actual):
    """Return True if an option `model_type` agrees with a vocabulary's `actual` type.

    None and "auto" agree with every type, and "grapheme" with "char", if there are no marks.
    """
    return model_type in (None, AUTO, actual) or (model_type, actual) == ("grapheme", "char")


def _type_of(subwords):
    """Return the model type of `Subwords`; "grapheme" if characters with marks are tokens."""
    if subwords.model_type != "char":
        return subwords.model_type
    tokens = subwords.tokens(range(subwords.vocabulary_size)).tolist()
    return "grapheme" if any(map(is_cluster, tokens)) else "char"


def model_type_of(texts, symbols=()):
    """Return the model type of a character task's side: "word" for symbols, else "char".

    A side is "word" if, in a sample of some 2,000 evenly spread lines, more than four in five
    consist of several symbols separated by single spaces, and if a symbol has fewer than two
    characters (with their marks) on average. Phonemes have 1.0 to 1.5; words and Vietnamese
    syllables have more. Hangul with spaces is "char", because its syllables are decomposed into
    letters (`normalization_of`).
    """
    ignored, texts = set(symbols), _sample(texts)
    rows = [[word for word in text.split() if word not in ignored] for text in texts]
    sequences = sum(
        len(row) > 1 and " ".join(row) in text for row, text in zip(rows, texts, strict=True)
    )
    lengths = [len(_CHARACTER.findall(word)) for row in rows for word in row]
    are_short = sum(lengths) < LONGEST_SYMBOL * len(lengths)
    are_symbols = sequences > SHARE_OF_SEQUENCES * len(rows) and are_short
    # the symbols of Hangul are letters, and only model type "char" splits syllables into letters
    return "word" if are_symbols and normalization_of(texts) != "nfd" else "char"


def normalization_of(texts):
    """Return the normalization of a character task's side: "nfd" for Hangul, else "none".

    Training text contains only some of the 11,172 Hangul syllables, but all of their 67 letters. A
    side is Hangul if more than half of some 2,000 evenly spread texts contain a syllable.
    """
    texts = _sample(texts)
    first, last = HANGUL
    count = sum(any(first <= character <= last for character in text) for text in texts)
    return "nfd" if count > SHARE_OF_HANGUL * len(texts) else "none"


def _sample(texts):
    """Return the beginnings of some 2,000 evenly spread texts that are not empty."""
    texts = [text for text in texts if isinstance(text, str) and text.strip()]
    return [text[:BEGINNING] for text in texts[:: max(1, len(texts) // SAMPLE)]]


def infer_output_limits(lengths, reduction, limits):
    """Return search limits that leave headroom over the targets of the training pairs.

    `lengths` yields pairs of int arrays (positions of sources, tokens of targets). The encoder
    merges `reduction` positions into one. `limits` contains the minimum `max_length_ratio`,
    `max_length_offset` and `max_length`, which are returned unchanged if all targets fit.
    Otherwise, the ratio is raised to fit nearly all pairs, and the offset to fit the rest.
    """
    import numpy as np  # slow

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
