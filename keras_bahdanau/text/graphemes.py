"""Grapheme clusters (a reader's characters), and decomposed characters, as of Hangul."""

import collections
import functools
import sys
import tempfile
import unicodedata
from pathlib import Path

import sentencepiece

DECOMPOSED, COMPOSED = "nfd", "nfc"  # names of Unicode's canonical forms
_LONGEST = 16  # code points; the number of a letter's marks is unbounded


def frequent_clusters(sentences, normalization="identity"):
    """The clusters of 2 to 16 code points in sentences, the most frequent first.

    An extended grapheme cluster of Unicode (UAX #29) is a letter and its combining marks, a Khmer
    or Devanagari syllable, an emoji with its modifiers. Ties are ordered by code points.
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
    """True for a text of several code points that is one cluster."""
    return len(text) > 1 and _cluster_pattern().fullmatch(text) is not None


def _is_space(character):
    return character.isspace() or character == "▁"  # SentencePiece's own mark of a space


@functools.cache
def _cluster_pattern():
    import regex  # which takes its time

    return regex.compile(r"\X")


def decomposed(text):
    """Decompose each character, "한" into h, a and n, but don't sort marks as NFD does."""
    return "".join(unicodedata.normalize("NFD", character) for character in text)


def composed(text):
    """Compose the parts of a text to characters where possible (Unicode's form NFC)."""
    return unicodedata.normalize("NFC", text)


def add_decomposition(model: bytes, parts) -> bytes:
    """Return a model that decomposes text when it reads and composes text when it writes.

    There is a rule for each character whose `parts` the model knows; every other character stays
    one unknown token. The rules for all Hangul syllables take some 170 kB, and 120 kB to compose
    them.
    """
    from sentencepiece import sentencepiece_model_pb2  # which loads protobuf

    rules = [(character, text) for character, text in _decompositions() if parts.issuperset(text)]
    inverse = [(text, character) for character, text in rules if composed(text) == character]
    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    reading, writing = proto.normalizer_spec, proto.denormalizer_spec
    reading.name, reading.precompiled_charsmap = DECOMPOSED, _charsmap(rules)
    writing.name, writing.precompiled_charsmap = COMPOSED, _charsmap(inverse)
    # white space is unchanged: written text already has it
    writing.add_dummy_prefix = writing.remove_extra_whitespaces = False
    writing.escape_whitespaces = False
    return proto.SerializeToString(deterministic=True)


def extend_decomposition(model: bytes, pieces) -> bytes:
    """Add rules for characters of further decomposed pieces to a model with such rules."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    rules = _decompositions()
    read = processor.normalize([character for character, _ in rules])
    pairs = zip(rules, read, strict=True)
    known = [text for (_, text), parts in pairs if parts.strip("▁") == text]
    return add_decomposition(model, set().union(*known, *pieces))


def composes(model: bytes) -> bool:
    """True if a SentencePiece model composes the text that it writes."""
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    return bool(proto.denormalizer_spec.precompiled_charsmap)


@functools.cache
def _decompositions():
    """List of (character, its parts) for the 13,000 characters of Unicode that have parts."""
    characters = map(chr, range(sys.maxunicode + 1))
    return [(c, decomposed(c)) for c in characters if decomposed(c) != c]


def _charsmap(rules):
    """SentencePiece's compiled form of rules (text, replacement); b"" if there are none."""
    from sentencepiece import sentencepiece_model_pb2

    if not rules:
        return b""
    lines = ["\t".join(map(_points, rule)) for rule in rules]
    with tempfile.TemporaryDirectory() as directory:  # SentencePiece reads rules only from a file
        path = Path(directory) / "rules.tsv"
        path.write_text("\n".join([*lines, ""]), encoding="ascii")
        sentencepiece.set_min_log_level(3)
        normalizer = sentencepiece.SentencePieceNormalizer(rule_tsv=str(path))
    content = normalizer.serialized_model_proto()
    proto = sentencepiece_model_pb2.ModelProto.FromString(content)
    return proto.normalizer_spec.precompiled_charsmap


def _points(text):
    return " ".join(f"{ord(character):x}" for character in text)
