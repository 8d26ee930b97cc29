"""Row 5: the peak memory of a training step on long sentences, in a new process for each sample.

The peak is the rise of resident memory during a step above its level between two steps of this
size. It includes activations, gradients and logits, but not the weights, Adam's moments or
compiled code. A peer that is killed for lack of memory has no figure.
"""

import dataclasses

from harness import compared, costs
from rows.lanes import training_lanes
from rows.sizes import sizes

NUMBER = 5
NAME = "training-memory"
GOAL = "<= 0.333"
ABOUT = "peak memory of a training step, 16 x 512 x 512, attention 512: ours / best peer"
ROUNDS = 2  # memory varies little
LONG = {"batch": 16, "source_time": 512, "target_time": 512, "attention": 512}


def measure(options):
    chosen = sizes(True) if options.quick else sizes(**LONG)
    lanes = training_lanes("training_step", chosen, repeat=1, warm_up=False)
    lanes = [lane for lane in lanes if lane.name not in _LEFT_OUT]
    options = dataclasses.replace(options, rounds=min(options.rounds, ROUNDS))
    return compared(GOAL, costs(lanes, options), unit="bytes", sizes=chosen)


# Under XLA, our step keeps several tensors of batch x target x source x units, which a plain graph
# doesn't. Compiling a loop of 512 steps with PyTorch takes longer than all the rest.
_LEFT_OUT = ("ours float32 jit=True", "pytorch compiled")
