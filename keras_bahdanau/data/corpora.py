"""Several corpora to train one model on. Each has a name, and may have a weight and a tag."""

import collections
import dataclasses
import os
from typing import Any

from keras_bahdanau.data.pairs import PairList, Pairs
from keras_bahdanau.settings.option import check_value, number
from keras_bahdanau.text.features import check_tag, tagged

MOST_CORPORA = 1000
WEIGHT = number(0, 1_000_000, "(]")


@dataclasses.dataclass(frozen=True)
class Corpus:
    """One of several corpora on which a model is trained.

    Args:
        name: String that identifies the corpus in messages and in the card of a run.
        pairs: List of (source, target) pairs: an input of the `Source`, and a string. Or `Shards`;
            all shards in a training run must have the same source and target.
        weight: Positive number. The corpus's share of the batches is its weight divided by the sum
            of all weights. None to derive the share from the sizes: see `mixing.shares_by_size`.
        tag: String without white space that is put before each source text as a single token, such
            as the language token `<2de>` (Johnson et al. 2017); None for no tag.

    Raises:
        TypeError: If there is a tag, but an input is not text.
        ValueError: If the name, the weight or the tag is invalid.

    Example:
        >>> german = Corpus("de", read_pairs("train.en", "train.de"), 0.7, "<2de>")
        >>> french = Corpus("fr", read_pairs("train.en", "train.fr"), 0.3, "<2fr>")
        >>> training.train([german, french], [valid_german, valid_french], "runs/both")
    """

    name: str
    pairs: Any
    weight: float | None = None
    tag: str | None = None

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name.strip():
            raise ValueError(
                "The name of a corpus must be a string that is not blank. "
                f"Received: name={self.name!r}. Give a name."
            )
        if self.weight is not None:
            check_value("weight", self.weight, WEIGHT)
        if self.tag is not None:
            check_tag(self.tag, self.name)

    @property
    def in_memory(self):
        """False for `Shards`, whose data stays on disk."""
        return getattr(self.pairs, "in_memory", True)

    def tagged_pairs(self):
        """Return the pairs, as a list or `Shards`, with the tag before each source."""
        if self.tag is None:
            return list(self.pairs) if self.in_memory else self.pairs
        if not self.in_memory:
            from keras_bahdanau.data.shards.shards import TaggedShards  # which loads NumPy

            return TaggedShards(self.pairs.directory, self.tag)
        return [(tagged(self.tag, source), target) for source, target in self.pairs]


class Corpora(Pairs):
    """The pairs of several corpora, one corpus after another, with a tag before each source.

    An iteration leaves out the pairs of `Shards`, which contain no text; `len(corpora)` includes
    them.

    Args:
        corpora: List of `Corpus`, also an attribute. Either all or none of them have weights.

    Attributes:
        weights: Tuple of the weights of the corpora; None if they have no weights.
        tags: Tuple of the different tags.

    Raises:
        TypeError: If a corpus has a tag, but an input that is not text.
        ValueError: If names are repeated, only some corpora have weights, or there are no or too
            many corpora.
    """

    def __init__(self, corpora):
        self.corpora = tuple(corpora)
        _check_together(self.corpora)
        weights = tuple(corpus.weight for corpus in self.corpora)
        self.weights = None if None in weights else weights
        tags = dict.fromkeys(corpus.tag for corpus in self.corpora)
        self.tags = tuple(tag for tag in tags if tag is not None)
        self._parts = [pairs_of(corpus.tagged_pairs()) for corpus in self.corpora]

    @property
    def in_memory(self):
        return all(part.in_memory for part in self._parts)

    def __len__(self):
        return sum(map(len, self._parts))

    def __iter__(self):
        for part in self._parts:
            if part.in_memory:
                yield from part

    def parts(self):
        return list(self._parts)

    def batches(self, source, target, *, seed, least_steps, temperature=1.0, **settings):
        """Return `MixedBatches`, in proportion to the weights or the sizes: see `Pairs`."""
        from keras_bahdanau.data.mixing import MixedBatches, shares_by_size  # loads TensorFlow

        parts = [
            part.batches(source, target, seed=seed + number, **settings)
            for number, part in enumerate(self._parts)
        ]
        shares = self.weights or shares_by_size([corpus.steps for corpus in parts], temperature)
        return MixedBatches(parts, shares, least_steps=least_steps, seed=seed)

    def card(self):
        """Return a list of dictionaries for the card of a run, with everything except the pairs."""
        fields = ("name", "weight", "tag")
        return [
            {**{field: getattr(corpus, field) for field in fields}, "pairs": len(corpus.pairs)}
            for corpus in self.corpora
        ]


def pairs_of(pairs):
    """Convert a list of pairs or of `Corpus` to `Pairs`; return `Pairs` unchanged."""
    if isinstance(pairs, Pairs):
        return pairs
    if isinstance(pairs, str | os.PathLike):
        raise TypeError(
            "Pairs must be a list of (source, target). "
            f"Received: {os.fspath(pairs)!r:.80}. Read a file first: data.read_pairs or "
            "data.read_table."
        )
    pairs = PairList(pairs)
    if pairs and isinstance(pairs[0], str):
        raise TypeError(
            f"A pair must be (source, target). Received: pairs[0]={pairs[0]!r:.80}. "
            "Pass a list of tuples: list(zip(sources, targets))."
        )
    return Corpora(pairs) if pairs and isinstance(pairs[0], Corpus) else pairs


def check_mixed(pairs, temperature, alignments=None):
    """Raise ValueError if resolved options contradict the number of corpora in `Pairs`."""
    corpora = pairs.corpora
    if corpora and alignments is not None:
        raise ValueError(
            "Alignments are only for a single list of pairs. Received: alignments, with "
            f"{len(corpora)} corpora. Leave them out, or give the pairs as one list."
        )
    if temperature != 1 and (not corpora or pairs.weights is not None):
        received = "corpora with weights" if corpora else "one list of pairs"
        raise ValueError(
            "A temperature is only for several corpora without weights. Received: "
            f"temperature={temperature!r}, with {received}. Leave one of them out."
        )


def require_text(pairs):
    """Raise ValueError if validation `Pairs` are `Shards`, because validation needs text."""
    for corpus in pairs.corpora or (Corpus("validation", pairs),):
        if not corpus.in_memory:
            raise ValueError(
                "Shards contain no text to validate on. Received: "
                f"pairs={str(corpus.pairs.directory)!r} for corpus {corpus.name!r}. Give the pairs "
                "as text."
            )


def _check_together(corpora):
    if not 1 <= len(corpora) <= MOST_CORPORA:
        raise ValueError(
            f"There must be 1 to {MOST_CORPORA:,} corpora. Received: {len(corpora)}. "
            "Merge some of them."
        )
    names = collections.Counter(corpus.name for corpus in corpora)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise ValueError(
            f"Corpora must have different names. Received: name={twice[0]!r} twice. Rename one of "
            "them."
        )
    without = [corpus.name for corpus in corpora if corpus.weight is None]
    if 0 < len(without) < len(corpora):
        raise ValueError(
            "Either all corpora or none of them must have a weight. Received: "
            f"no weight for corpus {without[0]!r}. Give it a weight, or leave out all weights."
        )
