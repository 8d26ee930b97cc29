"""Correct single names that a character model spells wrong, by training only its output layer.

    python examples/adapt/names.py names.tsv --model examples/transliterate/models/wd-katakana.keras

A line of names.tsv contains a name, a tab, and the right spelling as letters separated by spaces.
Each wrong name is corrected five times, starting from the published weights. The other names show
how many right answers are lost. A correction is a passive-aggressive step (Crammer et al. 2006): if
the right logit doesn't exceed all others by `MARGIN`, the output layer is changed as little as
possible, measured on the readouts r of other names:

    minimize E |D f(r)|^2   where   (D f(r_t))_right - (D f(r_t))_best = the missing margin

With C = E f f^T, the change D has the rows +u and -u, where u is C^-1 f(r_t) times a factor. f(r)
contains r and `FEATURES` rectified random projections of it, which distinguish similar names.
"""

import argparse
import gzip
import random
from pathlib import Path

import numpy as np
import tensorflow as tf

import keras_bahdanau as kb

PAD, UNKNOWN, START, END = range(4)  # ids in a vocabulary
TIMES = 5  # passes over a name
MARGIN = 0.05  # minimum lead of the right logit
FEATURES = 256
RIDGE = 1e-3  # fraction of the mean of C's diagonal that is added to it
STEPS = 26  # maximum letters in a name, with the end token
ROWS = 400  # names in a batch


class NameHead:
    """Output layer that learns names from fixed features of the decoder's readout."""

    def __init__(self, kernel, bias, readouts, seed=0):
        units, vocabulary = kernel.shape
        draw = np.random.default_rng(seed)
        self._mean, self._deviation = readouts.mean(0), readouts.std(0) + 1e-6
        self._projection = draw.normal(0, units**-0.5, (units, FEATURES))
        self._offset = draw.normal(0, 0.5, FEATURES)
        self.weights = np.concatenate([kernel, bias[None], np.zeros((FEATURES, vocabulary))])
        features = self.features(readouts)
        covariance = features.T @ features / len(features)
        ridge = RIDGE * np.trace(covariance) / len(covariance)
        self._inverse = np.linalg.inv(covariance + ridge * np.eye(len(covariance)))

    def features(self, readouts):
        # (n, units) -> (n, units + 1 + FEATURES)
        scaled = (readouts - self._mean) / self._deviation
        rectified = np.maximum(scaled @ self._projection + self._offset, 0)
        return np.concatenate([readouts, np.ones((len(readouts), 1)), rectified], axis=1)

    def logits(self, readouts):
        return masked(self.features(readouts) @ self.weights)

    def correct(self, readouts, letters):
        """Train on the letters of a name once; `readouts` are those before each letter."""
        for vector, right in zip(self.features(readouts), letters, strict=True):
            logits = masked(vector @ self.weights)
            best = np.argmax(np.where(np.arange(len(logits)) == right, -np.inf, logits))
            lacking = MARGIN - (logits[right] - logits[best])
            if lacking > 0:
                direction = self._inverse @ vector
                change = lacking / (2 * vector @ direction) * direction
                self.weights[:, right] += change
                self.weights[:, best] -= change


class Speller:
    """Greedy search with the model of a text pipeline and any output layer."""

    def __init__(self, pipeline):
        self._source, self._model = pipeline.source, pipeline.model
        self._read = tf.function(self._step, reduce_retracing=True)

    def _step(self, tokens, state, memory):
        decoder = self._model.decoder
        embedded = decoder.embed(tokens)
        step, state = decoder.cell(embedded, state, memory)
        return decoder.readout(step.output, step.context, embedded), state

    def _begin(self, names):
        prepared = self._model.encode(self._source.features(tf.constant(names)))
        return self._model.initial_state(prepared), prepared.projected

    def spell(self, names, logits):
        """Return a dictionary from a name to (ids with the end token, readout before each id)."""
        spelled, names = {}, sorted(names, key=len)
        for first in range(0, len(names), ROWS):
            part = names[first : first + ROWS]
            state, memory = self._begin(part)
            columns, tokens = [], np.full(len(part), START, "int32")
            for _ in range(STEPS):
                readouts, state = self._read(tf.constant(tokens), state, memory)
                readouts = readouts.numpy()
                tokens = logits(readouts).argmax(1).astype("int32")
                columns.append((tokens, readouts))
            ids, readouts = (np.stack(column, axis=1) for column in zip(*columns, strict=True))
            for row, name in enumerate(part):
                end = np.flatnonzero(ids[row] == END)
                size = end[0] + 1 if len(end) else STEPS
                spelled[name] = ids[row, :size], readouts[row, :size]
        return spelled

    def read(self, name, letters):
        """Return the readouts before each letter of a known answer."""
        state, memory = self._begin([name])
        rows = []
        for token in [START, *letters[:-1]]:
            readout, state = self._read(tf.constant([token], tf.int32), state, memory)
            rows.append(readout.numpy()[0])
        return np.stack(rows)


