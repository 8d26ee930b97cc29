"""Measure how faithful attention weights are, by mechanism, on the demo and published models.

    python experiments/faithfulness/measure.py --published examples/dates/models/dates.keras dev.txt

Each demo model and each classifier is trained once with each seed. The script writes
`results.jsonl`, with a line for each model, and prints a table. A rerun trains and measures only
what --out lacks. `--quick` runs a short form, with two mechanisms and little training.
"""

import argparse
import dataclasses
import hashlib
import json
import time
from collections.abc import Callable
from functools import partial
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
    *("model", "seeds", "hidden: weights", "hidden: leave-one-out", "replaced: share"),
    *("permuted", "equal", "other weights", "entropy", "overlap of seeds", "alignment errors"),
)


@dataclasses.dataclass(frozen=True)
class Kind:
    """Models that are measured together.

    Attributes:
        name: String, the first column of the table.
        settings: Dictionary, everything that the rows depend on.
        models: Function without arguments that returns (models, inputs, keyword arguments).
    """

    name: str
    settings: dict
    models: Callable

    @property
    def digest(self):
        return _digest(json.dumps(self.settings, sort_keys=True).encode())


def main(arguments=None):
    arguments = parsed(arguments)
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows = [row for kind in kinds(arguments) for row in measured(kind, arguments.out)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (arguments.out / "results.jsonl").write_text(lines, encoding="utf-8")
    print(table(rows))


def kinds(arguments):
    """Yield each `Kind`."""
    training = {"pairs": arguments.pairs, "epochs": arguments.epochs, "seeds": arguments.seeds}
    training["inputs"] = arguments.inputs
    parts = kb.demo.split(train=arguments.pairs, valid=200, test=arguments.inputs)
    for name in arguments.mechanisms:
        models = partial(translators, arguments, name, parts)
        yield Kind(f"demo: {name}", training, models)
    for name, task in (("one word", one_word), ("all words", all_words)):
        yield Kind(f"classifier: {name}", training, partial(classifiers, arguments, task))
    for files in arguments.published:
        settings = {"files": [_digest(Path(file).read_bytes()) for file in files]}
        settings["inputs"] = arguments.inputs
        yield Kind(Path(files[0]).stem, settings, partial(published, arguments, *files))


def _digest(content):
    return hashlib.sha256(content).hexdigest()[:12]


def measured(kind, folder):
    """Return a row for each model of a kind, from a file if they were measured before."""
    path = folder / f"{kind.name.replace(': ', '-').replace(' ', '-')}-{kind.digest}.json"
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    rows = []
    for row in seed_rows(*kind.models()):
        rows.append({"model": kind.name, **kind.settings, **row})
        print(f"{kind.name}, seed {row['seed']}: {row['sentence']}", flush=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(rows), encoding="utf-8")
    unfinished.replace(path)
    return rows


def translators(arguments, name, parts):
    """Return translators of the demo's grammar with one mechanism, trained or loaded."""
    training, valid, test = (
        [(example.source, example.target) for example in part] for part in parts
    )
    models = []
    for seed in range(arguments.seeds):
        run = Run(arguments.out / f"{name}-{arguments.pairs}-{arguments.epochs}-{seed}")
        changes = {"epochs": arguments.epochs, "seed": seed, **MECHANISMS[name]}
        if not run.is_over():
            options = TrainingOptions(**{**OPTIONS, **changes})
            train(training, valid, run.directory, options, verbose=0)
        models.append(kb.Translator.load(run.translator))
    sources, targets = zip(*test, strict=True)
    links = [[getattr(one, kind) for one in parts[2]] for kind in ("sure", "possible")]
    return models, sources, {"targets": targets, "alignments": links}


def classifiers(arguments, task):
    """Return trained classifiers, and ids that they haven't seen."""
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
        print(f"classifier, seed {seed}: accuracy {history['accuracy'][-1]:.3f}", flush=True)
        models.append(model)
    return models, ids[arguments.pairs :], {}


def one_word(random, count):
    """Return ids `(count, 24)` with one of two marked words, and labels `(count,)`."""
    ids, labels = random.integers(3, TOKENS, (count, LENGTH)), random.integers(0, 2, count)
    ids[np.arange(count), random.integers(0, LENGTH, count)] = 1 + labels
    return ids, labels


def all_words(random, count):
    """Return ids `(count, 24)`, and whether most are in the upper half of the vocabulary."""
    ids = random.integers(1, TOKENS, (count, LENGTH - 1))
    return ids, ((ids > TOKENS // 2).mean(axis=1) > 0.5).astype(int)


def published(arguments, path, lines):
    """Return a published model, and the first lines of a file."""
    sources = Path(lines).read_text(encoding="utf-8").splitlines()[: arguments.inputs]
    return [kb.load_pipeline(path)], sources, {}


def seed_rows(models, data, settings):
    """Yield a row for each of several models, which are compared with each other."""
    for seed, model in enumerate(models):
        peers, began = [peer for peer in models if peer is not model], time.perf_counter()
        result = kb.evaluation.faithfulness(model, data, peers=peers, **settings)
        minutes = (time.perf_counter() - began) / 60
        scores = {"sentence": result.sentence, "minutes": minutes, **result.scores()}
        yield {"seed": seed, **scores}


def table(rows):
    """Return a Markdown table of means over seeds, with the outermost limits of the share."""
    lines = [COLUMNS, ("---", *["--:"] * (len(COLUMNS) - 1))]
    for name in dict.fromkeys(row["model"] for row in rows):
        seeds = [row for row in rows if row["model"] == name]
        hidden = ("weights", "leave-one-out")
        values = [[row["areas"]["attention"][order] for row in seeds] for order in hidden]
        shares = [row["shares"]["input"] for row in seeds]
        measures = ("permuted", "uniform", "adversarial", "entropy", "agreement")
        values += [[row[measure] for row in seeds] for measure in measures]
        means = [mean([value and value[0] for value in column]) for column in values]
        limits = f"{min(low for _, low, _ in shares):.2f} to {max(high for *_, high in shares):.2f}"
        means.insert(2, f"{mean([share for share, *_ in shares])} ({limits})")
        errors = mean([row["alignment_error_rate"] for row in seeds])
        lines.append((name, str(len(seeds)), *means, errors))
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
    add("--epochs", type=int, default=8, help="training epochs (%(default)s)")
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
