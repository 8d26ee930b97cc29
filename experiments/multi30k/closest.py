"""Select, for each source, the model translations that are closest to the true targets.

    keras-bahdanau translate train.en --model MODEL --nbest 4 --write-pairs written.tsv
    python experiments/multi30k/closest.py train.en train.de written.tsv --keep 2 --out closest.tsv

Closeness is sentence chrF to the nearest target of the source. Sources without a true target are
left out and counted.
"""

import argparse
from collections import defaultdict
from pathlib import Path

from sacrebleu.metrics import CHRF

import keras_bahdanau as kb
from keras_bahdanau.data.pair_file import cell_of
from keras_bahdanau.files.whole_file import write_text


def main(arguments=None):
    given = parsed(arguments)
    targets, texts = defaultdict(list), defaultdict(list)
    for source, target in kb.data.read_pairs(given.source, given.target):
        targets[cell_of(source).strip()].append(target)
    for source, text in kb.data.read_pairs(given.written):
        texts[source].append(text)
    known = [source for source in texts if source in targets]
    lines = [
        f"{source}\t{text}\n"
        for source in known
        for text in closest(texts[source], targets[source], given.keep)
    ]
    write_text(given.out, "".join(lines))
    without = len(texts) - len(known)
    print(
        f"{len(lines):,} pairs for {len(known):,} source{'' if len(known) == 1 else 's'}; "
        f"{without:,} {'has' if without == 1 else 'have'} no true target: {given.out}"
    )


def closest(texts, targets, keep):
    """Return distinct texts with the highest chrF, best first; none if there are no targets.

    Args:
        texts: List of strings.
        targets: List of strings. Closeness is measured to the nearest one.
        keep: Positive integer. Maximum number of texts.
    """
    if not targets:
        return []
    chrf = CHRF()

    def closeness(text):
        return max(chrf.sentence_score(text, [target]).score for target in targets)

    return sorted(dict.fromkeys(texts), key=closeness, reverse=True)[:keep]


def parsed(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("source", type=Path, help="training sources")
    add("target", type=Path, help="true targets of the sources")
    add("written", type=Path, help="TSV of sources and model translations")
    add("--keep", type=int, default=2, help="maximum texts per source (2)")
    add("--out", type=Path, required=True, help="TSV to write")
    parsed = parser.parse_args(arguments)
    if parsed.keep < 1:
        parser.error(f"--keep must be positive. Received: {parsed.keep}")
    return parsed


if __name__ == "__main__":
    main()
