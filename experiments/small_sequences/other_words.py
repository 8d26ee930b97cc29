"""Words without a pronunciation that look like those of a dictionary, for a teacher to pronounce.

    python experiments/small_sequences/other_words.py *.txt --train train.tsv --dev dev.tsv \
        --out words.txt

A student that reads them, too, sees many more spellings than the dictionary has (Sun et al. 2019,
"Token-Level Ensemble Distillation for Grapheme-to-Phoneme Conversion"). A word is a run of letters
with apostrophes between, 3 to 19 of both. Its case is changed and its accents are taken off if the
dictionary has no such letters. Words of the dictionary are left out, and unlikely ones, such as
foreign words, abbreviations and errors: by the letter trigrams of `--train` they are no likelier
than the least likely 3 % of `--dev`.
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
LENGTHS = range(3, 20)  # in letters and apostrophes
ADDED = 0.1  # to the count of each letter after two others
PASSING = 0.97  # share of the words of dev that are likely enough


class Trigrams:
    """How likely a spelling is.

    p(w) = prod_i p(w_i | w_{i-2} w_{i-1}), with `ADDED` to each count, and an end behind w.

    Args:
        words: Iterable of strings to count.
    """

    def __init__(self, words):
        words = [*words]
        self.counts = Counter(one for word in words for one in self._of(word))
        self.before = Counter(before for word in words for before, _ in self._of(word))
        self.letters = len({letter for _, letter in self.counts})

    def bits(self, word):
        """Float: the mean of -log2 p of a letter."""
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
    """New words of a text.

    Args:
        lines: Iterable of strings.
        train: Set of the words of the dictionary to train on.
        dev: Likewise, of those to choose on.

    Returns:
        List of strings, in a random order that is always the same.

    Raises:
        ValueError: If `train` or `dev` is empty, or no word is new and likely.

    Example:
        >>> other_words(["Savana"], {"BANANA", "CABANA", "SAVANNA", "HAVANA"}, {"NIRVANA"})
        ['SAVANA']
    """
    if not train or not dev:
        raise ValueError(
            "A dictionary must have words to train on, and words to choose on. "
            f"Received: {len(train):,} and {len(dev):,}. Give other files."
        )
    letters = {letter for word in train for letter in word}
    found = {word for line in lines for word in _words(line, letters) if len(word) in LENGTHS}
    trigrams = Trigrams(train)
    most = sorted(map(trigrams.bits, dev))[int(PASSING * len(dev))]
    chosen = sorted(word for word in found - train - dev if trigrams.bits(word) < most)
    if not chosen:
        raise ValueError(
            "A text must have words that are new, and likely enough. "
            f"Received: {len(found):,} different words, none of them so. Give other texts."
        )
    random.Random(1).shuffle(chosen)
    return chosen


def _words(line, letters):
    """The words of a line that the letters can write, each in the first form that they can."""
    for word in WORD.findall(line.replace("’", "'")):
        plain = regex.sub(r"\p{M}", "", unicodedata.normalize("NFD", word))
        forms = (form for text in (word, plain) for form in (text, text.upper(), text.lower()))
        yield from itertools.islice(filter(letters.issuperset, forms), 1)


def first_column(path):
    """Set of the first columns of a TSV."""
    return {line.partition("\t")[0] for line in read_lines(path) if line}


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("texts", type=Path, nargs="+", help="files of any text, plain or .gz")
    add("--train", type=Path, required=True, help="TSV of words to train on and pronunciations")
    add("--dev", type=Path, required=True, help="TSV of words to choose on")
    add("--out", type=Path, required=True, help="new file to write, one word a line")
    given = parser.parse_args(arguments)
    if given.out.exists():
        parser.error(f"--out is there already: choose another name. Received: {given.out}")
    try:
        lines = (line for path in given.texts for line in read_lines(path))
        words = other_words(lines, first_column(given.train), first_column(given.dev))
        write_text(given.out, "".join(f"{word}\n" for word in words))
    except (OSError, ValueError) as error:
        parser.exit(2, f"other_words.py: {' '.join(str(error).split())}\n")
    print(f"{len(words):,} words")


if __name__ == "__main__":
    main()
