"""Row 5: the peak memory of a training step on long sentences, in a fresh process each time.

It is how far the resident memory rises above its level between two steps of this size:
activations, gradients, logits; not the weights, nor Adam's moments, nor compiled code.
A peer that the machine kills for its memory has no number: it needs more than there is.
"""

import dataclasses

from harness import compared, costs
from rows.lanes import training_lanes
from rows.sizes import sizes

NUMBER = 5
NAME = "training-memory"
GOAL = "<= 0.333"
ABOUT = "peak memory of a training step, 16 x 512 x 512, attention 512: ours / best peer"
ROUNDS = 2  # memory hardly varies
LONG = {"batch": 16, "source_time": 512, "target_time": 512, "attention": 512}


def measure(options):
    chosen = sizes(True) if options.quick else sizes(**LONG)
    lanes = training_lanes("training_step", chosen, repeat=1, warm_up=False)
    lanes = [lane for lane in lanes if lane.name not in _LEFT_OUT]
    options = dataclasses.replace(options, rounds=min(options.rounds, ROUNDS))
    return compared(GOAL, costs(lanes, options), unit="bytes", sizes=chosen)


# XLA keeps several tensors of batch x target x source x units for ours, which plain graphs do
# not; and compiling a loop of 512 steps by PyTorch takes longer than everything else.
_LEFT_OUT = ("ours float32 jit=True", "pytorch compiled")
