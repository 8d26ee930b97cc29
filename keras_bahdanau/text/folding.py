"""Choice of a normalization that keeps targets, and reports about targets that would change.

A normalization such as NFKC folds characters: a fullwidth comma becomes a comma, `m²` becomes `m2`,
and a zero-width non-joiner becomes a space. Folding helps when a model reads a source, but a model
can never write a target that was folded.
"""

import difflib
import unicodedata

from keras_bahdanau.text.features import is_blank
from keras_bahdanau.text.unknown_parts import name_of_part, report_unknown

FOLD = "fold"  # resolved to a normalization by `fold_normalizations`
FOLDED, KEPT = "nmt_nfkc", "identity"
MOST = 100_000  # at most this many texts are checked, spread evenly
SHOWN = 40  # characters of a text to show
_MARK = "\u2581"  # SentencePiece's mark for a space


def spaced(text):
    """Return a text with single spaces between its words and no spaces at its ends."""
    return " ".join(text.split())


def fold_normalizations(targets, joint):
    """Resolve the normalization "fold".

    Returns (source normalization, target normalization, report or ""). A separate source vocabulary
    folds characters; a separate target vocabulary never does. A joint vocabulary has a single
    normalization: it folds characters only if that changes no target, except for white space.
    """
    if not joint:
        return FOLDED, KEPT, ""
    changed = _folded(targets)
    if not changed:
        return FOLDED, FOLDED, ""
    report = (
        f"normalization {KEPT} for both sides: {FOLDED} would change {len(changed):,} of "
        f"{len(targets):,} targets: {_change(*changed[0])}"
    )
    return KEPT, KEPT, report


def _folded(texts):
    """Return pairs (text, normalized text) of the texts that "nmt_nfkc" changes."""
    import sentencepiece

    texts = [text for text in texts if isinstance(text, str)]
    normalizer = sentencepiece.SentencePieceNormalizer(rule_name=FOLDED)
    pairs = zip(texts, normalizer.normalize(texts), strict=True)
    pairs = ((text, folded.replace(_MARK, " ").removeprefix(" ")) for text, folded in pairs)
    return [pair for pair in pairs if spaced(pair[0]) != spaced(pair[1])]


def report_pairs(pairs, source, target, part="", lowercase=False):
    """Return lines about texts with parts that a vocabulary does not contain or can't write.

    `part` is appended to the name of the side in each line. With `lowercase`, the case of targets
    is ignored.
    """
    sources = ["" if is_blank(text) else text for text, _ in pairs if isinstance(text, str)]
    line = report_unknown(f"sources{part}", sources, getattr(source, "subwords", None))
    targets = [text for _, text in pairs]
    return [*filter(None, [line]), *report_targets(targets, target, part, lowercase)]


def report_targets(texts, target, part="", lowercase=False):
    """Return the lines of `report_pairs` for targets only, checking at most `MOST` of them."""
    texts = [text for text in texts if isinstance(text, str)]
    texts, kind = texts[:: 1 + len(texts) // MOST], f"targets{part}"
    lines = report_unknown(kind, texts, target), report_unwritten(kind, texts, target, lowercase)
    return [*filter(None, lines)]


def report_unwritten(kind, texts, subwords, lowercase=False):
    """Return a line about texts that a vocabulary writes differently; "" if there are none.

    Ignores texts with unknown parts (see `report_unknown`), spaces that `Subwords.spaced` removes,
    and, with `lowercase`, case.
    """
    from keras_bahdanau.text.vocabulary import UNKNOWN  # slow to import

    def compared(text):
        text = subwords.spaced(text).strip()
        return text.lower() if lowercase else text

    rows = subwords.encode(texts)
    changed = [
        (text, written)
        for text, row, written in zip(texts, rows, subwords.decode(rows), strict=True)
        if compared(text) != compared(written) and UNKNOWN not in row
    ]
    if not changed:
        return ""
    text, written = changed[0]
    return (
        f"the vocabulary can't write {len(changed):,} of {len(texts):,} {kind}, so no output can "
        f"match them: {_change(text, written)}. {_remedy(text, written, subwords)}"
    )


def _change(text, written):
    """Describe how a text changes: "'4 m²' becomes '4 m2' (² U+00B2 becomes 2)"."""
    matcher = difflib.SequenceMatcher(None, text[:500], written[:500], autojunk=False)
    parts = [
        (text[first:last], written[start:end])
        for tag, first, last, start, end in matcher.get_opcodes()
        if tag != "equal"
    ]
    before, after = parts[0] if parts else (text[500:], written[500:])
    return f"{_shown(text)} becomes {_shown(written)} ({_named(before)} becomes {_named(after)})"


def _shown(text):
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")


def _named(part):
    """Name a few characters, with code points if they are not ASCII; "nothing" for no character."""
    part = part[:6]
    if not part:
        return "nothing"
    name, points = name_of_part(part), " ".join(f"U+{ord(character):04X}" for character in part)
    return name if part.isascii() or name == points else f"{name} {points}"


def _remedy(text, written, subwords):
    if subwords.composes and unicodedata.normalize("NFC", text) == written:
        return "Convert the file to Unicode form NFC, or train with --target-normalization none"
    if subwords.folds:
        kept = "none" if subwords.model_type == "char" else KEPT
        return f"Train with --target-normalization {kept}, which keeps these characters"
    if _MARK in text:
        return "U+2581 marks a space in a vocabulary: replace it in the file"
    return "Correct the file, or train with --target-normalization identity"
