"""Classify time series with a bidirectional GRU, and combine its steps in three ways.

    python examples/classify_series/classify.py            # all sets
    python examples/classify_series/classify.py GunPoint   # one of them

The data sets are files in the package aeon, with a fixed split. Each model is trained for the same
number of steps, and nothing is chosen on the test set. To choose settings, use `--valid`, which
holds out every third series of the training set and measures on these instead.
"""

import argparse
import importlib.util
import json
import math
import time
from pathlib import Path

import keras
import numpy as np

import keras_bahdanau as kb

SETS = {  # name -> published accuracy in %, and the method; see README.md
    "ItalyPowerDemand": "97.0 ROCKET",
    "JapaneseVowels": "99 FCN",
    "BasicMotions": "",
    "GunPoint": "100.0 ROCKET",
    "ArrowHead": "81.4 ROCKET",
    "OSULeaf": "94.1 ROCKET",
}
KINDS = ("last state", "stock attention", "attention pooling")
UNITS, LENGTH, BATCH = 32, 50, 16  # LENGTH: maximum number of GRU steps
STEPS, RATE, DROPOUT = 600, 0.005, 0.2
PADDING = -99.0


def read(name, part):
    """Return the series of "TRAIN" or "TEST", each `(time, channels)`, and their labels."""
    folder = importlib.util.find_spec("aeon").submodule_search_locations[0]
    text = Path(folder, "datasets", "data", name, f"{name}_{part}.ts").read_text()
    series, labels = [], []
    for line in text.partition("@data\n")[2].split():
        *channels, label = line.split(":")
        series.append(np.array([channel.split(",") for channel in channels], "float32").T)
        labels.append(label)
    return series, labels


def patches(series, size):
    """Return patches of `size` values, one per GRU step: `(rows, steps, size * channels)`.

    The last patch of a series is filled with the last value, and followed by `PADDING`.
    """
    rows = []
    for values in series:
        values = np.pad(values, [(0, -len(values) % size), (0, 0)], mode="edge")
        rows.append(values.reshape(-1, size * values.shape[1]))
    steps = max(map(len, rows))
    sizes = [[(0, steps - len(row)), (0, 0)] for row in rows]
    return np.stack(
        [np.pad(row, size, constant_values=PADDING) for row, size in zip(rows, sizes, strict=True)]
    )


def load(name, on_valid):
    """Return (x, y, x_test, y_test): patches `(rows, steps, width)` and class numbers.

    Each channel is standardized with its mean and standard deviation in the training set.
    """
    series, labels = read(name, "TRAIN")
    test, test_labels = read(name, "TEST")
    classes = sorted({*labels})
    if on_valid:
        order = np.argsort(labels, kind="stable")  # puts each class into both parts
        held_out, learned = order[::3], np.delete(order, np.s_[::3])
        test, test_labels = ([part[i] for i in held_out] for part in (series, labels))
        series, labels = ([part[i] for i in learned] for part in (series, labels))
    values = np.concatenate(series)
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    size = math.ceil(max(map(len, series)) / LENGTH)
    x, x_test = (
        patches([(row - mean) / deviation for row in part], size) for part in (series, test)
    )
    y, y_test = (np.array([*map(classes.index, part)]) for part in (labels, test_labels))
    return x, y, x_test, y_test


def new_model(width, classes, kind):
    """Return a classifier that combines its steps by `kind`, one of `KINDS`."""
    inputs = keras.Input((None, width))
    gru = keras.layers.GRU(UNITS, return_sequences=True, return_state=True)
    masked = keras.layers.Masking(PADDING)(inputs)
    steps, *states = keras.layers.Bidirectional(gru)(masked)
    last = keras.layers.Concatenate()(states)  # (batch, 2 * UNITS)
    if kind == "last state":
        vector = last
    elif kind == "stock attention":
        query = keras.layers.Reshape((1, 2 * UNITS))(last)
        vector = keras.layers.Flatten()(keras.layers.AdditiveAttention()([query, steps]))
    else:
        vector = kb.AttentionPooling(UNITS)(steps)
    vector = keras.layers.Dropout(DROPOUT)(vector)
    return keras.Model(inputs, keras.layers.Dense(classes, activation="softmax")(vector))


def accuracies(x, y, x_test, y_test, kind, seeds, steps):
    """Return the accuracy on the test set in % for each seed. All seeds share one graph."""
    width, classes = x.shape[-1], int(y.max()) + 1
    model = new_model(width, classes, kind)
    rate = keras.optimizers.schedules.CosineDecay(RATE, steps)
    model.compile(keras.optimizers.Adam(rate), "sparse_categorical_crossentropy")
    model.optimizer.build(model.trainable_variables)
    start = [variable.numpy() for variable in model.optimizer.variables]
    epochs = math.ceil(steps / math.ceil(len(x) / BATCH))
    for seed in seeds:
        keras.utils.set_random_seed(seed)
        model.set_weights(new_model(width, classes, kind).get_weights())
        for variable, value in zip(model.optimizer.variables, start, strict=True):
            variable.assign(value)
        model.fit(x, y, batch_size=BATCH, epochs=epochs, verbose=0)
        prediction = model.predict(x_test, batch_size=256, verbose=0)
        yield 100 * np.mean(prediction.argmax(axis=-1) == y_test)


def compare(name, seeds, steps, on_valid):
    """Return the row of a data set, from column to text, and the mean accuracy by kind."""
    x, y, x_test, y_test = load(name, on_valid)
    row = {"set": name, "classes": int(y.max() + 1), "train": len(x), "test": len(x_test)}
    means = {}
    for kind in KINDS:
        values = [*accuracies(x, y, x_test, y_test, kind, range(seeds), steps)]
        means[kind] = np.mean(values)
        row[kind] = f"{means[kind]:.1f} ({min(values):.1f} to {max(values):.1f})"
    return {**row, "published": SETS[name], "command": f"classify.py {name}"}, means


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sets", nargs="*", default=[*SETS], help=", ".join(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=STEPS, help="number of training batches")
    parser.add_argument(
        "--valid", action="store_true", help="measure on a held-out third of the training set"
    )
    parser.add_argument("--out", default="results.jsonl")
    options = parser.parse_args()
    rows, means = [], []
    for name in options.sets:
        begin = time.monotonic()
        row, mean = compare(name, options.seeds, options.steps, options.valid)
        rows.append(row)
        means.append(mean)
        print(json.dumps(row), f"{time.monotonic() - begin:.0f} s", flush=True)
    mean = {kind: f"{np.mean([mean[kind] for mean in means]):.1f}" for kind in KINDS}
    rows.append({"set": "mean", **mean, "command": "classify.py"})
    print(json.dumps(rows[-1]))
    Path(options.out).write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
