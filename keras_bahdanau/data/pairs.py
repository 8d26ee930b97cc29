"""Pairs of a training, wherever they are: in memory, in shards on disk, or in several corpora."""

import abc
import hashlib
import os


class Pairs(abc.ABC):
    """The members that a training uses of its pairs: `PairList`, `Shards` or `Corpora`.

    `len(pairs)` is the number of pairs.

    Attributes:
        in_memory: Bool. True if an iteration gives all the pairs, as (source, target).
        fingerprint: String, the same for the same pairs; of several corpora each part has one.
        corpora: Tuple of `Corpus`; empty for pairs that are no corpora.
        tags: Tuple of the different tags of the corpora.
        weights: Tuple of the weights of the corpora; None if they have none.
    """

    in_memory = True
    corpora = ()
    tags = ()
    weights = None

    @abc.abstractmethod
    def __len__(self):
        """Number of pairs."""

    def parts(self):
        """List of the `PairList` and the `Shards` of the corpora, or of these pairs alone."""
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
        """The batches of a training.

        Arguments for other pairs are ignored: `TrainingData.check` has refused their options.

        Args:
            source: `Source`.
            target: `Subwords` of the target text.
            shard: Integers (index, count): the worker that gets them, out of how many.
            alignments: As in `BatchedPairs`.
            subword_sampling: As in `BatchedPairs`.
            temperature: As in `mixing.shares_by_size`.
            **settings: Settings that `BatchedPairs` and `ShardedBatches` share.

        Returns:
            `Epochs`.

        Raises:
            ValueError: If no pair can be trained on.
        """


class PairList(list, Pairs):
    """A list of (source, target): an input of the source, and a string.

    Example:
        >>> pairs = PairList([("a man", "ein Mann")])
        >>> len(pairs), pairs.in_memory, pairs.tags
        (1, True, ())
    """

    @property
    def fingerprint(self):
        return fingerprint_of(self)

    def batches(self, source, target, *, temperature=1.0, **settings):
        from keras_bahdanau.data.batching import BatchedPairs  # which loads TensorFlow

        return BatchedPairs(self, source, target, **settings)


def fingerprint_of(pairs):
    """SHA-256 of the content of pairs, as hexadecimal digits.

    Args:
        pairs: Iterable of (source, target): texts, bytes, arrays, sounds, paths of files.
    """
    digest = hashlib.sha256()
    for source, target in pairs:
        for part in (_content(source), b"\t", _content(target), b"\n"):
            digest.update(part)
    return digest.hexdigest()


def _content(one):
    """The bytes of a text, an array or a sound; of a file its path and size."""
    if isinstance(one, bytes):
        return one
    if isinstance(one, tuple):  # samples and their rate
        return b" ".join(map(_content, one))
    if isinstance(one, str):
        return one.encode("utf-8", "surrogatepass")
    if isinstance(one, os.PathLike):
        return f"{os.fspath(one)} {os.stat(one).st_size}".encode("utf-8", "surrogatepass")
    if isinstance(one, list):
        return b"[" + b",".join(map(_content, one)) + b"]"
    return one.tobytes() if hasattr(one, "tobytes") else str(one).encode()
