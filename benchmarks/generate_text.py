"""Generate a parallel corpus of any size for benchmarks.

    python benchmarks/generate_text.py 20000000 big.src big.tgt

The text isn't a real language, but has similar statistics. Words are drawn by their rank
(Zipf-Mandelbrot law), and sentences have 4 to 40 words, 13 on average. A target consists of the
words of its source in another vocabulary, with neighbors swapped at random. 5% of the pairs are
duplicates. The same number of pairs and the same seed always give the same bytes.
"""

import argparse
import itertools

import numpy as np

WORDS, BLOCK = 300_000, 50_000  # words in each language; pairs drawn at a time
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


def words_of(rng, letters):
    """Return distinct words of one to four syllables; the most frequent words are short."""
    syllables = [*map("".join, itertools.product(CONSONANTS, VOWELS, letters))]
    drawn = rng.integers(0, len(syllables), (2 * WORDS, 4)).tolist()
    sizes = np.concatenate([rng.integers(1, 3, 2000), rng.integers(2, 5, 2 * WORDS)]).tolist()
    words = (
        "".join(syllables[i] for i in row[:size]) for row, size in zip(drawn, sizes, strict=False)
    )
    return np.array([*itertools.islice(dict.fromkeys(words), WORDS)], dtype=object)


def blocks(pairs, seed):
    """Yield blocks of pairs: (sources, targets), two lists of strings."""
    rng = np.random.default_rng(seed)
    source, target = words_of(rng, ["", "n", "s"]), words_of(rng, ["", "r", "t"])
    # about 70,000 distinct words in 100,000 sentences of each language
    bounds = np.cumsum((np.arange(WORDS) + 2.7) ** -1.25)
    for first in range(0, pairs, BLOCK):
        count = min(BLOCK, pairs - first)
        lengths = np.clip(rng.gamma(3.2, 4.1, count).astype(np.int64), 4, 40)
        ends = np.cumsum(lengths)
        ranks = np.searchsorted(bounds, rng.random(int(ends[-1])) * bounds[-1])
        places = np.arange(len(ranks), dtype=np.float64) + 1.5 * rng.random(len(ranks))
        places += np.repeat(np.arange(count), lengths) * 2  # keeps words in their sentence
        sides = source[ranks], target[ranks[np.argsort(places, kind="stable")]]
        texts = [
            [" ".join(words[end - length : end]) for end, length in zip(ends, lengths, strict=True)]
            for words in (side.tolist() for side in sides)
        ]
        again = rng.integers(0, count, count // 20)
        for side in texts:
            for place, row in enumerate(again.tolist()):
                side[place * 20] = side[row]
        yield texts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=int)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with open(options.source, "w") as source, open(options.target, "w") as target:
        for sides in blocks(options.pairs, options.seed):
            for file, lines in zip((source, target), sides, strict=True):
                file.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
