"""Artificial traces: random vectors with correct softmax and weighted sums."""

import numpy as np

from keras_bahdanau.pipelines.trace import Alternative, Trace
from keras_bahdanau.search import SearchTree

RED_CAR = ["▁the", "▁red", "▁car", "</s>"]
VOITURE = ["▁la", "▁voiture", "▁rouge", "</s>"]


def trace_of(source, target, scores=None, weights=None, **fields):
    """Return a `Trace` of random vectors; `fields` override its values."""
    random = np.random.default_rng(0)
    steps, length = len(target), len(source)
    if scores is None:
        scores = random.normal(size=(steps, length))
    if weights is None:
        weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    values = np.tanh(random.normal(size=(length, 16)))
    states = np.tanh(random.normal(size=(steps + 1, 20)))
    made = {
        "text": "".join(target).replace("▁", " ").replace("</s>", "").strip(),
        "score": -1.0,
        "source_tokens": source,
        "input_tokens": ["<s>", *target][:steps],
        "target_tokens": target,
        "values": values,
        "initial_state": states[0],
        "embedded": random.normal(size=(steps, 14)),
        "query": states[:-1],
        "scores": scores,
        "weights": weights,
        "context": weights @ values,
        "state": states[1:],
        "output": states[1:],
        "log_probs": np.log(np.full(steps, 0.75)),
        "top_tokens": [[token, "▁other"] for token in target],
        "top_probabilities": np.array([[0.75, 0.25]] * steps).reshape(steps, 2),
    }
    return Trace(**{**made, **fields})


def explored_trace(source, target, beam=3, **fields):
    """Return a random `Trace` with alternatives and a search tree that keeps a single path."""
    random = np.random.default_rng(1)
    tokens, parents, path, log_probs = [], [], [], []
    for token in target:
        parent = path[-1] if path else -1
        path.append(len(tokens))
        for number in range(beam):
            tokens.append(f"{token}{number}" if number else token)
            parents.append(parent)
            before = log_probs[parent] if parent >= 0 else 0.0
            log_probs.append(before - 0.2 - number * random.random())
    kept = np.zeros(len(tokens), bool)
    kept[path] = True
    scores = np.array(log_probs) / 2
    finished = np.array([token == "</s>" for token in tokens], bool)
    tree = SearchTree(tokens, np.array(parents, int), np.array(log_probs), scores, finished, kept)
    text = "".join(target).replace("▁", " ").replace("</s>", "").strip()
    others = [
        Alternative(step, "▁other", -1.4, f"{text} {step}", -1.5, ["▁other"])
        for step in range(len(target))
    ]
    return trace_of(source, target, **{"tree": tree, "alternatives": others, **fields})
