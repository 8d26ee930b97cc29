"""Model types of both sides, found from their text: single symbols, or words and phrases."""

import dataclasses

import regex

from keras_bahdanau.text.graphemes import is_cluster
from keras_bahdanau.training.combinations import AUTO
from keras_bahdanau.training.normalizations import normalization_of

READ = 2000  # lines of a side, spread evenly,
LONGEST = 1000  # and code points of each
SEVERAL, LENGTH = 0.8, 2  # share of lines with several symbols; characters of a symbol in the mean
_CHARACTER = regex.compile(r"\X")
_MEANING = {"word": "word (symbols with spaces between)", "char": "char"}


def with_model_types(options, pairs, symbols=(), say=None):
    """Options with the model types of both sides that were to be found.

    Args:
        options: `TrainingOptions`.
        pairs: List of (input of the source, target string).
        symbols: Strings before a source that are no part of its text, such as features.
        say: Function of one string, which is told of what was found; None for none.

    Returns:
        `TrainingOptions`; the same ones if all model types are given.

    Raises:
        ValueError: If the types do not go with other options, such as `joint`.

    Example:
        >>> options = TrainingOptions(preset="characters")
        >>> with_model_types(options, [("red", "R EH D")]).target_model_type
        'word'
    """
    names = options.undecided()
    sides = [side for side in ("source", "target") if f"{side}_model_type" in names]
    if not sides:
        return options
    texts = {side: [pair[at] for pair in pairs] for at, side in enumerate(("source", "target"))}
    return _with_found(options, {one: model_type_of(texts[one], symbols) for one in sides}, say)


def with_given_types(options, source, target, say=None):
    """Options with the model types of vocabularies that are given, where options have none.

    Args:
        options: `TrainingOptions` of a training that begins now.
        source: `Source` or `Subwords`, or None.
        target: `Subwords`, or None.
        say: Function of one string, which is told of types that were to be found; None for none.

    Returns:
        `TrainingOptions`.

    Raises:
        ValueError: If the types do not go with other options, such as `subword_sampling`.
    """
    types = types_of(source, target)
    names = options.undecided()
    found = {side: kind for side, kind in types.items() if f"{side}_model_type" in names}
    if found:
        options = _with_found(options, found, say, "vocabularies")
    if options.model_type is not None:
        return options
    names = {side: f"{side}_model_type" for side in types}
    left_out = [side for side, name in names.items() if getattr(options, name) is None]
    return dataclasses.replace(options, **{names[side]: types[side] for side in left_out})


def types_of(source, target):
    """Model types of vocabularies, by the name of their side: "source", "target".

    Args:
        source: `Source` or `Subwords`, or None.
        target: `Subwords`, or None.

    Returns:
        Dictionary, without a side that is not given or has no vocabulary.
    """
    sides = {"source": getattr(source, "subwords", source), "target": target}
    return {side: _type_of(one) for side, one in sides.items() if one is not None}


def same_type(given, own):
    """True if a model type that is asked for, or None, is that of a vocabulary.

    One of graphemes is one of characters where no text had marks.
    """
    return given in (None, AUTO, own) or (given, own) == ("grapheme", "char")


def _type_of(subwords):
    """Model type of `Subwords`, "grapheme" if characters with marks are tokens."""
    if subwords.model_type != "char":
        return subwords.model_type
    tokens = subwords.tokens(range(subwords.vocabulary_size)).tolist()
    return "grapheme" if any(map(is_cluster, tokens)) else "char"


def _with_found(options, found, say, origin="text"):
    """Options with model types that were found, by their side, of which `say` is told."""
    if say is not None:
        meanings = (f"{side} {_MEANING.get(kind, kind)}" for side, kind in found.items())
        say(f"model types, found from the {origin}: {', '.join(meanings)}")
    found = {f"{side}_model_type": kind for side, kind in found.items()}
    return dataclasses.replace(options, **found)


def model_type_of(texts, symbols=()):
    """The model type of a side of characters: "word" for symbols with spaces between.

    Of some 2,000 lines, spread evenly, more than four in five must be several symbols with one
    space between each two, and a symbol must have less than two characters in the mean. Phonemes
    have 1.0 to 1.5, letters 1; words have more, syllables such as those of Vietnamese too. A
    character is one with its marks: t͡ʃʰ has three. Hangul is "char" with spaces, too: its
    syllables are decomposed to letters (`normalizations.normalization_of`).

    Args:
        texts: List of strings; inputs of other kinds, such as frames, have no symbols.
        symbols: Strings that do not count.

    Returns:
        String, "word" or "char".

    Example:
        >>> model_type_of(["R EH D", "HH ER"]), model_type_of(["red", "New York"])
        ('word', 'char')
    """
    ignored = set(symbols)
    texts = [text for text in texts if isinstance(text, str) and text.strip()]
    texts = [text[:LONGEST] for text in texts[:: max(1, len(texts) // READ)]]
    rows = [[word for word in text.split() if word not in ignored] for text in texts]
    several = sum(
        len(row) > 1 and " ".join(row) in text for row, text in zip(rows, texts, strict=True)
    )
    lengths = [len(_CHARACTER.findall(word)) for row in rows for word in row]
    are_symbols = several > SEVERAL * len(rows) and sum(lengths) < LENGTH * len(lengths)
    # syllables of Hangul are no symbols: their letters are, which only characters decompose to
    return "word" if are_symbols and normalization_of(texts) != "nfd" else "char"
