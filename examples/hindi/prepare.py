"""Write the training files from English-Hindi pairs in three domains.

    python examples/hindi/prepare.py --captions train.tsv dev.tsv --interface train.tsv dev.tsv \
        --sentences hin.txt --out runs/hindi

Each line has English, a tab, Hindi, and more correct answers in additional columns. Columns without
Devanagari, such as an image number, are ignored. Files are UTF-8, plain or .gz.
"""

import argparse
import random
import re
import unicodedata
from collections import Counter
from pathlib import Path

import keras_bahdanau as kb

DEVANAGARI = re.compile("[\u0900-\u097f]")
STAND_INS = "αжաაあ"  # letters of different scripts, which subwords do not join
PLACEHOLDER = re.compile(  # %1$s and %1$tB, %d and %.2f, {name}, ^1
    r"(?<!%)%(?:\d+\$[-+0#,]*\d*(?:\.\d+)?t?[A-Za-z]|[-+0#,]*\d*(?:\.\d+)?[dfs](?![a-z]))"
    rf"|\{{[A-Za-z0-9_.]+\}}|(?<!(?<!\^)\d)\^\d(?!\d)|[{STAND_INS}]"
)
ZERO_WIDTH = re.compile("[\u200b-\u200d]")  # not letters, and only in some copies of a word


def main(arguments=None):
    arguments = parsed(arguments)
    captions, interface = (
        [*map(read, paths)] for paths in (arguments.captions, arguments.interface)
    )
    training, sentences = hold_out(read(arguments.sentences), arguments.held_out)
    rows = [*captions[0], *interface[0], *training]
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
        pairs = matching(part)
        left_out = sum(len(answers) for _, answers in part) - len(pairs)
        if name == "train":
            pairs += joined(matching(interface[0]))
        pairs = with_stand_ins(pairs)
        for language, lines in zip(("en", "hi"), zip(*pairs, strict=True), strict=True):
            write(arguments.out / f"{name}.{language}", lines)
        print(f"{name}: {len(pairs):,} pairs; {left_out:,} with other placeholders left out")


def read(path):
    """Return the rows of a file: list of (English, list of Hindi answers).

    Texts are `normalized`.

    Raises:
        SystemExit: If no line has Devanagari after another cell.
    """
    rows, lines = [], kb.data.read_lines(path)
    for line in lines:
        cells = [" ".join(cell.split()) for cell in normalized(line).split("\t")]
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


def normalized(text):
    """Return a text in NFC, where each letter with a nukta, such as क़, has a single encoding.

    Zero-width characters are removed.
    """
    return ZERO_WIDTH.sub("", unicodedata.normalize("NFC", text))


def hold_out(rows, count):
    """Return (training rows, `count` held-out rows), which have no texts in common."""
    held_out = rows[:: max(1, len(rows) // count)][:count]
    texts = {text for english, answers in held_out for text in (english, *answers)}
    return [row for row in rows if texts.isdisjoint((row[0], *row[1]))], held_out


def words(text):
    """Return the lowercase words of a text, without punctuation."""
    return " ".join(re.findall(r"\w+", text.lower()))


def matching(rows):
    """Return (English, Hindi) for each answer that has the placeholders of its English text."""
    pairs = [(english, hindi) for english, answers in rows for hindi in answers]
    return [pair for pair in pairs if keeps(*pair)]


def joined(pairs):
    """Return each pair joined with a random one, so that a model also learns longer texts.

    Source: Nguyen, Murray and Chiang 2021, arXiv 2105.01691.
    """
    others = random.Random(1).sample(pairs, len(pairs))
    return [
        (f"{first[0]} {second[0]}", f"{first[1]} {second[1]}")
        for first, second in zip(pairs, others, strict=True)
    ]


def with_stand_ins(pairs):
    """Return pairs with the same stand-ins on both sides, in the order of one side.

    If the sides have different orders, there is a pair for each: either side can be the source.
    """
    result = []
    for english, hindi in pairs:
        orders = [stand_ins(english), stand_ins(hindi)]
        for names in orders[:1] if orders[0] == orders[1] else orders:
            result.append((replace(english, names), replace(hindi, names)))
    return result


def placeholders(text):
    """Return the placeholders in a text.

    >>> placeholders("%1$s and {name} of %d, 50%")
    ['%1$s', '{name}', '%d']
    """
    return PLACEHOLDER.findall(text)


def keeps(source, text):
    """Return True if a translation contains each placeholder as often as its source.

    Placeholders without a number or a name, such as %s and %d, must also have the same order.
    """
    found = placeholders(source), placeholders(text)
    in_order = [[one for one in row if one[0] == "%" and "$" not in one] for row in found]
    return Counter(found[0]) == Counter(found[1]) and in_order[0] == in_order[1]


def stand_ins(text):
    """Map the placeholders of a text to stand-ins, in order of their first occurrence.

    >>> stand_ins("{name} sent %1$s")
    {'{name}': 'α', '%1$s': 'ж'}
    """
    free = [letter for letter in STAND_INS if letter not in text]
    return dict(zip(dict.fromkeys(placeholders(text)), free, strict=False))


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
