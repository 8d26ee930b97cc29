"""Grapheme clusters: what a reader takes for one character, such as a letter with its marks."""

import collections

import regex
import sentencepiece

_CLUSTER = regex.compile(r"\X")
_LONGEST = 16  # code points; a letter may have marks without end


def frequent_clusters(sentences, normalization="identity"):
    """The clusters of several code points in a text, the most frequent first.

    A cluster is an extended grapheme cluster of Unicode (UAX #29), as `regex` has it: a letter
    and its combining marks, a Khmer or Devanagari syllable, an emoji with its modifiers.

    Args:
        sentences: Iterable of strings.
        normalization: SentencePiece's name of the Unicode normalization, which comes first.

    Returns:
        List of strings of 2 to 16 code points, none of them white space; among equals in the
        order of their code points.

    Example:
        >>> frequent_clusters(["é a", "é"])  # where é is two code points
        ['é']
    """
    if normalization != "identity":
        normalizer = sentencepiece.SentencePieceNormalizer(rule_name=normalization)
        sentences = normalizer.normalize(list(sentences))
    counts = collections.Counter()
    for sentence in sentences:
        counts.update(one for one in _CLUSTER.findall(sentence) if 1 < len(one) <= _LONGEST)
    clusters = [one for one in counts if not any(map(_is_space, one))]
    return sorted(clusters, key=lambda one: (-counts[one], one))


def is_cluster(text):
    """True for a text of several code points that is one cluster."""
    return len(text) > 1 and _CLUSTER.fullmatch(text) is not None


def _is_space(character):
    return character.isspace() or character == "▁"  # SentencePiece's own mark of a space
