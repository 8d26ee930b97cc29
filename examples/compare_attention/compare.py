"""Compare attention scores, and no attention, on the demo's grammar, with the same training.

    python examples/compare_attention/compare.py additive none --out runs/compare_attention

A configuration is the preset `small` with one thing changed. Each configuration is trained in its
own directory, where it can resume. The script writes `results.jsonl` to --out and prints a table.
"""

import argparse
import json
import statistics
from pathlib import Path

import keras_bahdanau as kb
from keras_bahdanau.training import Run, TrainingOptions, train

CONFIGURATIONS = {  # options that differ from `OPTIONS`
    "additive": {},
    "none": {"attention": "none"},
    "between": {"when": "between"},  # the preset's default: attention between two cells
    **{
        name: {"attention": name}
        for name in ("concat", "dot", "general", "scaled-dot", "cosine", "location", "pair-tanh")
    },
    "heads-4": {"heads": 4},
    "local-m": {"window": "local-m"},
    "local-p": {"window": "local-p"},
    "monotonic": {"normalizer": "monotonic"},
    "coverage": {"coverage": "convolution"},
}
OPTIONS = {
    "normalization": "nmt_nfkc",
    "when": "before",  # as in the paper
    "vocabulary_size": 1200,
    "embedding_units": 96,
    "units": 192,
    "attention_units": 96,
    "dropout": 0.1,
    "batch_tokens": 1200,
    "learning_rate": 3e-3,
    "ema_momentum": 0.99,
}
LONG = 1.5  # a source is long if it has this multiple of the median length


def main(arguments=None):
    arguments = parsed(arguments)
    training, valid, test = (
        [(example.source, example.target) for example in part]
        for part in kb.demo.split(train=arguments.pairs, test=500)
    )
    rows = []
    for name in arguments.configurations:
        run = Run(arguments.out / name)
        if not run.is_over():
            changes = {"epochs": arguments.epochs, "seed": arguments.seed, **CONFIGURATIONS[name]}
            options = TrainingOptions(**{**OPTIONS, **changes})
            train(training, valid, run.directory, options, verbose=2)
        rows.append({"configuration": name, **measure(run, test)})
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (arguments.out / "results.jsonl").write_text(lines, encoding="utf-8")
    print(table(rows))


def measure(run, test):
    """Return the scores of a trained model on all sentences and on only the long ones."""
    translator = kb.Translator.load(run.translator)
    median = statistics.median(len(source.split()) for source, _ in test)
    long = [pair for pair in test if len(pair[0].split()) >= LONG * median]
    rule = {"metrics": ("exact", "bleu"), "tokenize": "none"}
    whole = kb.evaluation.evaluate(translator, test, **rule).scores()
    part = kb.evaluation.evaluate(translator, long, **rule).scores()
    return {
        "exact": round(whole["exact"], 1),
        "BLEU": round(whole["bleu"], 1),
        "BLEU, long": round(part["bleu"], 1),
        "weights": translator.model.count_params(),
        "minutes": round(run.progress().seconds / 60, 1),
    }


def table(rows):
    """Return the results as a Markdown table."""
    lines = [[*rows[0]], ["---", *["--:"] * (len(rows[0]) - 1)], *(row.values() for row in rows)]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in lines)


def parsed(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=f"configurations: {', '.join(CONFIGURATIONS)}"
    )
    add = parser.add_argument
    add("configurations", nargs="*", default=[*CONFIGURATIONS], metavar="NAME", help="names (all)")
    add(
        "--out", type=Path, default="runs/compare_attention", metavar="DIR", help="output directory"
    )
    add("--pairs", type=int, default=15000, help="number of training pairs (%(default)s)")
    add("--epochs", type=int, default=12, help="training epochs (%(default)s)")
    add("--seed", type=int, default=0, help="seed for weights and batches (0)")
    parsed = parser.parse_args(arguments)
    if unknown := {*parsed.configurations} - {*CONFIGURATIONS}:
        parser.error(f"NAME must be one of {', '.join(CONFIGURATIONS)}. Received: {unknown}")
    return parsed


if __name__ == "__main__":
    main()
