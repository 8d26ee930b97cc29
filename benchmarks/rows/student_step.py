"""Row 12: row 1's training step for one of our presets, compared with peers of the same size.

The preset is `ssru-student`, or the one given by `--model`. It is built as in a training run, with
one vocabulary for both languages and no dropout. The peers are those of row 1, with all widths
multiplied by one factor that gives them the same number of weights.
"""

import json
import re

from harness import Lane, compared, prepared, rates, unmeasured
from rows.lanes import JITS, both_ways, peer_lanes
from rows.sizes import sizes, sizes_as_large

NUMBER = 12
NAME = "student-step"
GOAL = ">= 2"
ABOUT = "training step of ssru-student or --model, float32: tokens/s, ours / best peer of its size"
MODEL = "ssru-student"
QUICK_WIDTHS = {"embedding_units": 16, "units": 16}


def measure(options):
    model = options.model or MODEL
    preset, overrides = parsed(model)
    if options.quick:
        overrides = {**QUICK_WIDTHS, **overrides}
    given = {"preset": preset, "overrides": overrides}
    vocabulary = sizes(options.quick)["vocabulary"]
    counted = Lane("ours", "presets", "weights", {**given, "vocabulary": vocabulary}, ours=True)
    (own,) = prepared([counted], options)
    if own.error:
        return unmeasured(GOAL, "tokens/s", own.error)
    chosen = sizes_as_large(own.about["parameters"], options.quick)
    repeat = 2 if options.quick else 8
    settings = {**given, "sizes": chosen}
    lanes = [
        Lane(
            f"ours jit={jit}",
            "presets",
            "training_step",
            {**settings, "jit": jit},
            ours=True,
            repeat=repeat,
        )
        for jit in JITS
    ]
    lanes += peer_lanes("training_step", chosen, repeat)
    measured = rates(both_ways(lanes), options)
    return compared(GOAL, measured, unit="tokens/s", name=_name(model), model=model, sizes=chosen)


def parsed(model):
    """Parse a string such as "small:cell=min-gru,units=256" into a preset and model options."""
    preset, _, rest = model.partition(":")
    pairs = [one.partition("=") for one in rest.split(",") if one]
    return preset, {name: _value(value) for name, _, value in pairs}


def _value(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def _name(model):
    """Return the name of the result, which is different for each model."""
    if model == MODEL:
        return NAME
    return f"{NAME}-{re.sub('[^a-z0-9]+', '-', model.lower())}"
