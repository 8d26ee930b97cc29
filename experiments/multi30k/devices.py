r"""Compare LiteRT files on Multi30K: size, BLEU and time per sentence, on one thread.

    python experiments/multi30k/devices.py --data multi30k --out devices.json \
        examples/multi30k/models/small-de.tflite examples/multi30k/models/student-de.tflite

The directory --data contains `tok/`: see examples/multi30k/README.md. Scores are for `val`, or for
--part. All times are compared with that of the first file's beam search. Run nothing else at the
same time.
"""

import argparse
from pathlib import Path

import scoring
from architectures import SENTENCES, p50

import keras_bahdanau as kb
from keras_bahdanau.exporters.litert.on_device import OnDeviceTranslator
from keras_bahdanau.files.whole_file import write_json

SEARCHES = {"greedy": True, "beam": False}  # False uses the beam stored in the file


def main(arguments=None):
    arguments = parsed(arguments)
    sides = (arguments.data / "tok" / f"{arguments.part}.{each}.gz" for each in ("en", "de"))
    pairs = kb.data.read_pairs(*sides)
    rows = [
        measured(path, name, greedy, pairs)
        for path in arguments.files
        for name, greedy in SEARCHES.items()
    ]
    print(table(rows))
    write_json(arguments.out, {"part": arguments.part, "rows": rows})


def measured(path, name, greedy, pairs):
    """Return the table row for a file with one search."""
    translator = OnDeviceTranslator(path, greedy=greedy)
    sources = [source for source, _ in pairs]
    texts = [one.text for one in translator.translate(sources)]
    scores = scoring.score(texts, [target for _, target in pairs], "tok")
    return {
        "file": path.name,
        "search": name,
        "bytes": path.stat().st_size,
        "bleu": scores["bleu"],
        "chrf": scores["chrf"],
        "p50_ms": p50(translator, sources[:SENTENCES]),
    }


def table(rows):
    """Return the rows as a Markdown table."""
    first = next(row for row in rows if row["search"] == "beam")
    head = "file, search | MB | BLEU | chrF | p50 | times as fast"
    lines = [f"| {head} |", "|---" + "|--:" * head.count("|") + "|"]
    for row in rows:
        cells = [
            f"{row['file']}, {row['search']}",
            f"{row['bytes'] / 1e6:.2f}",
            f"{row['bleu']:.2f}",
            f"{row['chrf']:.2f}",
            f"{row['p50_ms']:.2f} ms",
            f"{first['p50_ms'] / row['p50_ms']:.2f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def parsed(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help=".tflite files")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--part", default="val", help="part of the data (%(default)s)")
    parser.add_argument("--out", type=Path, required=True, help=".json file to write")
    arguments = parser.parse_args(arguments)
    for path in [arguments.data / "tok", *arguments.files, arguments.out.absolute().parent]:
        if not path.exists():
            parser.error(f"there is no '{path}': check the spelling")
    return arguments


if __name__ == "__main__":
    main()
