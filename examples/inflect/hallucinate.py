"""Generate forms of invented words, for a language with few pairs.

    python examples/inflect/hallucinate.py forms.tsv --lines 10000 --out made.tsv

The stem is what lemma and form have in common: runs of three or more letters, each with its
combining marks. In each run, random letters replace all letters except the last ones, which endings
depend on; both sides get the same letters. Letters are drawn as often as they occur in the
lemmas. Features and endings are kept. This is the data hallucination of Anastasopoulos and Neubig
2019 ("Pushing the limits of low-resource morphological inflection", section 3.2), which draws all
letters with equal probability and replaces the inner letters of a run.
"""

import argparse
import difflib
import random
from collections import Counter
from pathlib import Path

import regex

from keras_bahdanau.data import read_lines

LEAST = 3  # letters in a run
KEPT = 2  # letters at its end that are kept
MOST_LINES = 1_000_000
TRIES = 20  # attempts per line to draw a new pair


def hallucinated(rows, lines, seed):
    """Return rows of invented words.

    Args:
        rows: List of (lemma, form, features).
        lines: Positive integer. Maximum number of rows to generate.
        seed: Integer.

    Returns:
        List of distinct rows of the same form, none of which is in `rows`. There are fewer than
        `lines` rows if too few letters can be drawn.

    Raises:
        ValueError: If no row has a run of letters to replace.

    Example:
        >>> hallucinated([("kitaplar", "kitapların", "N;GEN;PL")], 2, seed=1)
    """
    draw = random.Random(seed)
    templates = [(row, runs) for row in rows if (runs := stem(row[0], row[1]))]
    if not templates:
        raise ValueError(
            f"A lemma and its form must have {LEAST} letters in a row in common somewhere. "
            f"Received: {len(rows):,} rows without them. Use the columns lemma, form, features."
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
    """Return the parts to replace: list of (position in the lemma, position in the form, letters).

    A letter includes its combining marks, as in a Devanagari syllable.
    """
    lemma, form = clusters(lemma), clusters(form)
    blocks = difflib.SequenceMatcher(None, lemma, form, autojunk=False).get_matching_blocks()
    runs = ((block.a, block.b, block.size - KEPT) for block in blocks if block.size >= LEAST)
    return [(a, b, size) for a, b, size in runs if all(map(_is_letter, lemma[a : a + size]))]


def clusters(text):
    """Return the grapheme clusters of a text (Unicode's UAX #29)."""
    return regex.findall(r"\X", text)


def _is_letter(cluster):
    return cluster[0].isalpha()


def write(source, path, lines, seed):
    """Write the rows generated from a file, and return their number."""
    lines_read = enumerate(read_lines(source), start=1)
    rows = {number: tuple(line.split("\t")) for number, line in lines_read if line}
    for number, row in rows.items():
        if len(row) != 3:
            raise ValueError(
                "A line must be a lemma, a form and features, separated by tabs. "
                f"Received: line {number} of {str(source)!r} with {len(row)} columns. Correct it."
            )
    made = hallucinated([*rows.values()], lines, seed)
    text = "".join("\t".join(row) + "\n" for row in made)
    path.write_text(text, encoding="utf-8", newline="\n")
    return len(made)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("forms", type=Path, help="TSV with lemma, form and features, plain or .gz")
    parser.add_argument("--lines", type=int, default=10_000, help="maximum number of rows (10,000)")
    parser.add_argument("--seed", type=int, default=1, help="random seed (1)")
    parser.add_argument("--out", type=Path, required=True, help="new TSV to write")
    given = parser.parse_args(arguments)
    if not 0 < given.lines <= MOST_LINES:
        parser.error(f"--lines must be from 1 to {MOST_LINES:,}. Received: {given.lines}")
    if given.out.exists():
        parser.error(f"--out already exists: choose another name. Received: {given.out}")
    try:
        print(f"{write(given.forms, given.out, given.lines, given.seed):,} rows")
    except (OSError, ValueError) as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
