"""Measure how faithful attention weights are, by mechanism, on the demo and published models.

    python experiments/faithfulness/measure.py --published examples/dates/models/dates.keras dev.txt

Each demo model and each classifier is trained once with each seed, in a separate directory in
--out. The script writes a line for each seed to `results.jsonl` there, and prints the table.
`--quick` runs a short form, with two mechanisms and little training.
"""

import argparse
import json
import time
from pathlib import Path

import keras
import numpy as np

import keras_bahdanau as kb
from keras_bahdanau.layers.names import SCORES
from keras_bahdanau.training import Run, TrainingOptions, train

OPTIONS = {
    "normalization": "nmt_nfkc",
    "when": "before",
    "vocabulary_size": 1200,
    "embedding_units": 96,
    "units": 192,
    "attention_units": 96,
    "dropout": 0.1,
    "batch_tokens": 1200,
    "learning_rate": 3e-3,
    "ema_momentum": 0.99,
}
MECHANISMS = {
    **{name: {"attention": name} for name in SCORES},
    "local-p": {"window": "local-p"},
    "monotonic": {"normalizer": "monotonic"},
    "hard": {"hard_alignment": "first", "when": "apart"},
}
TOKENS, LENGTH = 60, 24  # vocabulary and length of the classifiers' inputs
COLUMNS = (
    *("model", "seeds", "share, hidden", "share, replaced", "permuted", "equal", "other weights"),
    *("entropy", "overlap of seeds", "alignment errors", "minutes"),
)


def main(arguments=None):
    arguments = parsed(arguments)
    rows = [*demo_rows(arguments), *classifier_rows(arguments), *published_rows(arguments)]
    arguments.out.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (arguments.out / "results.jsonl").write_text(lines, encoding="utf-8")
    print(table(rows))


def demo_rows(arguments):
    """Yield a row for each mechanism and seed: a translator of the demo's grammar."""
    parts = kb.demo.split(train=arguments.pairs, valid=200, test=arguments.inputs)
    training, valid, test = (
        [(example.source, example.target) for example in part] for part in parts
    )
    sources, targets = zip(*test, strict=True)
    links = [[getattr(one, kind) for one in parts[2]] for kind in ("sure", "possible")]
    for name in arguments.mechanisms:
        translators = []
        for seed in range(arguments.seeds):
            run = Run(arguments.out / f"{name}-{seed}")
            changes = {"epochs": arguments.epochs, "seed": seed, **MECHANISMS[name]}
            if not run.is_over():
                options = TrainingOptions(**{**OPTIONS, **changes})
                train(training, valid, run.directory, options, verbose=0)
            translators.append(kb.Translator.load(run.translator))
        settings = {"targets": targets, "alignments": links}
        yield from seed_rows(f"demo: {name}", translators, sources, **settings)


def classifier_rows(arguments):
    """Yield a row for each seed of two classifiers: one reads one marked word, one all words."""
    for name, task in (("one word", one_word), ("all words", all_words)):
        ids, labels = task(np.random.default_rng(1), arguments.pairs + arguments.inputs)
        models = []
        for seed in range(arguments.seeds):
            keras.utils.set_random_seed(seed)
            model = keras.Sequential(
                [
                    keras.layers.Embedding(TOKENS, 32, mask_zero=True),
                    keras.layers.Bidirectional(keras.layers.LSTM(32, return_sequences=True)),
                    kb.AttentionPooling(32),
                    keras.layers.Dense(1, activation="sigmoid"),
                ]
            )
            model.compile(keras.optimizers.Adam(3e-3), "binary_crossentropy", metrics=["accuracy"])
            count, epochs = arguments.pairs, arguments.epochs
            history = model.fit(ids[:count], labels[:count], epochs=epochs, verbose=0).history
            print(f"classifier: {name}: accuracy {history['accuracy'][-1]:.3f}", flush=True)
            models.append(model)
        yield from seed_rows(f"classifier: {name}", models, ids[arguments.pairs :])


def one_word(random, count):
    """Return ids `(count, 24)` with one of two marked words, and labels `(count,)`."""
    ids, labels = random.integers(3, TOKENS, (count, LENGTH)), random.integers(0, 2, count)
    ids[np.arange(count), random.integers(0, LENGTH, count)] = 1 + labels
    return ids, labels


def all_words(random, count):
    """Return ids `(count, 24)`, and whether most are in the upper half of the vocabulary."""
    ids = random.integers(1, TOKENS, (count, LENGTH - 1))
    return ids, ((ids > TOKENS // 2).mean(axis=1) > 0.5).astype(int)


def published_rows(arguments):
    """Yield a row for each pair of a published `.keras` file and a file of input lines."""
    for path, lines in arguments.published:
        sources = Path(lines).read_text(encoding="utf-8").splitlines()[: arguments.inputs]
        yield from seed_rows(Path(path).stem, [kb.load_pipeline(path)], sources)


def seed_rows(name, models, data, **settings):
    """Yield a row for each of several models, which are compared with each other."""
    for seed, model in enumerate(models):
        peers, began = [peer for peer in models if peer is not model], time.perf_counter()
        result = kb.evaluation.faithfulness(model, data, peers=peers, **settings)
        minutes = (time.perf_counter() - began) / 60
        print(f"{name}, seed {seed}: {result.sentence}", flush=True)
        yield {"model": name, "seed": seed, "minutes": minutes, **result.scores()}


def table(rows):
    """Return a Markdown table of means over seeds."""
    lines = [COLUMNS, ("---", *["--:"] * (len(COLUMNS) - 1))]
    for name in dict.fromkeys(row["model"] for row in rows):
        seeds = [row for row in rows if row["model"] == name]
        values = [[row["shares"].get(place) for row in seeds] for place in ("attention", "input")]
        measures = ("permuted", "uniform", "adversarial", "entropy", "agreement")
        values += [[row[measure] for row in seeds] for measure in measures]
        means = [mean([value and value[0] for value in column]) for column in values]
        others = [mean([row[one] for row in seeds]) for one in ("alignment_error_rate", "minutes")]
        lines.append((name, str(len(seeds)), *means, *others))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def mean(values):
    return "" if None in values else f"{np.mean(values):.2f}"


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("mechanisms", nargs="*", metavar="NAME", help=f"{', '.join(MECHANISMS)} (all)")
    add("--published", nargs=2, action="append", default=[], metavar=("MODEL", "LINES"))
    add(
        "--out",
        type=Path,
        default=Path("runs/faithfulness"),
        metavar="DIR",
        help="output directory",
    )
    add("--seeds", type=int, default=3, help="models of each kind (%(default)s)")
    add("--pairs", type=int, default=15000, help="number of training pairs (%(default)s)")
    add("--epochs", type=int, default=12, help="training epochs (%(default)s)")
    add("--inputs", type=int, default=200, help="number of inputs to measure (%(default)s)")
    add("--quick", action="store_true", help="two mechanisms, 600 pairs, 1 epoch, 8 inputs")
    parsed = parser.parse_args(arguments)
    if unknown := {*parsed.mechanisms} - {*MECHANISMS}:
        parser.error(f"NAME must be one of {', '.join(MECHANISMS)}. Received: {unknown}")
    if parsed.quick:
        parsed.mechanisms = parsed.mechanisms or ["additive", "dot"]
        parsed.seeds, parsed.pairs, parsed.epochs, parsed.inputs = 1, 600, 1, 8
    parsed.mechanisms = parsed.mechanisms or [*MECHANISMS]
    return parsed


if __name__ == "__main__":
    main()
