"""A condition for row 2: under `mixed_bfloat16`, the loss falls as in float32, within the noise.

The noise is the effect of another order of the batches in float32. The loss curve of an epoch of
Multi30K is divided into 20 parts, and the mean of each part is computed. The distance between two
curves is the mean absolute difference between these means. The ratio is
distance(bfloat16, float32) / distance(float32 in another order, float32).
"""

import statistics

from environments import Unavailable
from harness import Lane, compared, fulfils, prepared, unmeasured
from rows.multi30k import QUICK_VOCABULARY, corpus
from rows.sizes import sizes

NUMBER = 2
NAME = "bfloat16-loss"
GOAL = "<= 1"
ABOUT = "loss over an epoch of Multi30K, distance from float32: bfloat16 / another order of batches"
PARTS = 20


def measure(options):
    chosen = sizes(options.quick, **({"vocabulary": QUICK_VOCABULARY} if options.quick else {}))
    try:
        with corpus(options, chosen["vocabulary"]) as folder:
            common = {"sizes": chosen, "corpus": folder}
            lanes = [
                Lane("float32", "ours", "losses", common),
                Lane("float32 in another order", "ours", "losses", {**common, "seed": 1}),
                Lane(
                    "bfloat16",
                    "ours",
                    "losses",
                    {**common, "precision": "mixed_bfloat16"},
                    ours=True,
                ),
            ]
            measured = prepared(lanes, options)
    except Unavailable as error:
        return unmeasured(GOAL, "nats", str(error))
    if any(one.error for one in measured):
        return compared(GOAL, measured, unit="nats")
    curves = [_parts(one.about.pop("losses")) for one in measured]
    for one, curve in zip(measured, curves, strict=True):
        one.samples = [_distance(curve, curves[0])]
        one.about["curve"] = curve
    ratio = measured[2].median / measured[1].median
    found = compared(GOAL, [measured[2], measured[1]], unit="nats")
    return {**found, "ratio": ratio, "met": fulfils(ratio, GOAL), "float32": curves[0]}


def _parts(losses):
    bounds = [round(part * len(losses) / PARTS) for part in range(PARTS + 1)]
    slices = [losses[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]
    return [statistics.fmean(some) for some in slices if some]


def _distance(one, other):
    return statistics.fmean(abs(a - b) for a, b in zip(one, other, strict=True))
