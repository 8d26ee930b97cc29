r"""Assign the strokes of formulas to symbols with the attention of a trained model.

    python experiments/formulas/symbols.py train.jsonl.gz \
        --model examples/formulas/models/ink.tflite --out known.jsonl.gz

The script writes the formulas of a file, and adds `owners`, the token to which each stroke belongs,
where the model finds it. `train.py --guided` uses `owners` to show an image model where to look.
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
POSITION, SHIFT = 4, -1  # frames per attended position, and its first frame
MASS = 0.6  # minimum fraction of a symbol's attention on its strokes, and vice versa
UNITS = 500  # units per mean stroke size in a written file
SAID = 500  # formulas between progress reports
SHARE = 0.2  # minimum fraction of a token's symbols with that many strokes


class Formula(NamedTuple):
    """Strokes in units of their mean size, tokens, and the token index of each stroke.

    `sure` contains the indices of tokens whose strokes are certain enough to be exchanged.
    """

    strokes: list
    tokens: list
    owners: np.ndarray
    sure: frozenset


@formulas.ends_well()
def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=formulas.existing, help="file of formulas (see formulas.py)")
    parser.add_argument(
        "--model", type=formulas.existing, required=True, help=".keras or .tflite file"
    )
    parser.add_argument(
        "--out", type=formulas.new_packed_file, required=True, help=".gz file to write"
    )
    arguments = parser.parse_args(arguments)
    pairs = formulas.read(arguments.file)
    found = list(each_understood(pairs, arguments.model))
    write(arguments.out, map(_or_unknown, pairs, found))
    known = sum(one is not None for one in found)
    print(f"{known} of {len(pairs)} formulas have owners: {arguments.out}")


def _or_unknown(pair, found):
    strokes, text = pair
    return found or Formula(scaled(formulas.not_empty(strokes)), text.split(), None, frozenset())


def write(path, found):
    """Write `Formula`s to a file in the format of `formulas.read_owned`."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for one in found:
            strokes = [np.round(stroke * UNITS).astype(int) for stroke in one.strokes]
            ink = [np.diff(each, axis=0, prepend=[[0, 0]]).ravel().tolist() for each in strokes]
            owners = None if one.owners is None else one.owners.tolist()
            line = {"latex": " ".join(one.tokens), "ink": ink, "owners": owners}
            print(json.dumps(line), file=file)


def understood(pairs, model):
    """Return the `Formula` of each pair in which the attention finds strokes for all symbols."""
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

    A .tflite file can't align a given text, so the result is None if its output differs.
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
    """Return the strokes in units of their mean size."""
    unit = drawing.mean_size(strokes) if strokes else 1.0
    return [stroke / unit for stroke in strokes]


def frame_counts(strokes):
    """Return the number of `InkSource` frames of each stroke."""
    ends = np.flatnonzero(pen_frames(strokes)[:, -1])
    return np.diff(ends, prepend=-1)


def attended(alignment, counts):
    """Convert attention `(symbols, positions)` to `(symbols, strokes)`."""
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
    """Return the (token, number of strokes) that are common for their token."""
    counts, tokens = {}, {}
    for one in known:
        for place in one.sure:
            pair = stroke_count(one, place)
            counts[pair] = counts.get(pair, 0) + 1
            tokens[pair[0]] = tokens.get(pair[0], 0) + 1
    return {pair for pair, count in counts.items() if count >= SHARE * tokens[pair[0]]}


if __name__ == "__main__":
    main()
