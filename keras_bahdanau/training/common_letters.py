"""Defaults of a preset for sides that share their letters, as in inflection and spelling."""

import dataclasses

from keras_bahdanau.training.combinations import is_hard
from keras_bahdanau.training.model_types import types_of
from keras_bahdanau.training.presets import PRESETS

MOST = 5_000  # pairs: 1,000 forms gain, 10,000 do not
SHARE = 0.5  # of the letters of a target that its source has, too
SAMPLE = 2_000  # pairs that are looked at


def with_defaults_of_common_letters(options, pairs, sides, say=None):
    """Options with the defaults that their preset has for sides that share their letters.

    Both are texts of characters, at least half of a target is in its source, and attention is
    soft, without a pointer-generator, which copies in its own way. Options that are given stay.

    Args:
        options: `TrainingOptions`, with model types, normalizations and alignments that are found.
        pairs: List of (input of the source, target string); without pairs nothing follows.
        sides: `Sides`, as far as they are given. Their symbols, such as features, are no letters.
        say: Function of one string, which is told of the defaults; None for none.

    Returns:
        `TrainingOptions`; the same ones if nothing follows from the pairs.

    Example:
        >>> options = TrainingOptions(preset="characters", model_type="char")
        >>> options = dataclasses.replace(options, hard_alignment="none")
        >>> sides = Sides(None, None, [])
        >>> with_defaults_of_common_letters(options, [("walk", "walked")], sides).unknown_rate
        0.2
    """
    resolved = options.resolved()
    settings = PRESETS[resolved.preset].of_common_letters
    found = {name: one for name, one in settings.items() if getattr(options, name) is None}
    if not found or not (_can_be_copied(resolved) and _have_characters(sides)):
        return options
    if not _share_letters(pairs, sides.symbols):
        return options
    try:
        changed = dataclasses.replace(options, **found)
    except ValueError:  # they do not go with the others
        return options
    if say is not None:
        told = ", ".join(f"{name} {value}" for name, value in found.items())
        say(f"defaults for sides that share their letters: {told}")
    return changed


def _can_be_copied(options):
    """True if every program can copy single characters of a source into its target."""
    of_characters = options.source_model_type == options.target_model_type == "char"
    whole = options.target_normalization != "nfd"  # decomposed letters are no characters
    return of_characters and whole and not is_hard(options) and not options.copy


def _have_characters(sides):
    """True if each side that is given has a vocabulary of characters, none of them decomposed."""
    types = types_of(sides.source, sides.target)
    given = {"source": sides.source, "target": sides.target}
    known = all(types.get(side) == "char" for side, one in given.items() if one is not None)
    return known and not (sides.target and sides.target.composes)


def _share_letters(pairs, symbols):
    """True for at most `MOST` pairs whose targets are mostly letters of their sources."""
    if not 0 < len(pairs) <= MOST:
        return False
    shares = []
    for source, target in list(pairs)[:: 1 + len(pairs) // SAMPLE]:
        letters = [one for one in target if one.isalpha()]  # digits are known, as in dates
        if isinstance(source, str) and letters:
            source = " ".join(word for word in source.split() if word not in symbols)
            shares.append(sum(letter in source for letter in letters) / len(letters))
    return bool(shares) and sum(shares) / len(shares) >= SHARE
