"""Row 13: row 7's search with beam 5, for a student model, compared with the peers of row 7.

The student is the one from examples/multi30k. It has minimal GRUs, 1.46 million weights and a
vocabulary of 3,200 tokens, and its BLEU is within half a point of that of its teacher, the preset
`small`. A step of `small` multiplies by 4.75 million weights, and a step of row 7's model by 4.47
million. The peers therefore have the sizes of row 7. All models translate the same texts, up to
the limit. The peers offer no distillation, but they would also be faster with fewer weights. Each
is therefore also measured with the student's number of weights and vocabulary (`ratio_as_large`).
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
ABOUT = "row 7 with beam 5: our student with minimal GRUs / best peer of row 7's size"
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
    """Return the result, with the ratios to row 7's peers and to peers of the student's size."""
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
