"""Teach the dates model one more language from 500 lines, and keep the 40 locales it reads.

    python examples/adapt/adapt.py --out runs/adapt

`examples/dates` contains the model and generates the lines. OUT/log.txt contains the commands and
their output. Finished steps are not repeated.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from babel import localedata

from keras_bahdanau.training import Run

EXAMPLES = Path(__file__).parents[1]
sys.path.insert(0, str(EXAMPLES / "dates"))
# runs `keras-bahdanau`; unlike `python -m`, it imports no modules from the current directory
PROGRAM = """
import runpy, sys
sys.path[:] = filter(None, sys.path)
runpy.run_module("keras_bahdanau.cli", run_name="__main__", alter_sys=True)
"""
COLUMNS = "source,target,features,-,-"
NEW, OLD = 500, 2000  # numbers of training lines
SCORES = ("exact", "bleu")
OPTIONS = (
    *("--preset", "characters", "--batch-sentences", 64, "--learning-rate", 0.001),
    *("--epochs", 8, "--epoch-steps", 60, "--ema-momentum", 0.98, "--label-smoothing", 0),
    *("--best-by", "perplexity", "--minutes", 5),
)
APPEND = ("--update-vocabulary", "append", "--vocabulary-pairs", "new.tsv")
RUNS = {  # title, training file, additional options
    "new": ("the 500 lines", "new.tsv", APPEND),
    "mixed": ("the 500 lines, and 2,000 old ones", "mixed.tsv", APPEND),
    "old-vocabulary": ("the 500 lines, with the old vocabulary", "new.tsv", ()),
}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="new directory, or one to resume")
    parser.add_argument(
        "--model", type=Path, default=EXAMPLES / "dates/models/dates.keras", help="(%(default)s)"
    )
    parser.add_argument("--locale", default="ka", help="language to learn (ka, Georgian)")
    parser.add_argument("--lines", type=int, default=500, help="number of lines in each test (500)")
    parser.add_argument(
        "--runs", default=",".join(RUNS), help="comma-separated subset of %(default)s (all)"
    )
    arguments = parser.parse_args(arguments)
    out, model = arguments.out, arguments.model.absolute()
    if not 0 < arguments.lines <= 100_000:
        parser.error("--lines must be from 1 to 100,000")
    runs = arguments.runs.split(",")
    if not {*runs} <= {*RUNS}:
        parser.error(f"--runs must name any of {', '.join(RUNS)}")
    if not localedata.exists(arguments.locale):
        parser.error(
            f"--locale must be one that Babel supports. Received: {arguments.locale!r:.40}"
        )
    out.mkdir(parents=True, exist_ok=True)
    check_same(out, model=str(model), locale=arguments.locale, lines=arguments.lines)
    write_data(out, arguments.locale, arguments.lines)
    rows = {"before": (0.0, scores_of(out, "before", model))}
    for name in runs:
        title, file, options = RUNS[name]
        minutes = train(out, name, file, options, model)
        rows[title] = (minutes, scores_of(out, name, name))
    print(table(rows))


def check_same(out, **asked):
    """Exit if the run in this directory was started with other arguments."""
    path = out / "about.json"
    begun = json.loads(path.read_text("utf-8")) if path.exists() else asked
    if begun != asked:
        sys.exit(f"{out} was started with {begun}. Received: {asked}. Choose another --out.")
    path.write_text(json.dumps(asked, indent=1), "utf-8")


def write_data(out, locale, lines):
    """Write the lines for training, validation and the tests, which have no dates in common."""
    import dates

    new, old = (locale,), dates.LOCALES
    parts = {
        "new.tsv": [("train", NEW, 1, new)],
        "mixed.tsv": [*[("train", NEW, 1, new)] * 2, ("train", OLD, 2, old)],
        "valid.tsv": [("test", 100, 3, new), ("test", 100, 4, old)],
        "new-test.tsv": [("dev", lines, 5, new)],
        "old-test.tsv": [("dev", lines, 6, old)],
    }
    for name, drawn in parts.items():
        made = [
            line
            for part, count, seed, locales in drawn
            for line in dates.lines(part, count, seed, locales=locales)
        ]
        (out / name).write_text("".join("\t".join(line) + "\n" for line in made), "utf-8")


def train(out, directory, file, options, model):
    """Adapt the model, and return the training time in minutes."""
    run = Run(out / directory)
    if not run.is_over():
        command(
            out,
            *("train", file, "--columns", COLUMNS, "--valid-source", "valid.tsv"),
            *("--from", model, "--out", directory, *OPTIONS, *options),
        )
    return run.progress().seconds / 60


def scores_of(out, name, model):
    """Return the scores on both tests, in the order of `SCORES`."""
    found = []
    for test in ("new", "old"):
        file = out / f"{name}-{test}.json"
        if not file.exists():
            command(
                out,
                *("evaluate", f"{test}-test.tsv", "--columns", COLUMNS, "--model", model),
                *("--metrics", ",".join(SCORES), "--tokenize", "char", "--beam-width", 1),
                *("--json", file.name),
            )
        corpus = json.loads(file.read_text("utf-8"))
        found += [corpus[score] for score in SCORES]
    return found


def command(out, *arguments):
    """Run `keras-bahdanau` in the directory, and append its output to the log."""
    arguments = [str(one) for one in arguments]
    with open(out / "log.txt", "a", encoding="utf-8") as log:
        log.write(f"$ keras-bahdanau {' '.join(arguments)}\n")
        log.flush()
        program = [sys.executable, "-c", PROGRAM, *arguments]
        done = subprocess.run(program, cwd=out, stdout=log, stderr=log)
    if done.returncode:
        sys.exit(f"keras-bahdanau {arguments[0]} failed: see {out / 'log.txt'}")


def table(rows):
    """Return a Markdown table of minutes and scores."""
    lines = [
        "| trained on | minutes | new: exact, % | new: BLEU | old: exact, % | old: BLEU |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, (minutes, scores) in rows.items():
        cells = [f"{minutes:.1f}", *(f"{score:.1f}" for score in scores)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
