"""Row 7: decoding Multi30K's test sentences, with greedy search and with beam 5.

All weights are random, so the results don't depend on training. No translation can end early,
because the logit of the end token is far below all others. Each batch contains 64 sentences of
similar length, and runs for four steps more than its longest source has tokens; in our package,
this limit applies to each sentence. All peers therefore compute the same number of steps for the
same number of rows, and only their speeds differ. With trained models, our package gains time by
dropping finished sentences; this gain isn't included. Our lanes go from text to text, with
alignments, and the peers' lanes from ids to ids.
"""

import machine
from environments import Unavailable
from harness import Lane, compared, rates, unmeasured
from rows.lanes import both_ways
from rows.multi30k import QUICK_VOCABULARY, corpus
from rows.sizes import sizes

PEERS = ("addons", "opennmt_tf", "pytorch", "keras_layers")


def decoded(options, goal, beam):
    """Return the result for a beam width.

    If the processor has bfloat16 multiplication, ours and PyTorch are also measured in bfloat16.
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
    """Return the names of the precisions in which the processor can multiply."""
    return ("float32", "bfloat16") if machine.has_bfloat16() else ("float32",)


def in_precisions(name, worker, settings, ours=False):
    """Return a decoding lane for each of the `precisions`."""
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
    """Return the peers' lanes for a search: PyTorch in all `precisions`, the others in float32."""
    names = [name for name in PEERS if settings["beam"] == 1 or name != "keras_layers"]
    lanes = [Lane(name, name, "decode", settings) for name in names if name != "pytorch"]
    return [*lanes, *in_precisions("pytorch", "pytorch", settings)]
