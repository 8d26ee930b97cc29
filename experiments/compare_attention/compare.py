"""Compare attention mechanisms, and no attention, with the same size, training and data.

    python experiments/compare_attention/compare.py --quick

The script writes results.json, table.md and bleu_by_length.png. It doesn't retrain rows that are
in results.json. Exit code 1 means that the results don't show the paper's finding.
"""

import argparse
import json
import os
import sys
from pathlib import Path

import corpora
from configurations import CONFIGURATIONS, SIZE, TRAINING, WITHOUT_AND_WITH

QUICK = ("none", "additive")
BAD_INPUT = 2


def main():
    arguments = parsed()
    sys.stdout.reconfigure(line_buffering=True)  # shows progress in a log file too
    try:
        check(arguments)
        shown = compare(chosen(arguments), arguments.out, arguments.seed)
    except (ValueError, OSError) as error:
        if isinstance(error, ValueError) and "Received: " not in str(error):
            raise
        print(f"compare.py: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        print(f"\ninterrupted; finished rows are in {arguments.out}", file=sys.stderr)
        sys.exit(130)
    sys.exit(1 if shown is False else 0)


def parsed():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=f"configurations: {', '.join(CONFIGURATIONS)}"
    )
    parser.add_argument(
        "--quick", action="store_true", help="compare only with and without attention"
    )
    parser.add_argument("--only", help="configurations, separated by commas")
    parser.add_argument("--multi30k", help="directory with Multi30K's files")
    parser.add_argument(
        "--out", default="runs/compare_attention", help="output directory (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed for weights and batches (0)")
    return parser.parse_args()


def check(arguments):
    """Raise ValueError for invalid values that the parser accepts."""
    unknown = [name for name in _only(arguments) if name not in CONFIGURATIONS]
    if unknown:
        raise ValueError(
            f"--only must name any of {', '.join(CONFIGURATIONS)}. Received: {', '.join(unknown)}"
        )
    if arguments.seed < 0:
        raise ValueError(f"--seed must be at least 0. Received: {arguments.seed}")
    if arguments.quick and arguments.multi30k:
        raise ValueError("--quick can't be combined with --multi30k. Received: both. Leave one out")
    if arguments.multi30k:
        corpora.multi30k_files(arguments.multi30k)
    if Path(arguments.out).is_file():
        raise ValueError(f"--out must be a directory. Received: {arguments.out!r}, a file")
    Path(arguments.out).mkdir(parents=True, exist_ok=True)


def _only(arguments):
    return [] if arguments.only is None else [*dict.fromkeys(arguments.only.split(","))]


def chosen(arguments):
    """Return a list of (corpus, names of configurations)."""
    only = _only(arguments)
    if arguments.quick:
        plan = [(corpora.long, only or QUICK)]
    else:
        pairs = [name for pair in WITHOUT_AND_WITH.items() for name in pair]
        plan = [(corpora.demo, only or CONFIGURATIONS), (corpora.long, only or pairs)]
    if arguments.multi30k:
        plan.append((lambda: corpora.multi30k(arguments.multi30k), only or QUICK))
    return [(corpus(), [*names]) for corpus, names in plan]


def compare(tasks, out, seed=0, size=SIZE, training=TRAINING, say=print):
    """Train the missing rows, and write results.json, table.md and the plot.

    Args:
        tasks: List of (`Corpus`, names of configurations).
        out: Path of a directory.
        seed: Integer.
        size: Dictionary. Sizes that all configurations share.
        training: Dictionary. Training options that they share.
        say: Function of one string that reports progress.

    Returns:
        True if the results show the paper's finding, False if they don't, and None if no trained
        row could show it.

    Raises:
        ValueError: If `results.json` is damaged.
    """
    out = Path(out)
    results = Results(out / "results.json")
    rows = []
    for corpus, names in tasks:
        subwords = None
        for name in names:
            settings = _settings(corpus, name, seed=seed, size=size, training=training)
            row = results.find(settings)
            say(f"{corpus.name}: {name}{', from ' + results.path.name if row else ''}")
            if row is None:
                from experiment import measured, trained_subwords  # TensorFlow: slow to import

                subwords = subwords or trained_subwords(corpus)
                row = {"corpus": corpus.name, "configuration": name, "settings": settings}
                configuration = CONFIGURATIONS[name]
                row |= measured(corpus, subwords, configuration, size, training, seed, say)
                results.add(row)
            say(f"  BLEU {row['bleu']:.1f}, {row['exact_match']:.1%} exact")
            rows.append(row)
    return _report([corpus for corpus, _ in tasks], rows, out, say)


def _settings(corpus, name, **shared):
    """Return everything that a row depends on, with the types that JSON restores."""
    configuration = CONFIGURATIONS[name]
    return {
        **shared,
        "preset": configuration.preset,
        "overrides": configuration.overrides,
        "vocabulary_size": corpus.vocabulary_size,
        "epochs": corpus.epochs,
        "data": corpus.fingerprint(),
    }


def _report(compared, rows, out, say):
    from report import findings, plot_by_length, table  # matplotlib: slow to import

    written = table(compared, rows)
    (out / "table.md").write_text(written, encoding="utf-8")
    long_enough = [corpus for corpus in compared if corpus.name != "demo"] or compared
    plot_by_length(long_enough, rows).savefig(out / "bleu_by_length.png")
    lines, shown = findings(rows)
    say("\n".join(["", written, *lines, "", str(out / "bleu_by_length.png")]))
    return shown


class Results:
    """Finished rows in a JSON file.

    Args:
        path: Path. The file doesn't need to exist yet.

    Raises:
        ValueError: If the file contains anything else.
    """

    def __init__(self, path):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self.rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
            self._known = [row["settings"] for row in self.rows]
        except (ValueError, TypeError, KeyError):
            raise ValueError(
                "results.json must be written by compare.py. Received: another or a damaged file, "
                f"{str(path)!r}. Choose another --out"
            ) from None

    def find(self, settings):
        """Return the row with these settings, or None."""
        return self.rows[self._known.index(settings)] if settings in self._known else None

    def add(self, row):
        """Add a row, and write all rows to the file."""
        self.rows.append(row)
        self._known.append(row["settings"])
        unfinished = self.path.with_name(f".unfinished-{self.path.name}")
        lines = ",\n".join(map(json.dumps, self.rows))  # one row per line
        unfinished.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        os.replace(unfinished, self.path)


if __name__ == "__main__":
    main()