def main(arguments=None):
    options = _parser().parse_args(arguments)
    pipeline = kb.load_pipeline(options.model)
    answers = read_names(options.names)
    names, others = np.split([*answers], [options.count])
    kernel, bias, is_embedding = pipeline.model.decoder.output_weights
    kernel = np.asarray(kernel).T if is_embedding else np.asarray(kernel)
    bias = np.zeros(kernel.shape[1]) if bias is None else np.asarray(bias)
    speller = Speller(pipeline)
    seen = speller.spell(others[: options.count], lambda readouts: masked(readouts @ kernel + bias))
    head = NameHead(kernel, bias, np.concatenate([readouts for _, readouts in seen.values()]))
    published, before = head.weights, speller.spell(names, head.logits)

    def is_right(name, ids):
        ids = [int(token) for token in ids if token != END]
        return bool(ids) and pipeline.target.decode([ids])[0] in answers[name]

    right = {name: is_right(name, before[name][0]) for name in names}
    given, lost = [], []
    spelling = {name: letters_of(pipeline.target, min(answers[name])) for name in names}
    wrong = [name for name in names if not right[name] and UNKNOWN not in spelling[name]]
    for name in wrong[: options.corrections]:
        head.weights, letters = published.copy(), spelling[name]
        for _ in range(TIMES):
            head.correct(speller.read(name, letters), letters)
        after = speller.spell(changed(before, head), head.logits)
        now = {other: is_right(other, ids) for other, (ids, _) in after.items()}
        given.append(now.pop(name, False))
        lost.append(100 * sum(right[other] - now[other] for other in now) / (len(names) - 1))
        print(f"{name}: right: {given[-1]}, the others lose {lost[-1]:.3f}", flush=True)
    print(
        f"{len(names):,} names, {np.mean([*right.values()]):.1%} right. Of {len(given)} corrected "
        f"names, {np.mean(given):.0%} are right now. The others lose {np.mean(lost):.3f} points on "
        f"average, {max(lost):.3f} at most, and > 0.1 after {np.mean(np.array(lost) > 0.1):.0%}."
    )


def changed(before, head):
    """Return the names for which a head predicts at least one other letter."""
    starts = np.cumsum([0, *(len(ids) for ids, _ in before.values())])[:-1]
    ids, readouts = (np.concatenate(column) for column in zip(*before.values(), strict=True))
    different = head.logits(readouts).argmax(1) != ids
    is_changed = np.logical_or.reduceat(different, starts)
    return [name for name, other in zip(before, is_changed, strict=True) if other]


def masked(logits):
    logits[..., [PAD, UNKNOWN, START]] = -np.inf
    return logits


def letters_of(target, text):
    """Return the ids of an answer, with the end token."""
    ids = [int(token) for token in target.encode([text])[0]]
    return ids if ids[-1] == END else [*ids, END]


def read_names(path):
    """Return a dictionary, in random order, from each name to the set of its answers."""
    read = gzip.open if path.suffix == ".gz" else open
    answers = {}
    with read(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            name, answer = line.rstrip("\n").split("\t")[:2]
            if name.strip() and len(answer.split()) < STEPS:
                answers.setdefault(name, set()).add(answer)
    names = sorted(answers)
    random.Random(0).shuffle(names)
    return {name: answers[name] for name in names}


def _parser():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", type=Path, help="TSV with names, plain or .gz")
    parser.add_argument("--model", type=Path, required=True, help=".keras file for characters")
    parser.add_argument("--corrections", type=int, default=100, help="names to correct (100)")
    parser.add_argument("--count", type=int, default=5000, help="names to score (5000)")
    return parser


if __name__ == "__main__":
    main()
