"""Normalizations of both sides, found from their text: Hangul is read letter by letter."""

import dataclasses

HANGUL = "\uac00", "\ud7a3"  # first and last of the syllables
READ = 2000  # texts of a side, spread evenly,
LONGEST = 1000  # and code points of each
MOST = 0.5  # share of texts with a syllable
_MEANING = {"nfd": "nfd (Hangul syllables in letters)", "none": "none"}


def with_normalizations(options, pairs, say=None):
    """Options with the normalizations of both sides that were to be found.

    A vocabulary of words has symbols as they are written, whatever the script.

    Args:
        options: `TrainingOptions`, with model types that are found.
        pairs: List of (input of the source, target string).
        say: Function of one string, which is told of a side that is decomposed; None for none.

    Returns:
        `TrainingOptions`; the same ones if all normalizations are given.

    Raises:
        ValueError: If the normalizations do not go with other options, such as `joint`.

    Example:
        >>> options = TrainingOptions(normalization="auto", model_type="char")
        >>> with_normalizations(options, [("한국", "h a n ɡ u k̚")]).source_normalization
        'nfd'
    """
    names, resolved, found = options.undecided(), options.resolved(), {}
    for number, side in enumerate(("source", "target")):
        name = f"{side}_normalization"
        if name in names:
            words = getattr(resolved, f"{side}_model_type") == "word"
            texts = [] if words else [pair[number] for pair in pairs]
            found[name] = normalization_of(texts)
    if not found:
        return options
    if say is not None and "nfd" in found.values():
        sides = (
            f"{name.partition('_')[0]} {_MEANING.get(one, one)}" for name, one in found.items()
        )
        say(f"normalization, found from the text: {', '.join(sides)}")
    return dataclasses.replace(options, **found)


def normalization_of(texts):
    """The normalization of a side of characters: "nfd" for Hangul, else "none".

    A Hangul syllable is one character of two or three letters. Of 11,172 such characters a text
    has some, so that a new word may have one without an id; their 67 letters all have one.

    Args:
        texts: List of strings; inputs of other kinds, such as frames, have no characters.

    Returns:
        String: "nfd" if more than half of some 2,000 texts, spread evenly, have a syllable.

    Example:
        >>> normalization_of(["한국", "서울"]), normalization_of(["Bücher"])
        ('nfd', 'none')
    """
    texts = [text for text in texts if isinstance(text, str) and text.strip()]
    texts = [text[:LONGEST] for text in texts[:: max(1, len(texts) // READ)]]
    first, last = HANGUL
    with_syllables = sum(any(first <= one <= last for one in text) for text in texts)
    return "nfd" if with_syllables > MOST * len(texts) else "none"
