"""Row 14: row 7 again, but our greedy search is compared with the peers' search with beam 5.

With greedy search, a model that was trained on the translations of a beam search reaches about the
BLEU of its teacher with a beam (Kim and Rush 2016; for the figures, see `examples/multi30k`), so it
needs no beam. The peers have no command for this kind of training, but their models could be
trained like this too. Their greedy search is therefore also measured, as in row 7
(`ratio_greedily`).
"""

import dataclasses

from environments import Unavailable
from harness import compared, rates, unmeasured
from rows.decoding import in_precisions, peer_lanes
from rows.lanes import both_ways
from rows.multi30k import QUICK_VOCABULARY, corpus
from rows.sizes import sizes

NUMBER = 14
NAME = "decode-distilled"
GOAL = ">= 3"
ABOUT = "row 7, our greedy search of a distilled model / best peer with beam 5"
BEAM = 5


def measure(options):
    chosen = sizes(options.quick, **({"vocabulary": QUICK_VOCABULARY} if options.quick else {}))
    try:
        with corpus(options, chosen["vocabulary"]) as folder:
            settings = {"sizes": chosen, "corpus": folder}
            settings |= {"batch": 4} if options.quick else {}
            lanes = [
                *in_precisions("ours", "ours", {**settings, "beam": 1}, ours=True),
                *peer_lanes({**settings, "beam": BEAM}),
                *_greedy(peer_lanes({**settings, "beam": 1})),
            ]
            measured = rates(both_ways(lanes), options)
    except Unavailable as error:
        return unmeasured(GOAL, "sentences/s", str(error))
    return _result(measured, chosen)


def _greedy(lanes):
    return [dataclasses.replace(lane, name=f"{lane.name}, greedy") for lane in lanes]


def _result(measured, chosen):
    """Return the result, with the ratios to the peers with a beam and with greedy search."""
    own = [one for one in measured if one.lane.ours]
    beam = [one for one in measured if one.lane.settings["beam"] == BEAM]
    greedy = [one for one in measured if one not in own and one not in beam]
    others = compared(GOAL, [*own, *greedy], "sentences/s")
    found = compared(GOAL, [*own, *beam], "sentences/s")
    return {
        **found,
        "peers": {**found["peers"], **others["peers"]},
        "beam": BEAM,
        "sizes": chosen,
        "ratio_greedily": others["ratio"],
    }
