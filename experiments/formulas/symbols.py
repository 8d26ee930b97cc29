r"""Which strokes of a formula are which symbol, as the attention of a trained model says.

    python experiments/formulas/symbols.py train.jsonl.gz \
        --model examples/formulas/models/ink.tflite --out known.jsonl.gz

writes the formulas of a file with the token that each stroke belongs to, where the model knows it:
`owners`, by which `train.py --guided` shows a model of images where to look.
"""

import argparse
import gzip
import json
from typing import NamedTuple

import drawing
import formulas
import numpy as np

import keras_bahdanau as kb
from keras_bahdanau.sources.ink_source import pen_frames

STRUCTURE = set("{ } ^ _".split())  # tokens without strokes
POSITION, SHIFT = 4, -1  # frames that an attended position stands for, and where it begins
MASS = 0.6  # of the attention of a symbol on its strokes, and of theirs that is its own
UNITS = 500  # of a file, for the mean size of a stroke
SAID = 500  # formulas read between two lines that say so
SHARE = 0.2  # of the symbols of a token have as many strokes, or they are not sure


class Formula(NamedTuple):
    """Strokes in their mean sizes, tokens, and the token whose symbol each stroke belongs to.

    `sure` has the places of tokens whose strokes are known well enough to be exchanged.
    """

    strokes: list
    tokens: list
    owners: np.ndarray
    sure: frozenset


@formulas.ends_well()
def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=formulas.existing, help="formulas, as formulas.py says")
    parser.add_argument(
        "--model", type=formulas.existing, required=True, help="a .keras or a .tflite file"
    )
    parser.add_argument(
        "--out", type=formulas.new_packed_file, required=True, help="a .gz file to write"
    )
    arguments = parser.parse_args(arguments)
    pairs = formulas.read(arguments.file)
    found = list(each_understood(pairs, arguments.model))
    write(arguments.out, map(_or_unknown, pairs, found))
    known = sum(one is not None for one in found)
    print(f"owners of {known} of {len(pairs)} formulas: {arguments.out}")


def _or_unknown(pair, found):
    strokes, text = pair
    return found or Formula(scaled(formulas.not_empty(strokes)), text.split(), None, frozenset())


def write(path, found):
    """A file of `Formula`s, as `formulas.read_owned` reads it."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for one in found:
            strokes = [np.round(stroke * UNITS).astype(int) for stroke in one.strokes]
            ink = [np.diff(each, axis=0, prepend=[[0, 0]]).ravel().tolist() for each in strokes]
            owners = None if one.owners is None else one.owners.tolist()
            line = {"latex": " ".join(one.tokens), "ink": ink, "owners": owners}
            print(json.dumps(line), file=file)


def understood(pairs, model):
    """`Formula` of each pair all of whose symbols have strokes, as the model's attention says."""
    found = [one for one in each_understood(pairs, model) if one]
    usual = usual_counts(found)
    return [
        one._replace(sure=frozenset(p for p in one.sure if stroke_count(one, p) in usual))
        for one in found
    ]


def each_understood(pairs, model):
    """Yield the `Formula` of each pair, or None if a symbol has no strokes."""
    for (strokes, text), alignment in zip(pairs, alignments(pairs, model), strict=True):
        strokes, tokens = scaled(formulas.not_empty(strokes)), text.split()
        symbols = [place for place, token in enumerate(tokens) if token not in STRUCTURE]
        if alignment is None:
            yield None
            continue
        mass = attended(alignment[symbols], frame_counts(strokes))
        owners = mass.argmax(axis=0)
        if len(set(owners)) < len(symbols):
            yield None
            continue
        sure = {symbols[one] for one in range(len(symbols)) if is_sure(mass, owners, one)}
        yield Formula(strokes, tokens, np.array(symbols)[owners], frozenset(sure))


def alignments(pairs, model):
    """Yield the attention `(target_time, positions)` of each pair.

    A .tflite file can't be asked about a given text: None if it reads another one.
    """
    reader = formulas.loaded(model, kb.sources.InkSource, on_device=True)
    if reader.model is not None:
        yield from (one.alignment for one in reader.align(pairs))
        return
    for number, (strokes, text) in enumerate(pairs, 1):
        (one,) = reader.decode([strokes])
        yield one.alignment if one.text == text else None
        if number % SAID == 0:
            print(f"{number} of {len(pairs)} formulas read", flush=True)


def scaled(strokes):
    """The strokes in their mean sizes."""
    unit = drawing.mean_size(strokes) if strokes else 1.0
    return [stroke / unit for stroke in strokes]


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


if __name__ == "__main__":
    main()
