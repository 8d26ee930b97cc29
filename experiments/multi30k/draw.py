"""Draw new sentences from a language model, as sources for a teacher to translate.

    awk '{print "a"}' train.en > a.en
    keras-bahdanau train a.en train.en --attention none --out runs/lm
    python experiments/multi30k/draw.py --model runs/lm --without train.en --out drawn.en

The model learns to translate a single source, here "a", into all training sentences. Texts are left
out if they reached the length limit, were drawn before, or are in a file of --without.
"""

import argparse
import dataclasses
import sys
from pathlib import Path

import keras_bahdanau as kb
from keras_bahdanau.data.readers.lines import read_lines
from keras_bahdanau.files.whole_file import write_text

MOST_LINES, MOST_DRAWS = 10_000_000, 1000
PATIENCE = 20  # consecutive draws without a new text


def main(arguments=None):
    given = parsed(arguments)
    try:
        known = {line.strip() for path in given.without for line in read_lines(path)}
        translator = kb.Translator.load(given.model)
        texts, drawn = drawn_texts(translator, given, known)
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    write_text(given.out, "".join(f"{text}\n" for text in texts))
    print(f"{len(texts):,} sentences of {drawn:,} drawn ones: {given.out}")


def drawn_texts(translator, given, known):
    """Return (list of new texts, number of drawn texts).

    Args:
        translator: `Translator`.
        given: Namespace with the command line arguments.
        known: Set of strings to leave out.
    """
    settings = {"temperature": given.temperature, "beam_width": given.draws}
    # the limit based on the source length must not cut the texts
    settings |= {"max_length": given.max_length, "max_length_offset": given.max_length}
    search = dataclasses.replace(translator.search, **settings)
    texts, seen = [], {*known, ""}
    seed = last = given.seed
    while len(texts) < given.lines and seed - last <= PATIENCE:
        # the same source and seed would repeat the draws
        (found,) = translator.translate_nbest(
            [given.source], search=dataclasses.replace(search, seed=seed)
        )
        seed += 1
        new = {one.text.strip() for one in found if one.finished} - seen
        texts += sorted(new)
        seen |= new
        last = seed if new else last
        print(f"\r{len(texts):,} of {given.lines:,}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return texts[: given.lines], (seed - given.seed) * given.draws


def parsed(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--model", type=Path, required=True, help="directory of a training run, or .keras file")
    add("--source", default="a", help="the single source (%(default)s)")
    add("--lines", type=int, default=10_000, help="sentences to write (%(default)s)")
    add("--temperature", type=float, default=0.85, help="sampling temperature (%(default)s)")
    add("--draws", type=int, default=200, help="texts to draw at a time (%(default)s)")
    add("--max-length", type=int, default=30, help="maximum tokens per sentence (%(default)s)")
    add("--without", type=Path, nargs="*", default=[], help="files with lines to leave out")
    add("--seed", type=int, default=0, help="seed for the first draws (%(default)s)")
    add("--out", type=Path, required=True, help="file to write")
    parsed = parser.parse_args(arguments)
    for name, most in (("lines", MOST_LINES), ("draws", MOST_DRAWS)):
        if not 1 <= (value := getattr(parsed, name)) <= most:
            parser.error(f"--{name} must be from 1 to {most:,}. Received: {value}")
    if parsed.out.exists():
        parser.error(f"--out must not exist yet. Received: {parsed.out}")
    return parsed


if __name__ == "__main__":
    main()
