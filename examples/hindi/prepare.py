"""Write the training files from English-Hindi pairs in three domains.

    python examples/hindi/prepare.py --captions train.tsv dev.tsv --interface train.tsv dev.tsv \
        --sentences hin.txt --out runs/hindi

Each line has English, a tab, Hindi, and more correct answers in additional cells. Cells without
Devanagari, such as an image number, are ignored. Files are UTF-8, plain or .gz.
"""

import argparse
import re
import unicodedata
from collections import Counter
from pathlib import Path

import keras_bahdanau as kb

DEVANAGARI = re.compile("[\u0900-\u097f]")
STAND_INS = "αжաაあ"  # letters of different scripts, which subwords do not join
PLACEHOLDER = re.compile(  # %1$s and %.2f of printf, {name}, ^1
    rf"%(?:\d+\$)?[-+0#,]*\d*(?:\.\d+)?[dfs](?![a-z])|\{{[A-Za-z0-9_.]+\}}|\^\d|[{STAND_INS}]"
)
ZERO_WIDTH = re.compile("[\u200b-\u200d]")  # in some copies of a word, and invisible


def main(arguments=None):
    arguments = parsed(arguments)
    captions, interface = (
        [*map(read, paths)] for paths in (arguments.captions, arguments.interface)
    )
    training, sentences = hold_out(read(arguments.sentences), arguments.held_out)
    # twice as many steps for the interface texts, which are fewer and more varied than captions
    rows = [*captions[0], *interface[0], *interface[0], *training]
    known = {words(english) for english, _ in rows}
    dev = {
        "captions": captions[1],
        "new-captions": [row for row in captions[1] if words(row[0]) not in known],
        "interface": interface[1],
        "sentences": sentences,
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, part in dev.items():
        lines = ["\t".join([english, *answers]) for english, answers in part]
        write(arguments.out / f"{name}.tsv", lines)
    first_answers = [(row[0], row[1][:1]) for name in dev for row in dev[name] if name[:3] != "new"]
    for name, part in (("train", rows), ("dev", first_answers)):
        pairs = training_pairs(part)
        for language, lines in zip(("en", "hi"), zip(*pairs, strict=True), strict=True):
            write(arguments.out / f"{name}.{language}", lines)
        left_out = sum(len(answers) for _, answers in part) - len(pairs)
        print(f"{name}: {len(pairs):,} pairs; {left_out:,} with other placeholders left out")


def read(path):
    """Return the rows of a file: list of (English, list of Hindi answers).

    Each text is in Unicode's form NFC, which has a single encoding for letters with a nukta, such
    as क़, and without characters of zero width.

    Raises:
        SystemExit: If no line has Devanagari after another cell.
    """
    rows, lines = [], kb.data.read_lines(path)
    for line in lines:
        line = ZERO_WIDTH.sub("", unicodedata.normalize("NFC", line))
        cells = [" ".join(cell.split()) for cell in line.split("\t")]
        hindi = [number for number, cell in enumerate(cells) if DEVANAGARI.search(cell)]
        if hindi and hindi[0] and cells[hindi[0] - 1]:
            answers = dict.fromkeys(cells[number] for number in hindi)
            rows.append((cells[hindi[0] - 1], [*answers]))
    if not rows:
        raise SystemExit(
            f"A line must have English, a tab, and Hindi. Received: {path}, where no line does."
        )
    print(f"{path}: {len(rows):,} rows; {len(lines) - len(rows):,} lines are not pairs")
    return rows


def hold_out(rows, count):
    """Return (training rows, `count` held-out rows), which have no texts in common."""
    held_out = rows[:: max(1, len(rows) // count)][:count]
    texts = {text for english, answers in held_out for text in (english, *answers)}
    return [row for row in rows if texts.isdisjoint((row[0], *row[1]))], held_out


def words(text):
    """Return the lowercase words of a text, without punctuation."""
    return " ".join(re.findall(r"\w+", text.lower()))


def training_pairs(rows):
    """Return (English, Hindi) for each answer that has the placeholders of its English text.

    Both sides contain the same stand-ins for them.
    """
    pairs = []
    for english, answers in rows:
        names = stand_ins(english)
        for hindi in answers:
            if placeholders(english) == placeholders(hindi):
                pairs.append((replace(english, names), replace(hindi, names)))
    return pairs


def placeholders(text):
    """Count each placeholder in a text.

    >>> placeholders("%1$s and {name} of %d, 50%")
    Counter({'%1$s': 1, '{name}': 1, '%d': 1})
    """
    return Counter(PLACEHOLDER.findall(text))


def stand_ins(text):
    """Map the placeholders of a text to stand-ins, in order of their first occurrence.

    >>> stand_ins("{name} sent %1$s")
    {'{name}': 'α', '%1$s': 'ж'}
    """
    return dict(zip(placeholders(text), STAND_INS, strict=False))


def replace(text, names):
    """Replace the placeholders of a text according to a dictionary."""
    return PLACEHOLDER.sub(lambda match: names.get(match[0], match[0]), text)


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def parsed(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    pair = {"nargs": 2, "type": Path, "required": True, "metavar": ("TRAIN", "DEV")}
    add("--captions", **pair, help="image captions")
    add("--interface", **pair, help="interface texts, with placeholders")
    add("--sentences", type=Path, required=True, help="sentences, some of which are held out")
    add("--held-out", type=int, default=200, help="number of held-out sentences (200)")
    add("--out", type=Path, required=True, help="directory for all files")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
