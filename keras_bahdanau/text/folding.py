"""Targets that a vocabulary changes: the normalization that keeps them, and a report of the rest.

A normalization such as NFKC folds characters: a fullwidth comma becomes a comma, `m²` becomes `m2`,
a zero-width non-joiner a space. That helps when reading a source, but the model can never write
a target that was folded.
"""

import difflib
import unicodedata

from keras_bahdanau.text.features import is_blank
from keras_bahdanau.text.unknown_parts import name_of_part, report_unknown

FOLD = "fold"  # the normalization that `fold_normalizations` resolves
FOLDED, KEPT = "nmt_nfkc", "identity"
MOST = 100_000  # number of texts to check, spread evenly
SHOWN = 40  # number of characters to name
_MARK = "\u2581"  # SentencePiece's own mark of a space


def spaced(text):
    """A text with single spaces between its words and no spaces at its ends."""
    return " ".join(text.split())


def fold_normalizations(targets, joint):
    """Resolve "fold": (normalization of the source, of the target, report or "").

    A separate source vocabulary folds, a separate target vocabulary never does. A joint vocabulary
    has one normalization: it folds if that changes no target, except for white space.
    """
    if not joint:
        return FOLDED, KEPT, ""
    changed = _folded(targets)
    if not changed:
        return FOLDED, FOLDED, ""
    report = (
        f"normalization {KEPT} of both sides: {FOLDED} would change {len(changed):,} of "
        f"{len(targets):,} targets: {_change(*changed[0])}"
    )
    return KEPT, KEPT, report


def _folded(texts):
    """Pairs (text, text under "nmt_nfkc") of the texts that this normalization changes."""
    import sentencepiece

    texts = [text for text in texts if isinstance(text, str)]
    normalizer = sentencepiece.SentencePieceNormalizer(rule_name=FOLDED)
    pairs = zip(texts, normalizer.normalize(texts), strict=True)
    pairs = ((text, folded.replace(_MARK, " ").removeprefix(" ")) for text, folded in pairs)
    return [pair for pair in pairs if spaced(pair[0]) != spaced(pair[1])]


def report_pairs(pairs, source, target, part="", lowercase=False):
    """Report lines about texts of pairs that a vocabulary does not know, or can't write.

    `part` follows the name of a side; `lowercase` ignores the case of targets.
    """
    sources = ["" if is_blank(text) else text for text, _ in pairs if isinstance(text, str)]
    line = report_unknown(f"sources{part}", sources, getattr(source, "subwords", None))
    targets = [text for _, text in pairs]
    return [*filter(None, [line]), *report_targets(targets, target, part, lowercase)]


def report_targets(texts, target, part="", lowercase=False):
    """The same lines about targets only, from at most `MOST` spread evenly."""
    texts = [text for text in texts if isinstance(text, str)]
    texts, kind = texts[:: 1 + len(texts) // MOST], f"targets{part}"
    lines = report_unknown(kind, texts, target), report_unwritten(kind, texts, target, lowercase)
    return [*filter(None, lines)]


def report_unwritten(kind, texts, subwords, lowercase=False):
    """One line about texts that a vocabulary writes differently; "" for none.

    Ignores texts with unknown parts (see `report_unknown`), spaces that `Subwords.spaced` leaves
    out, and case with `lowercase`.
    """
    from keras_bahdanau.text.vocabulary import UNKNOWN  # which takes its time

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
        f"the vocabulary can't write {len(changed):,} of {len(texts):,} {kind}, which no output "
        f"can equal: {_change(text, written)}. {_remedy(text, written, subwords)}"
    )


def _change(text, written):
    """Description of a change of a text: "'4 m²' becomes '4 m2' (² U+00B2 becomes 2)"."""
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
    """A few characters, with their code points where they are not ASCII; "nothing" for none."""
    part = part[:6]
    if not part:
        return "nothing"
    name, points = name_of_part(part), " ".join(f"U+{ord(character):04X}" for character in part)
    return name if part.isascii() or name == points else f"{name} {points}"


def _remedy(text, written, subwords):
    if subwords.composes and unicodedata.normalize("NFC", text) == written:
        return "Convert the file to Unicode's form NFC, or train with --target-normalization none"
    if subwords.folds:
        kept = "none" if subwords.model_type == "char" else KEPT
        return f"Train with --target-normalization {kept}, which keeps their characters"
    if _MARK in text:
        return "U+2581 is the mark of a space in a vocabulary: replace it in the file"
    return "Correct the file, or train with --target-normalization identity"
