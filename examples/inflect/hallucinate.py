"""More forms of invented words, for a language with few pairs.

    python examples/inflect/hallucinate.py forms.tsv --lines 10000 --out made.tsv

What lemma and form have in common is the stem: runs of three letters and more, each with its
combining marks. The letters of a run, but its last ones, which endings depend on, are drawn anew,
the same ones on both sides, as often as the letters of the lemmas are there. Features and endings
stay. This is the data hallucination of Anastasopoulos and Neubig 2019 ("Pushing the limits of
low-resource morphological inflection", section 3.2), which draws all letters alike, and of a run
the inner ones.
"""

import argparse
import difflib
import random
from collections import Counter
from pathlib import Path

import regex

from keras_bahdanau.data import read_lines

LEAST = 3  # letters of a run
KEPT = 2  # of its last letters, which stay
MOST_LINES = 1_000_000
TRIES = 20  # for each line, to draw a pair that was not there yet


def hallucinated(rows, lines, seed):
    """Rows of invented words.

    Args:
        rows: List of (lemma, form, features).
        lines: Positive integer, how many rows to invent at most.
        seed: Integer.

    Returns:
        List of such rows: different ones, of which none is in `rows`. There are fewer than `lines`
        where too few letters can be drawn.

    Raises:
        ValueError: If no row has a run of letters to draw.

    Example:
        >>> hallucinated([("kitaplar", "kitapların", "N;GEN;PL")], 2, seed=1)
    """
    draw = random.Random(seed)
    templates = [(row, runs) for row in rows if (runs := stem(row[0], row[1]))]
    if not templates:
        raise ValueError(
            f"A lemma and its form must have {LEAST} letters in a row in common somewhere. "
            f"Received: {len(rows):,} rows without such. Give columns lemma, form, features."
        )
    letters = Counter(one for lemma, _, _ in rows for one in clusters(lemma) if _is_letter(one))
    made, known = [], {*map(tuple, rows)}
    for _ in range(TRIES * lines):
        (lemma, form, features), runs = draw.choice(templates)
        lemma, form = clusters(lemma), clusters(form)
        for in_lemma, in_form, size in runs:
            drawn = draw.choices([*letters], weights=letters.values(), k=size)
            lemma[in_lemma : in_lemma + size] = form[in_form : in_form + size] = drawn
        row = "".join(lemma), "".join(form), features
        if row not in known:
            known.add(row)
            made.append(row)
        if len(made) == lines:
            break
    return made


def stem(lemma, form):
    """The parts to draw anew: list of (place in the lemma, place in the form, letters).

    A letter is one with its combining marks, such as a Devanagari syllable.
    """
    lemma, form = clusters(lemma), clusters(form)
    blocks = difflib.SequenceMatcher(None, lemma, form, autojunk=False).get_matching_blocks()
    runs = ((block.a, block.b, block.size - KEPT) for block in blocks if block.size >= LEAST)
    return [(a, b, size) for a, b, size in runs if all(map(_is_letter, lemma[a : a + size]))]


def clusters(text):
    """List of the grapheme clusters of a text (Unicode's UAX #29)."""
    return regex.findall(r"\X", text)


def _is_letter(cluster):
    return cluster[0].isalpha()


def write(source, path, lines, seed):
    """Write the rows that are made of a file, and return how many there are."""
    lines_read = enumerate(read_lines(source), start=1)
    rows = {number: tuple(line.split("\t")) for number, line in lines_read if line}
    for number, row in rows.items():
        if len(row) != 3:
            raise ValueError(
                "A line must be a lemma, a form and features, with tabs between. "
                f"Received: line {number} of {str(source)!r}, which has {len(row)}. Correct it."
            )
    made = hallucinated([*rows.values()], lines, seed)
    text = "".join("\t".join(row) + "\n" for row in made)
    path.write_text(text, encoding="utf-8", newline="\n")
    return len(made)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("forms", type=Path, help="TSV of lemma, form and features, plain or .gz")
    parser.add_argument("--lines", type=int, default=10_000, help="most rows to make (10,000)")
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn (1)")
    parser.add_argument("--out", type=Path, required=True, help="new TSV to write")
    given = parser.parse_args(arguments)
    if not 0 < given.lines <= MOST_LINES:
        parser.error(f"--lines must be from 1 to {MOST_LINES:,}. Received: {given.lines}")
    if given.out.exists():
        parser.error(f"--out is there already: choose another name. Received: {given.out}")
    try:
        print(f"{write(given.forms, given.out, given.lines, given.seed):,} rows")
    except (OSError, ValueError) as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
