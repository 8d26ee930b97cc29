"""Row 7: decoding Multi30K's test sentences, greedy and with beam 5.

All weights are random, so that no training decides, and nobody can end: the end token's logit is
far below all others, and each batch of 64 sentences of similar length runs for as many steps as
its longest source has tokens, and four more (ours: each sentence for its own). So all peers
compute the same number of steps for the same number of rows, and nothing but speed differs;
what ours gains on trained models by dropping finished sentences is not in here. Ours goes from
text to text, with alignments; the peers from ids to ids.
"""

import machine
from environments import Unavailable
from harness import Lane, compared, rates, unmeasured
from rows.lanes import both_ways
from rows.multi30k import QUICK_VOCABULARY, corpus
from rows.sizes import sizes

PEERS = ("addons", "opennmt_tf", "pytorch", "keras_layers")


def decoded(options, goal, beam):
    """The result of a beam width.

    Where the processor multiplies bfloat16 by itself, ours and PyTorch are measured in it, too.
    """
    chosen = sizes(options.quick, **({"vocabulary": QUICK_VOCABULARY} if options.quick else {}))
    try:
        with corpus(options, chosen["vocabulary"]) as folder:
            settings = {"sizes": chosen, "corpus": folder, "beam": beam}
            if options.quick:
                settings["batch"] = 4
            own = in_precisions("ours", "ours", settings, ours=True)
            lanes = [*own, *peer_lanes(settings)]
            measured = rates(both_ways(lanes), options)
    except Unavailable as error:
        return unmeasured(goal, "sentences/s", str(error))
    return compared(goal, measured, unit="sentences/s", beam=beam, sizes=chosen)


def precisions():
    """Those that the processor has by itself."""
    return ("float32", "bfloat16") if machine.has_bfloat16() else ("float32",)


def in_precisions(name, worker, settings, ours=False):
    """A lane of a search for each of the `precisions`."""
    return [
        Lane(
            name if one == "float32" else f"{name} {one}",
            worker,
            "decode",
            {**settings, "precision": one},
            ours=ours,
        )
        for one in precisions()
    ]


def peer_lanes(settings):
    """Every peer that has the search, in float32; PyTorch in all `precisions`."""
    names = [name for name in PEERS if settings["beam"] == 1 or name != "keras_layers"]
    lanes = [Lane(name, name, "decode", settings) for name in names if name != "pytorch"]
    return [*lanes, *in_precisions("pytorch", "pytorch", settings)]
