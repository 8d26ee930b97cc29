"""Corpora: sentences of the demo, and joined sentences of the demo and of Multi30K."""

import hashlib
import itertools
import random
from pathlib import Path
from typing import NamedTuple

import keras_bahdanau as kb
from keras_bahdanau.demo import Example


class Corpus(NamedTuple):
    """Training and test pairs, and the number of epochs.

    Attributes:
        name: String.
        about: String. A description.
        train: List of (source, target) strings.
        test: List of `Example`; without links if the alignment is unknown.
        vocabulary_size: Integer. Size of the joint vocabulary.
        epochs: Integer.
        bleu_tokenizer: String. SacreBLEU's tokenizer; "none" for tokenized text.
    """

    name: str
    about: str
    train: list
    test: list
    vocabulary_size: int
    epochs: int
    bleu_tokenizer: str

    def fingerprint(self):
        """Return a digest that identifies this data."""
        text = repr((self.train, [(example.source, example.target) for example in self.test]))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def demo(train=15000, test=500, epochs=12, vocabulary_size=1200):
    """Return the corpus of `keras-bahdanau demo`, with its number of epochs."""
    training, _, examples = kb.demo.split(train=train, test=test)
    return Corpus(
        "demo",
        "sentences of the demo's grammar",
        _pairs(training),
        examples,
        vocabulary_size,
        epochs,
        "none",
    )


def long(sentences=40_000, longest=8, epochs=20, vocabulary_size=1200):
    """Return a corpus of one to six joined short sentences of the demo; longer joins are rarer."""
    short = [
        example
        for example in kb.demo.generate(sentences, seed=1)
        if len(example.source.split()) <= longest
    ]
    tested = len(short) // 6
    shares = (40, 24, 14, 10, 7, 5)
    return Corpus(
        "long",
        "one to six short sentences of the demo's grammar, joined",
        _pairs(joined(short[tested:], shares)),
        joined(short[:tested], shares),
        vocabulary_size,
        epochs,
        "none",
    )


def multi30k(directory, epochs=5, vocabulary_size=4000):
    """Return a corpus of one to four joined neighbouring sentences of Multi30K, English to German.

    The test sentences are joined in three different ways.

    Args:
        directory: Path of a directory with `train` and `test_2016_flickr`, each .en and .de.
        epochs: Integer.
        vocabulary_size: Integer.

    Raises:
        ValueError: If a file is missing, or not a text file.
    """
    paths = multi30k_files(directory)
    train, test = (
        [Example(source, target, frozenset(), frozenset()) for source, target in pairs]
        for pairs in (kb.data.read_pairs(*paths[:2]), kb.data.read_pairs(*paths[2:]))
    )
    shares = (40, 30, 15, 15)
    tested = [example for seed in range(3) for example in joined(test, shares, seed)]
    return Corpus(
        "multi30k",
        "one to four sentences of Multi30K, joined",
        _pairs(joined(train, shares)),
        tested,
        vocabulary_size,
        epochs,
        "13a",
    )


def multi30k_files(directory):
    """Return the paths of the four files. Raises ValueError if one is missing."""
    names = [f"{part}.{side}" for part in ("train", "test_2016_flickr") for side in ("en", "de")]
    return [_file(directory, name) for name in names]


def joined(examples, shares, seed=0):
    """Join neighbours in groups of random size.

    Args:
        examples: List of `Example`.
        shares: Relative frequencies of joining one, two, three ... examples.
        seed: Integer.

    Returns:
        List of `Example` that contains each given example once.
    """
    rng, rest, longer = random.Random(seed), iter(examples), []
    counts = range(1, len(shares) + 1)
    while group := [*itertools.islice(rest, rng.choices(counts, shares)[0])]:
        longer.append(_join(group))
    return longer


def _join(group):
    source, target, sure, possible = [], [], set(), set()
    for example in group:
        for links, own in ((sure, example.sure), (possible, example.possible)):
            links.update((i + len(source), j + len(target)) for i, j in own)
        source += example.source.split()
        target += example.target.split()
    return Example(" ".join(source), " ".join(target), frozenset(sure), frozenset(possible))


def _pairs(examples):
    return [(example.source, example.target) for example in examples]


def _file(directory, name):
    for path in (Path(directory) / name, Path(directory) / f"{name}.gz"):
        if path.is_file():
            return path
    raise ValueError(
        "--multi30k must be a directory with train.en, train.de, test_2016_flickr.en and "
        f"test_2016_flickr.de, plain or .gz. Received: {str(directory)!r}, without {name}"
    )
