"""Row 4: an epoch of Multi30K through each peer's usual input pipeline.

All competitors read the same ids of the same pairs, each pair once. Each forms batches in its own
way. Our batches have 2,048 positions, with sentences of similar length. Stock Keras and Addons use
64 sentences in random order, padded to the longest, and OpenNMT-tf and PyTorch use 64 sentences of
similar length. With `--steps N`, the epoch consists of N x 64 random pairs, the same for all
competitors. The rate counts real target tokens, including end tokens. Our epoch in bfloat16 is
measured in the same run and reported separately.
"""

from environments import Unavailable
from harness import compared, rates, unmeasured
from rows.lanes import both_ways, training_lanes
from rows.multi30k import QUICK_VOCABULARY, corpus
from rows.sizes import sizes

NUMBER = 4
NAME = "epoch"
GOAL = {"addons": ">= 3", "opennmt_tf": ">= 2", "pytorch": ">= 2"}
ABOUT = "an epoch of Multi30K En-De through `fit`: real target tokens/s, ours / each peer"
PRECISIONS = ("float32", "mixed_bfloat16")


def measure(options):
    chosen = sizes(options.quick, **({"vocabulary": QUICK_VOCABULARY} if options.quick else {}))
    try:
        with corpus(options, chosen["vocabulary"]) as folder:
            lanes = training_lanes("epoch", chosen, 1, precisions=PRECISIONS, corpus=folder)
            measured = rates(both_ways(lanes), options)
    except Unavailable as error:
        return unmeasured(GOAL, "tokens/s", str(error))
    full, half = (
        compared(GOAL, [one for one in measured if not _is_ours_in(one, other)], "tokens/s")
        for other in reversed(PRECISIONS)
    )
    half = {name: half[name] for name in ("ratio", "ratios", "met", "ours", "ours_otherwise")}
    return {**full, "bfloat16": half, "sizes": chosen}


def _is_ours_in(one, precision):
    return one.lane.ours and one.lane.settings["precision"] == precision
