"""Which strokes of a formula are which symbol, as the attention of a trained model says."""

from typing import NamedTuple

import formulas
import numpy as np

import keras_bahdanau as kb
from keras_bahdanau.sources.ink_source import pen_frames

STRUCTURE = set("{ } ^ _".split())  # tokens without strokes
POSITION, SHIFT = 4, -1  # frames that an attended position stands for, and where it begins
MASS = 0.6  # of the attention of a symbol on its strokes, and of theirs that is its own
SHARE = 0.2  # of the symbols of a token have as many strokes, or they are not sure


class Formula(NamedTuple):
    """Strokes in their mean sizes, tokens, and the token whose symbol each stroke belongs to.

    `sure` has the places of tokens whose strokes are known well enough to be exchanged.
    """

    strokes: list
    tokens: list
    owners: np.ndarray
    sure: frozenset


def understood(pairs, model):
    """`Formula` of each pair all of whose symbols have strokes, as the model's attention says."""
    pipeline = kb.load_pipeline(model)
    found = []
    for (strokes, text), result in zip(pairs, pipeline.align(pairs), strict=True):
        strokes = [np.asarray(stroke, np.float64) for stroke in strokes if len(stroke)]
        tokens = text.split()
        symbols = [place for place, token in enumerate(tokens) if token not in STRUCTURE]
        mass = attended(result.alignment[symbols], frame_counts(strokes))
        owners = mass.argmax(axis=0)
        if len(set(owners)) == len(symbols):
            unit = formulas.mean_size(strokes)
            scaled = [stroke / unit for stroke in strokes]
            sure = {symbols[one] for one in range(len(symbols)) if is_sure(mass, owners, one)}
            owners = np.array(symbols)[owners]
            found.append(Formula(scaled, tokens, owners, frozenset(sure)))
    usual = usual_counts(found)
    return [
        one._replace(sure=frozenset(p for p in one.sure if stroke_count(one, p) in usual))
        for one in found
    ]


def frame_counts(strokes):
    """How many frames of `InkSource` each stroke has."""
    ends = np.flatnonzero(pen_frames(strokes)[:, -1])
    return np.diff(ends, prepend=-1)


def attended(alignment, counts):
    """Attention `(symbols, positions)` as that of each symbol to each stroke."""
    ends = np.cumsum(counts)
    positions = np.arange(alignment.shape[1] + 1)
    summed = np.pad(np.cumsum(alignment, axis=1, dtype=np.float64), ((0, 0), (1, 0)))
    until = [np.interp((ends + SHIFT) / POSITION, positions, row) for row in summed]
    return np.diff(until, axis=1, prepend=0.0)


def is_sure(mass, owners, symbol):
    strokes = np.flatnonzero(owners == symbol)
    own = mass[symbol, strokes]
    together = strokes[-1] - strokes[0] == len(strokes) - 1
    return together and own.sum() > MASS and (own > MASS * mass[:, strokes].sum(axis=0)).all()


def stroke_count(formula, place):
    return formula.tokens[place], int((formula.owners == place).sum())


def usual_counts(known):
    """The (token, number of strokes) that are not rare for their token."""
    counts, tokens = {}, {}
    for one in known:
        for place in one.sure:
            pair = stroke_count(one, place)
            counts[pair] = counts.get(pair, 0) + 1
            tokens[pair[0]] = tokens.get(pair[0], 0) + 1
    return {pair for pair, count in counts.items() if count >= SHARE * tokens[pair[0]]}
