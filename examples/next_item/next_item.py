"""Predict the next film of MovieLens-100k users: a GRU with attention, one without, and counts.

    python examples/next_item/next_item.py          # on dev
    python examples/next_item/next_item.py --test   # and on test

A user's last film is test, the film before it dev, the rest is train. Systems rank all films that
the user has not rated. HR@10: fraction of targets in the top ten; MRR@10: mean of 1 / rank there.
"""

import argparse
import importlib.util
import json
import time
from functools import partial
from pathlib import Path

import keras
import numpy as np
from keras import ops

import keras_bahdanau as kb

LENGTH = 50  # number of past films that a system reads, as in RecBole
EMBEDDING, UNITS, DROPOUT = 64, 64, 0.3
BATCH, EPOCHS, RATE = 16, 12, 0.005
COUNTS = {  # system -> maximum steps between the films of a pair; decay for each step back
    "counts after the last film": (1, 0.0),
    "counts after all films of the past": (20, 0.8),
}
MODELS = ("GRU without attention", "GRU with attention")


def data_folder():
    """Return the folder of MovieLens-100k in the package recbole, without importing it."""
    spec = importlib.util.find_spec("recbole")
    if spec is None:
        raise SystemExit('recbole must be installed: pip install --no-deps "recbole>=1.2"')
    return Path(spec.submodule_search_locations[0], "dataset_example", "ml-100k")


def read(folder):
    """Return (sessions, titles): each user's film numbers, from 1, in time order; title by number.

    Films rated in the same second keep the order of the file, as in RecBole.
    """

    def table(ending, *columns):
        lines = Path(folder, f"ml-100k.{ending}").read_text(encoding="utf-8").splitlines()
        header = [column.split(":")[0] for column in lines[0].split("\t")]
        places = [header.index(column) for column in columns]
        return [[line.split("\t")[place] for place in places] for line in lines[1:]]

    ratings = table("inter", "user_id", "item_id", "timestamp")
    numbers = {item: n for n, item in enumerate(sorted({row[1] for row in ratings}), start=1)}
    sessions = {}
    for user, item, _ in sorted(ratings, key=lambda row: float(row[2])):  # stable
        sessions.setdefault(user, []).append(numbers[item])
    title = dict(table("item", "item_id", "movie_title"))
    return [np.array(session) for session in sessions.values()], ["", *map(title.get, numbers)]


def quality(scores, histories, targets):
    """Return (HR@10, MRR@10) for scores `(users, films)`; ties rank above the target."""
    scores = np.array(scores, "float64")
    for row, history in zip(scores, histories, strict=True):
        row[[0, *history]] = -np.inf  # padding, and films that the user has rated
    ranks = np.sum(scores >= scores[np.arange(len(scores)), targets][:, None], axis=1)
    return np.mean(ranks <= 10), np.mean(np.where(ranks <= 10, 1 / ranks, 0))


def follower_counts(sessions, films, window):
    """Count film j at d <= `window` steps after film i, times 1 / d: `(films, films)`."""
    counts = np.zeros((films, films))
    for session in sessions:
        for distance in range(1, min(window, len(session) - 1) + 1):
            np.add.at(counts, (session[:-distance], session[distance:]), 1 / distance)
    return counts


def count_scores(counts, popularity, decay, histories):
    """Sum the counts after each past film, times `decay` for each step back."""
    recent = [history[::-1][:LENGTH] for history in histories]
    scores = [decay ** np.arange(len(films)) @ counts[films] for films in recent]
    return np.stack(scores) + 1e-6 * popularity  # ranks the films without a count


def padded(sessions):
    """Return each session's last films, `(sessions, LENGTH)`, padded with 0 on the right."""
    rows = np.zeros((len(sessions), LENGTH), "int32")
    for row, session in zip(rows, sessions, strict=True):
        row[: len(session)] = session[-LENGTH:]
    return rows


def new_model(films, attention):
    """Return a model of the next film at each step: ids `(batch, LENGTH)` to logits `(..., films)`.

    A GRU reads films e_1 ... e_t into a state h_t (GRU4Rec, Hidasi et al. 2016). With attention h_t
    is the query, the states h_j are the keys (NARM, Li et al. 2017), and the films e_j the values:
    c_t = sum_j alpha_tj e_j, j <= t.
    """
    ids = keras.Input((LENGTH,), dtype="int32")
    normal = keras.initializers.RandomNormal(stddev=EMBEDDING**-0.5)
    embedding = keras.layers.ReversibleEmbedding(films, EMBEDDING, embeddings_initializer=normal)
    embedded = keras.layers.Dropout(DROPOUT)(embedding(ids))
    # needs no mask: padding comes after the films, and no step attends to later ones
    output = states = keras.layers.GRU(UNITS, return_sequences=True)(embedded)
    if attention:
        layer = kb.BahdanauAttention(UNITS, name="attention")
        context = layer(states, embedded, key=states, use_causal_mask=True)
        output = keras.layers.Concatenate()([states, context])
    output = keras.layers.Dense(EMBEDDING)(keras.layers.Dropout(DROPOUT)(output))
    # films up to each step are not ranked: (LENGTH, LENGTH) x (batch, LENGTH, films)
    past = ops.matmul(np.tril(np.ones((LENGTH, LENGTH), "float32")), ops.one_hot(ids, films))
    return keras.Model(ids, ops.where(past > 0, -1e4, embedding(output, reverse=True)))


