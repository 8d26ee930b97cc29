"""How close do learned weights come to perfect attention? Compare them with forced alignments.

    python experiments/compare_attention/oracle.py

The demo's sentences have exact alignments. A decoder that is forced to attend according to them
(`forced`) is an upper bound, and a decoder without attention (`none`) is a lower bound. All
decoders read the true preceding words. Search is not compared: no alignment can be imposed.
"""

import argparse
import json
import math
from pathlib import Path

import corpora
import keras
from configurations import CONFIGURATIONS, SIZE, TRAINING, Configuration
from experiment import trained, trained_subwords

import keras_bahdanau as kb
from keras_bahdanau.optimizers import averaged_weights

FORCED = Configuration(
    "small", {"when": "before", "attention": "forced"}, "forced to the exact alignments"
)
COMPARED = {
    "none": CONFIGURATIONS["none"],
    **{name: CONFIGURATIONS[name] for name in ("pair", "dot", "location", "additive")},
    "forced": FORCED,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="runs/compare_attention/oracle.json", help="(%(default)s)")
    parser.add_argument(
        "--train", type=int, default=15000, help="number of training pairs (%(default)s)"
    )
    parser.add_argument(
        "--epochs", type=int, default=12, help="epochs of each training run (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed for weights and batches (0)")
    arguments = parser.parse_args()
    rows = measured(arguments.train, arguments.epochs, arguments.seed)
    path = Path(arguments.out)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(table(rows))


def measured(train, epochs, seed=0, size=SIZE, training=TRAINING, say=print):
    """Return a dictionary for each configuration in `COMPARED`, with its loss on the test."""
    examples, _, tested = kb.demo.split(train=train, test=500)
    corpus = corpora.demo(train=train, epochs=epochs)
    subwords = trained_subwords(corpus)
    rows = []
    for name, configuration in COMPARED.items():
        say(name)
        keras.backend.clear_session()
        keras.utils.set_random_seed(seed)
        settings = {**size, **configuration.overrides}
        model = kb.presets.new_model(configuration.preset, subwords, subwords, **settings)
        model.build()
        forced = name == "forced"
        links = [example.possible for example in examples] if forced else None
        row = trained(model, corpus, subwords, training, seed, say, alignments=links)
        with averaged_weights(model):
            row |= _test(model, subwords, tested, forced)
        rows.append({"configuration": name, "about": configuration.about, "seed": seed, **row})
    return rows


def _test(model, subwords, tested, forced):
    """Return the mean loss of a target token in nats, and the fraction of tokens ranked first."""
    pairs = [(example.source, example.target) for example in tested]
    links = [example.possible for example in tested] if forced else None
    batches = kb.data.BatchedPairs(
        pairs, subwords, subwords, batch_tokens=2048, alignments=links, shuffle=False
    )
    model.compile(loss=kb.losses.TokenCrossentropy(0.0), weighted_metrics=["accuracy"])
    steps = batches.dataset().take(batches.steps)
    logs = model.evaluate(steps, verbose=0, return_dict=True)
    return {"nats": round(logs["loss"], 4), "accuracy": round(logs["accuracy"], 4)}


def table(rows):
    """Return a Markdown table; "learned" is the fraction of the way from `none` to `forced`."""
    nats = {row["configuration"]: row["nats"] for row in rows}
    lines = ["| attention |  | perplexity | tokens right | learned |", "|---|---|--:|--:|--:|"]
    for row in rows:
        learnt = (nats["none"] - row["nats"]) / (nats["none"] - nats["forced"])
        lines.append(
            f"| `{row['configuration']}` | {row['about']} | {math.exp(row['nats']):.3f} "
            f"| {row['accuracy']:.1%} | {learnt:.0%} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
