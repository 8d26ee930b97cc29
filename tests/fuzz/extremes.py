"""Attention over huge numbers, and JSON lines written by other programs."""

import json
import random
import runpy
import sys
from pathlib import Path

import numpy as np

from fuzz.attack import attack, judged
from fuzz.outcomes import Case, Outcome
from fuzz.targets import _exported

SIZES = {
    "float32": (1.0, 2e4, 1e9, 1e18, 1e30),
    "float16": (1.0, 200.0, 3e4),
    "mixed_bfloat16": (2e4, 1e30),
}


@attack(13, "attention over huge numbers, with masks, in every score and precision", full=20)
def huge_numbers(world, count):
    """Weights of a row that isn't all padding sum to 1 and are 0 at masked positions."""
    answer = world.heavy.call("fuzz.extremes:attend", count, directory=world.files, seconds=300)
    yield from _cases("attention", answer)


def _cases(name, answer):
    lines = answer.out.decode().splitlines()
    yield judged(name, answer, lambda _: bool(lines))
    for line in lines:
        outcome, _, case = line.partition("\t")
        yield Case(case, Outcome(outcome))


def attend(count):
    """Print the outcome and name of each case."""
    from keras_bahdanau import layers

    draw = np.random.default_rng(0)
    for precision, sizes in SIZES.items():
        for score in ("additive", "dot", "scaled-dot", "general", "cosine"):
            attention = layers.Attention(score, units=5, dtype=precision)
            for size in sizes:
                name = f"{score}, {precision}, {size:g}"
                is_right = all(_is_right(attention, size, draw) for _ in range(count))
                outcome = Outcome.SURVIVED if is_right else Outcome.SILENT
                print(outcome.value, name, sep="\t", flush=True)


def _is_right(attention, size, draw):
    query, value = draw.normal(size=(3, 4, 6)), draw.normal(size=(3, 7, 6))
    mask = draw.random((3, 7)) < 0.6
    mask[:, 0] = True
    inputs = (size * np.sign(query), size * np.sign(value))
    context, weights = attention(
        *(array.astype("float32") for array in inputs),
        value_mask=mask,
        return_attention_scores=True,
    )
    context, weights = (np.asarray(array, "float32") for array in (context, weights))
    sums = np.abs(weights.sum(axis=-1) - 1).max() < 1e-2
    padding = np.moveaxis(weights, 1, -1)[~mask]
    return bool(sums and np.isfinite(context).all() and not padding.any())


@attack(13, "Ray's parts: objects of JSON with any numbers and texts", full=2000)
def json_objects(world, count):
    """An object is written exactly as it was read, with new names added."""
    answer = world.light.call("fuzz.extremes:write_objects", count, directory=world.files)
    yield from _cases("objects", answer)


NUMBERS = "1e400 -1e400 12345678901234567890.5 1.0e2 -0.0 1E+2 NaN Infinity 0.1 1e-400".split()
TEXTS = (
    r'"\u00e9\ud800"',
    '"日本"',
    r'"\/"',
    '"a b"',
    '""',
    "null",
    "true",
    "[1.50]",
    '{"x":1e5 }',
)


def write_objects(count):
    """Print the outcome of each line."""
    sys.path.insert(0, _exported("offline"))
    part = runpy.run_path(_exported("offline", "parts.py"))["part_of"]
    draw = random.Random(0)
    for number in range(count):
        values = [draw.choice([*NUMBERS, *TEXTS, "9" * 500]) for _ in range(draw.randrange(5))]
        fields = [f'"k{place}":{draw.choice(["", " "])}{v}' for place, v in enumerate(values)]
        fields.insert(draw.randrange(len(fields) + 1), '"text": "one"')
        line = ("{" + ", ".join(fields) + "}").encode()
        path = Path(f"{number}.jsonl")
        path.write_bytes(line + b"\n")
        with part(path, "text").writing("out", ("t", "s", "c")) as write:
            write(0, len(line) + 1, [("eins", -0.5, 0.25)])
        path.unlink()
        found = Path("out").read_bytes()
        is_right = found == line[:-1] + b', "t": "eins", "s": -0.5, "c": 0.25}\n'
        outcome = Outcome.SURVIVED if is_right else Outcome.SILENT
        print(outcome.value, json.dumps(line.decode())[:80], sep="\t")
    Path("out").unlink()