def train(sessions, films, attention, seed, epochs):
    keras.utils.set_random_seed(seed)
    ends = [(session, end) for session in sessions for end in range(len(session), 1, -LENGTH)]
    windows = [session[max(0, end - LENGTH - 1) : end] for session, end in ends]
    x, y = padded([window[:-1] for window in windows]), padded([window[1:] for window in windows])
    model = new_model(films, attention)
    rate = keras.optimizers.schedules.CosineDecay(RATE, epochs * -(-len(x) // BATCH))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)
    model.compile(keras.optimizers.Adam(rate), loss)
    model.fit(x, y, batch_size=BATCH, epochs=epochs, verbose=0)
    return model


def model_scores(model, histories):
    """Return the logits of the film after each history, `(users, films)`."""
    rows, scores = padded(histories), []
    last = np.minimum([*map(len, histories)], LENGTH) - 1
    for i in range(0, len(rows), 128):
        logits = model.predict_on_batch(rows[i : i + 128])
        scores.append(logits[np.arange(len(logits)), last[i : i + 128]])
    return np.concatenate(scores)


def nearest(model, histories):
    """Return the weight of the last 1, 5, 10 and 20 films: mean over users with `LENGTH` films."""
    rows = padded([history for history in histories if len(history) >= LENGTH])
    weights = kb.attention_weights(model, rows)["attention"][:, -1].mean(axis=0)  # (LENGTH,)
    return {f"last {count}": round(float(weights[-count:].sum()), 3) for count in (1, 5, 10, 20)}


def draw(model, history, titles, path, steps=12):
    """Plot the weights of the last steps, one row per step, over the films up to it."""
    films = history[-LENGTH:]
    weights = kb.attention_weights(model, padded([films]))["attention"][0]
    weights = weights[: len(films), : len(films)][-steps:, -2 * steps :]
    labels = [titles[film][:30] for film in films[-2 * steps :]]
    kb.plot_weights(weights, labels, labels[-steps:]).savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="folder with ml-100k.inter and ml-100k.item")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--test", action="store_true", help="also measure on the last film")
    parser.add_argument("--picture", help="PNG file for the weights of one user")
    parser.add_argument("--out", default="results.jsonl")
    options = parser.parse_args()
    sessions, titles = read(options.data or data_folder())
    learned, films, rows = [session[:-2] for session in sessions], len(titles), []
    parts = {"dev": 2, "test": 1} if options.test else {"dev": 2}

    def report(system, *scorers, **size):
        row = {"system": system}
        for part, last in parts.items():
            histories, targets = zip(*((s[:-last], s[-last]) for s in sessions), strict=True)
            values = [quality(score(histories), histories, targets) for score in scorers]
            for name, runs in zip(("HR@10", "MRR@10"), np.transpose(values), strict=True):
                spread = f" ({min(runs):.4f} to {max(runs):.4f})" if len(runs) > 1 else ""
                row[f"{part} {name}"] = f"{np.mean(runs):.4f}{spread}"
        row |= size or {"weights": "", "minutes": ""}
        rows.append({**row, "command": "next_item.py" + " --test" * options.test})
        print(json.dumps(rows[-1]), flush=True)
        Path(options.out).write_text("".join(json.dumps(row) + "\n" for row in rows))

    popularity = np.bincount(np.concatenate(learned), minlength=films)
    report("most popular", lambda histories: np.tile(popularity, (len(histories), 1)))
    for system, (window, decay) in COUNTS.items():
        counts = follower_counts(learned, films, window)
        report(system, partial(count_scores, counts, popularity, decay))
    for attention, system in enumerate(MODELS):
        begin = time.process_time()
        models = [train(learned, films, attention, i, options.epochs) for i in range(options.seeds)]
        minutes = (time.process_time() - begin) / 60 / options.seeds
        size = {"weights": models[0].count_params(), "minutes": f"{minutes:.1f}"}
        report(system, *(partial(model_scores, model) for model in models), **size)
    print(json.dumps({"weight": nearest(models[0], learned)}))
    if options.picture:
        draw(models[0], max(learned, key=len), titles, options.picture)


if __name__ == "__main__":
    main()
