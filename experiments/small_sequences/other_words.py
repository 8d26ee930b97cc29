"""Find words without a pronunciation that resemble a dictionary's, for a teacher to pronounce.

    python experiments/small_sequences/other_words.py *.txt --train train.tsv --dev dev.tsv \
        --out words.txt

A student that also reads these words sees many more spellings than the dictionary contains (Sun et
al. 2019, "Token-Level Ensemble Distillation for Grapheme-to-Phoneme Conversion"). A word is a run
of letters with apostrophes between them, 3 to 19 characters long. If the dictionary lacks its
letters, its case is changed and its accents are removed. Words in the dictionary are left out, and
so are unlikely words, such as foreign words, abbreviations and errors: according to the letter
trigrams of `--train`, these are at most as likely as the least likely 3% of `--dev`.
"""

import argparse
import itertools
import math
import random
import unicodedata
from collections import Counter
from pathlib import Path

import regex

from keras_bahdanau.data.readers.lines import read_lines
from keras_bahdanau.files.whole_file import write_text

WORD = regex.compile(r"[\p{L}\p{M}]+(?:'[\p{L}\p{M}]+)*")
LENGTHS = range(3, 20)  # minimum and maximum length in letters and apostrophes
ADDED = 0.1  # added to the count of each trigram
PASSING = 0.97  # fraction of dev words that are likely enough


class Trigrams:
    """Letter trigrams, to measure how likely a spelling is.

    p(w) = prod_i p(w_i | w_{i-2} w_{i-1}), with `ADDED` to each count, and an end symbol after w.

    Args:
        words: Iterable of strings to count.
    """

    def __init__(self, words):
        words = [*words]
        self.counts = Counter(one for word in words for one in self._of(word))
        self.before = Counter(before for word in words for before, _ in self._of(word))
        self.letters = len({letter for _, letter in self.counts})

    def bits(self, word):
        """Return the mean of -log2 p per letter."""
        parts = self._of(word)
        ratios = (
            (self.counts[one] + ADDED) / (self.before[one[0]] + ADDED * self.letters)
            for one in parts
        )
        return -sum(map(math.log2, ratios)) / len(parts)

    @staticmethod
    def _of(word):
        padded = f"^^{word}$"
        return [(padded[end - 2 : end], padded[end]) for end in range(2, len(padded))]


def other_words(lines, train, dev):
    """Return the new words of a text.

    Args:
        lines: Iterable of strings.
        train: Set of dictionary words in the training part.
        dev: Set of dictionary words in the dev part.

    Returns:
        List of strings, in a fixed random order.

    Raises:
        ValueError: If `train` or `dev` is empty, or if no word is both new and likely.

    Example:
        >>> other_words(["Savana"], {"BANANA", "CABANA", "SAVANNA", "HAVANA"}, {"NIRVANA"})
        ['SAVANA']
    """
    if not train or not dev:
        raise ValueError(
            "A dictionary must have training words and dev words. "
            f"Received: {len(train):,} and {len(dev):,}. Use other files."
        )
    letters = {letter for word in train for letter in word}
    found = {word for line in lines for word in _words(line, letters) if len(word) in LENGTHS}
    trigrams = Trigrams(train)
    most = sorted(map(trigrams.bits, dev))[int(PASSING * len(dev))]
    chosen = sorted(word for word in found - train - dev if trigrams.bits(word) < most)
    if not chosen:
        raise ValueError(
            "A text must contain words that are new and likely enough. "
            f"Received: {len(found):,} different words, none of them suitable. Use other texts."
        )
    random.Random(1).shuffle(chosen)
    return chosen


def _words(line, letters):
    """Return the words of a line that consist of `letters`, each in the first possible form."""
    for word in WORD.findall(line.replace("’", "'")):
        plain = regex.sub(r"\p{M}", "", unicodedata.normalize("NFD", word))
        forms = (form for text in (word, plain) for form in (text, text.upper(), text.lower()))
        yield from itertools.islice(filter(letters.issuperset, forms), 1)


def first_column(path):
    """Return the set of values in the first column of a TSV."""
    return {line.partition("\t")[0] for line in read_lines(path) if line}


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("texts", type=Path, nargs="+", help="files of any text, plain or .gz")
    add("--train", type=Path, required=True, help="TSV of training words and pronunciations")
    add("--dev", type=Path, required=True, help="TSV of dev words")
    add("--out", type=Path, required=True, help="new file to write, one word per line")
    given = parser.parse_args(arguments)
    if given.out.exists():
        parser.error(f"--out already exists: choose another name. Received: {given.out}")
    try:
        lines = (line for path in given.texts for line in read_lines(path))
        words = other_words(lines, first_column(given.train), first_column(given.dev))
        write_text(given.out, "".join(f"{word}\n" for word in words))
    except (OSError, ValueError) as error:
        parser.exit(2, f"other_words.py: {' '.join(str(error).split())}\n")
    print(f"{len(words):,} words")


if __name__ == "__main__":
    main()
