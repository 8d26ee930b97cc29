"""Row 7: decoding Multi30K's test sentences, greedy and with beam 5.

All weights are random, so that no training decides, and nobody can end: the end token's logit is
far below all others, and each batch of 64 sentences of similar length runs for as many steps as
its longest source has tokens, and four more (ours: each sentence for its own). So all peers
compute the same number of steps for the same number of rows, and nothing but speed differs;
what ours gains on trained models by dropping finished sentences is not in here. Ours goes from
text to text, with alignments; the peers from ids to ids.
"""

from environments import Unavailable
from harness import Lane, compared, rates, unmeasured
from rows.lanes import both_ways
from rows.multi30k import QUICK_VOCABULARY, corpus
from rows.sizes import sizes

PEERS = ("addons", "opennmt_tf", "pytorch", "keras_layers")


def decoded(options, goal, beam):
    """The result of a beam width."""
    chosen = sizes(options.quick, **({"vocabulary": QUICK_VOCABULARY} if options.quick else {}))
    try:
        with corpus(options, chosen["vocabulary"]) as folder:
            settings = {"sizes": chosen, "corpus": folder, "beam": beam}
            if options.quick:
                settings["batch"] = 4
            own = Lane("ours", "ours", "decode", settings, ours=True)
            peers = [Lane(name, name, "decode", settings) for name in PEERS]
            if beam > 1:
                peers = [lane for lane in peers if lane.worker != "keras_layers"]  # it has none
            measured = rates(both_ways([own, *peers]), options)
    except Unavailable as error:
        return unmeasured(goal, "sentences/s", str(error))
    return compared(goal, measured, unit="sentences/s", beam=beam, sizes=chosen)
