"""Collect the results of the SCAN models, and plot their attention.

    python examples/scan/report.py results runs/scan
    python examples/scan/report.py attention runs/scan/addprim_jump-attention-rnn-1 \\
        runs/scan/addprim_jump-two-streams-1 --out runs/scan/alignment.png

`results` writes `results.jsonl` in this folder from the records of all models. Each row gives the
mean and range over the seeds for one split and model. `attention` plots the alignments of a
command, and prints for each step the action and the word with the largest weight.
"""

import argparse
import itertools
import json
import statistics
from pathlib import Path

from matplotlib.figure import Figure
from scan import MODELS, SPLITS

import keras_bahdanau as kb

UNMEASURED = "not yet measured"
TWO_STREAMS = ("addprim_turn_left", "addprim_jump")
ROWS = [
    *((split, "attention-rnn") for split in SPLITS),
    *((split, "two-streams") for split in TWO_STREAMS),
]
CELL, LABELS = 0.3, 1.6  # inches per weight, and for the words at the sides


def main(arguments=None):
    arguments = parsed(arguments)
    if arguments.task == "results":
        rows = results(arguments.runs)
        text = "".join(json.dumps(row) + "\n" for row in rows)
        arguments.out.write_text(text, encoding="utf-8")
        print(text, end="")
    else:
        attention(arguments.runs, arguments.command, arguments.out)


def results(directory):
    """Return the rows of the table, as dictionaries from column to value."""
    records = [json.loads(path.read_text("utf-8")) for path in directory.glob("*/scores.json")]
    extra = [(split, model) for model in MODELS for split in SPLITS]
    rows = []
    for split, model in dict.fromkeys([*ROWS, *extra]):
        runs = [
            record for record in records if (record["split"], record["model"]) == (split, model)
        ]
        if not runs and (split, model) not in ROWS:
            continue
        dev, test = ([run[part] for run in runs if part in run] for part in ("dev", "test"))
        rows.append(
            {
                "split": split,
                "model": model,
                "dev": summary(dev),
                "test": summary(test),
                "seeds": len(test or dev) or "",
                "minutes": max((run["minutes"] for run in runs), default=""),
                "weights": f"{runs[0]['weights']:,}" if runs else "",
                "command": f"scan.py SCAN --split {split} --model {model}",
            }
        )
    return rows


def summary(scores):
    """Return the mean and, of several scores, the range, in percent."""
    if len(scores) < 2:
        return f"{scores[0]:.2f}" if scores else UNMEASURED
    return f"{statistics.mean(scores):.2f} ({min(scores):.2f} to {max(scores):.2f})"


def attention(directories, command, path):
    """Plot the alignments of a command for several models, and print the attended words."""
    decoded = []
    for directory in directories:
        translator = kb.Translator.load(directory / "translator.keras")
        decoded += translator.translate([command])
    names = [directory.name for directory in directories]

    heights = [len(result.target_tokens) for result in decoded]
    width = len(decoded[0].source_tokens)
    size = len(decoded) * (CELL * width + LABELS), CELL * max(heights) + LABELS
    figure = Figure(figsize=size, dpi=150, layout="constrained")
    for axes, name, result in zip(
        figure.subplots(1, len(decoded), squeeze=False)[0], names, decoded, strict=True
    ):
        kb.plot_alignment(result, ax=axes)
        axes.set_xlabel(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)

    columns = [steps(result) for result in decoded]
    lines = [["step", *names], ["--:", *["---"] * len(names)]]
    for number, cells in enumerate(itertools.zip_longest(*columns, fillvalue=""), start=1):
        lines.append([str(number), *cells])
    print(f"{command}\n", *(f"| {' | '.join(line)} |" for line in lines), f"\n{path}", sep="\n")


def steps(result):
    """Return the action of each step, with the word that has the largest weight."""
    for action, weights in zip(result.target_tokens, result.alignment, strict=True):
        word = result.source_tokens[weights.argmax()]
        yield f"{plain(action)} from {plain(word)} ({weights.max():.2f})"


def plain(token):
    return token.removeprefix("▁").replace("</s>", "end")


def parsed(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tasks = parser.add_subparsers(dest="task", required=True)
    table = tasks.add_parser("results", help="write results.jsonl")
    table.add_argument("runs", type=Path, metavar="DIR", help="directory with the models")
    out = Path(__file__).with_name("results.jsonl")
    table.add_argument("--out", type=Path, default=out, metavar="FILE", help="results.jsonl")
    picture = tasks.add_parser("attention", help="plot the alignments of a command")
    picture.add_argument("runs", type=Path, nargs="+", metavar="DIR", help="directories of models")
    picture.add_argument("--command", default="jump around left twice", help="(%(default)s)")
    picture.add_argument("--out", type=Path, default="runs/scan/alignment.png", metavar="FILE",
        help="plot (%(default)s)")  # fmt: skip
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
