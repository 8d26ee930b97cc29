"""Row 1: one training step in float32."""

from harness import compared, rates
from rows.lanes import both_ways, training_lanes
from rows.sizes import sizes

NUMBER = 1
NAME = "training-step"
GOAL = ">= 1.5"
ABOUT = "one training step, float32: target tokens/s, ours / best peer"


def measure(options):
    chosen = sizes(options.quick)
    lanes = training_lanes("training_step", chosen, repeat=2 if options.quick else 8)
    return compared(GOAL, rates(both_ways(lanes), options), unit="tokens/s", sizes=chosen)
