"""Row 13: row 7's search with beam 5, of a student's architecture, against the same peers.

The student is that of examples/multi30k: minimal GRUs, 1.46 million weights, a vocabulary of 3,200,
and a BLEU within half a point of its teacher's, the preset `small`. A step of `small` multiplies
with 4.75 million weights, one of row 7's model with 4.47 million. So the peers have the sizes of
row 7, and all go from the same texts to their limit. The peers have no distillation, but each would
be faster with fewer weights, too: it is also measured with as many as the student, and with the
student's vocabulary (`ratio_as_large`).
"""

import dataclasses

from environments import Unavailable
from harness import Lane, compared, prepared, rates, unmeasured
from rows.decoding import in_precisions, peer_lanes
from rows.lanes import both_ways
from rows.multi30k import QUICK_VOCABULARY, corpus
from rows.sizes import SIZES, sizes, sizes_as_large

NUMBER = 13
NAME = "decode-student"
GOAL = ">= 3"
ABOUT = "row 7 with beam 5: a student of minimal GRUs, ours / best peer of row 7's sizes"
BEAM = 5
PRESET = "small"
STUDENT = {
    "cell": "min-gru",
    "encoder_cell": "min-gru",
    "depth": 2,
}
VOCABULARY = 3200
WIDTHS = {
    "embedding_units": 160,
    "units": 320,
    "encoder_units": 160,
    "attention_units": 160,
    "readout_units": 160,
}


def measure(options):
    large = QUICK_VOCABULARY if options.quick else SIZES["vocabulary"]
    little = QUICK_VOCABULARY if options.quick else VOCABULARY
    widths = dict.fromkeys(WIDTHS, 16) if options.quick else WIDTHS
    student = {"preset": PRESET, "overrides": {**STUDENT, **widths}, "vocabulary": little}
    (own,) = prepared([Lane("ours", "presets", "weights", student, ours=True)], options)
    if own.error:
        return unmeasured(GOAL, "sentences/s", own.error)
    chosen = sizes(options.quick, vocabulary=large)
    as_large = sizes_as_large(own.about["parameters"], options.quick, vocabulary=little)
    search = {"beam": BEAM, **({"batch": 4} if options.quick else {})}
    try:
        with corpus(options, large) as usual, corpus(options, little) as short:
            lanes = [
                *in_precisions(
                    "ours", "presets", {**student, **search, "corpus": short}, ours=True
                ),
                *peer_lanes({**search, "sizes": chosen, "corpus": usual}),
                *_as_large(peer_lanes({**search, "sizes": as_large, "corpus": short})),
            ]
            measured = rates(both_ways(lanes), options)
    except Unavailable as error:
        return unmeasured(GOAL, "sentences/s", str(error))
    return _result(measured, chosen, as_large)


def _as_large(lanes):
    return [dataclasses.replace(lane, name=f"{lane.name}, as large") for lane in lanes]


def _result(measured, chosen, as_large):
    """Beside the peers of row 7, and beside those as large."""
    own = [one for one in measured if one.lane.ours]
    small = [one for one in measured if one.lane.settings.get("sizes") == as_large]
    large = [one for one in measured if one.lane.settings.get("sizes") == chosen]
    others = compared(GOAL, [*own, *small], "sentences/s")
    found = compared(GOAL, [*own, *large], "sentences/s", same_parameters=False)
    return {
        **found,
        "peers": {**found["peers"], **others["peers"]},
        "beam": BEAM,
        "sizes": chosen,
        "ratio_as_large": others["ratio"],
        "sizes_as_large": as_large,
    }
