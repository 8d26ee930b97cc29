"""Grapheme clusters (user-perceived characters), and decomposition of characters such as Hangul."""

import collections
import functools
import sys
import tempfile
import unicodedata
from pathlib import Path

import sentencepiece

DECOMPOSED, COMPOSED = "nfd", "nfc"  # names of Unicode's canonical forms
_LONGEST = 16  # code points; a letter can have any number of marks


def frequent_clusters(sentences, normalization="identity"):
    """Return the grapheme clusters of 2 to 16 code points in sentences, most frequent first.

    A Unicode extended grapheme cluster (UAX #29) is, for example, a letter with its combining
    marks, a Khmer or Devanagari syllable, or an emoji with its modifiers. Clusters that are equally
    frequent are ordered by code points.
    """
    if normalization != "identity":
        normalizer = sentencepiece.SentencePieceNormalizer(rule_name=normalization)
        sentences = normalizer.normalize(list(sentences))
    counts = collections.Counter()
    for sentence in sentences:
        matches = _cluster_pattern().findall(sentence)
        counts.update(cluster for cluster in matches if 1 < len(cluster) <= _LONGEST)
    clusters = [cluster for cluster in counts if not any(map(_is_space, cluster))]
    return sorted(clusters, key=lambda cluster: (-counts[cluster], cluster))


def is_cluster(text):
    """Return True if a text of several code points is a single grapheme cluster."""
    return len(text) > 1 and _cluster_pattern().fullmatch(text) is not None


def _is_space(character):
    return character.isspace() or character == "▁"  # SentencePiece's mark for a space


@functools.cache
def _cluster_pattern():
    import regex  # slow to import

    return regex.compile(r"\X")


def decomposed(text):
    """Decompose each character, such as "한" into h, a and n, without sorting marks as NFD does."""
    return "".join(unicodedata.normalize("NFD", character) for character in text)


def composed(text):
    """Compose the parts of characters in a text where possible (Unicode form NFC)."""
    return unicodedata.normalize("NFC", text)


def add_decomposition(model: bytes, parts) -> bytes:
    """Return a model that decomposes the text that it reads and composes the text that it writes.

    A rule is added for each character whose parts are all in `parts`; every other character stays a
    single unknown token. The rules that decompose all Hangul syllables take about 170 kB, and those
    that compose them about 120 kB.
    """
    from sentencepiece import sentencepiece_model_pb2  # loads protobuf

    rules = [(character, text) for character, text in _decompositions() if parts.issuperset(text)]
    inverse = [(text, character) for character, text in rules if composed(text) == character]
    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    reading, writing = proto.normalizer_spec, proto.denormalizer_spec
    reading.name, reading.precompiled_charsmap = DECOMPOSED, _charsmap(rules)
    writing.name, writing.precompiled_charsmap = COMPOSED, _charsmap(inverse)
    # leave white space unchanged: it is already right in decoded text
    writing.add_dummy_prefix = writing.remove_extra_whitespaces = False
    writing.escape_whitespaces = False
    return proto.SerializeToString(deterministic=True)


def extend_decomposition(model: bytes, pieces) -> bytes:
    """Add rules for the characters in new decomposed pieces to a model that decomposes text."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    rules = _decompositions()
    read = processor.normalize([character for character, _ in rules])
    pairs = zip(rules, read, strict=True)
    known = [text for (_, text), parts in pairs if parts.strip("▁") == text]
    return add_decomposition(model, set().union(*known, *pieces))


def composes(model: bytes) -> bool:
    """Return True if a SentencePiece model composes the text that it writes."""
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    return bool(proto.denormalizer_spec.precompiled_charsmap)


@functools.cache
def _decompositions():
    """Return a list of (character, its parts) for the 13,000 Unicode characters that have parts."""
    characters = map(chr, range(sys.maxunicode + 1))
    return [(c, decomposed(c)) for c in characters if decomposed(c) != c]


def _charsmap(rules):
    """Compile rules (text, replacement) with SentencePiece; b"" if there are no rules."""
    from sentencepiece import sentencepiece_model_pb2

    if not rules:
        return b""
    lines = ["\t".join(map(_points, rule)) for rule in rules]
    with tempfile.TemporaryDirectory() as directory:  # SentencePiece only reads rules from a file
        path = Path(directory) / "rules.tsv"
        path.write_text("\n".join([*lines, ""]), encoding="ascii")
        sentencepiece.set_min_log_level(3)
        normalizer = sentencepiece.SentencePieceNormalizer(rule_tsv=str(path))
    content = normalizer.serialized_model_proto()
    proto = sentencepiece_model_pb2.ModelProto.FromString(content)
    return proto.normalizer_spec.precompiled_charsmap


def _points(text):
    return " ".join(f"{ord(character):x}" for character in text)
