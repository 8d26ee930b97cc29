"""Pairs to train on, in memory, in shards or in several corpora; sources with several answers."""

import abc
import hashlib
import os
from typing import Any, NamedTuple

from keras_bahdanau.text.features import is_blank

MOST_ANSWERS = 1_000  # answers per source: a metric allocates this many cells for each source


class Pairs(abc.ABC):
    """Base class of the pairs that training uses: `PairList`, `Shards` and `Corpora`."""

    in_memory = True
    corpora = ()
    tags = ()
    weights = None

    @abc.abstractmethod
    def __len__(self):
        """Number of pairs."""

    def parts(self):
        """Return a list of the `PairList`s and `Shards` of all corpora, or of these pairs only."""
        return [self]

    @abc.abstractmethod
    def batches(
        self,
        source,
        target,
        *,
        shard,
        alignments=None,
        subword_sampling=0.0,
        temperature=1.0,
        **settings,
    ):
        """Create the `Epochs` to train on. Arguments for other types of pairs are ignored."""


class PairList(list, Pairs):
    """A list of (source, target) pairs: an input of the source, and a string."""

    @property
    def fingerprint(self):
        return fingerprint_of(self)

    def batches(self, source, target, *, temperature=1.0, **settings):
        from keras_bahdanau.data.batching import BatchedPairs  # loads TensorFlow

        return BatchedPairs(self, source, target, **settings)


def fingerprint_of(pairs):
    """Return the SHA-256 of pairs of texts, bytes, arrays, recordings or paths, in hexadecimal."""
    digest = hashlib.sha256()
    for source, target in pairs:
        for part in (_content(source), b"\t", _content(target), b"\n"):
            digest.update(part)
    return digest.hexdigest()


def _content(value):
    """Return the bytes of a text, an array or a recording, or the path and size of a file."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, tuple):  # samples and their rate
        return b" ".join(map(_content, value))
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, os.PathLike):
        return f"{os.fspath(value)} {os.stat(value).st_size}".encode("utf-8", "surrogatepass")
    if isinstance(value, list):
        return b"[" + b",".join(map(_content, value)) + b"]"
    return value.tobytes() if hasattr(value, "tobytes") else str(value).encode()


class SourceAnswers(NamedTuple):
    """The different sources of some pairs, in order, each with all of its `references`.

    `numbers` contains the index of each pair's source. `target` is the vocabulary whose method
    `spaced` is applied to texts before they are compared, or None.
    """

    sources: list
    references: list
    numbers: list
    target: Any = None

    def checked(self, metrics):
        """Return these answers. Raises ValueError if a source has too many answers for a metric."""
        if any(metric.by_source for metric in metrics):
            for source, answers in zip(self.sources, self.references, strict=True):
                if len(answers) > MOST_ANSWERS and len(set(answers)) > MOST_ANSWERS:
                    raise ValueError(
                        f"A source must have at most {MOST_ANSWERS:,} different answers. "
                        f"Received: {len(set(answers)):,} answers for {source!r:.80}. Name the "
                        "columns in their order, or use a metric that counts pairs, such as bleu."
                    )
        return self

    def lines(self, texts, by_source=True):
        """Return (hypotheses, references) without blank lines, for `CorpusMetric.corpus_score`."""
        hypotheses, references = self._lines(texts, by_source)
        return [*map(self.compared, hypotheses)], [*map(self.compared, references)]

    def compared(self, text):
        """Convert a text, or each text in a list, to the form that metrics compare.

        Other values are returned unchanged.
        """
        if isinstance(text, list):
            return [*map(self.compared, text)]
        is_text = isinstance(text, str) and self.target is not None
        return self.target.spaced(text) if is_text else text

    def _lines(self, texts, by_source):
        if by_source:
            rows = [*zip(texts, self.sources, self.references, strict=True)]
            items = [(row[0], row[2]) for row in rows if not _is_blank(*row[1:])]
            items = items or [(text, answers) for text, _, answers in rows]
            return (
                [text for text, _ in items],
                [list(dict.fromkeys(answers)) for _, answers in items],
            )
        answers = [iter(references) for references in self.references]
        references = [next(answers[number]) for number in self.numbers]
        return [texts[number] for number in self.numbers], references


def _is_blank(source, answers):
    return isinstance(source, str) and all(map(is_blank, (source, *answers)))


def answers_by_source(pairs, target=None) -> SourceAnswers:
    """Collect the targets of equal sources, such as all pronunciations of a word.

    Equal texts or paths are the same source. Each array, recording or empty text is a separate
    source. An empty text has no correct answer, and equal answers count once. `pairs` contains
    (input of a source, target). `target` is the target vocabulary: if it joins words with single
    spaces, a metric compares texts with such spaces.

    Example:
        >>> answers_by_source([("read", "R IY D"), ("red", "R EH D"), ("read", "R EH D")])
        SourceAnswers(sources=['read', 'red'], references=[['R IY D', 'R EH D'], ['R EH D']],
        numbers=[0, 1, 0], target=None)
    """
    sources, references, numbers, number_of = [], [], [], {}
    for pair, (source, text) in enumerate(pairs):
        key = source if isinstance(source, str | bytes | os.PathLike) and source else pair
        number = number_of.setdefault(key, len(sources))
        if number == len(sources):
            sources.append(source)
            references.append([])
        references[number].append(text)
        numbers.append(number)
    return SourceAnswers(sources, references, numbers, target)
