"""Row 6, memory: the passes of `attention_time`, in a new process for each sample."""

import dataclasses

from harness import compared, costs
from rows import attention_time

NUMBER = 6
NAME = "attention-memory"
GOAL = "<= 0.125"
ROUNDS = 3  # memory varies little
ABOUT = "attention only, 16 x 512 x 512 x 256: peak memory, ours / stock Keras"


def measure(options):
    lanes = attention_time.lanes(options, warm_up=False)
    options = dataclasses.replace(options, rounds=min(options.rounds, ROUNDS))
    return compared(GOAL, costs(lanes, options), unit="bytes")
