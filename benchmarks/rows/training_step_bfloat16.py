"""Row 2: the same step of ours under `mixed_bfloat16`, against the peers in float32."""

import machine
from harness import compared, rates
from rows.lanes import both_ways, training_lanes
from rows.sizes import sizes

NUMBER = 2
NAME = "training-step-bfloat16"
GOAL = ">= 2.2"
ABOUT = "the same in mixed_bfloat16, ours / best float32 peer"


def measure(options):
    chosen = sizes(options.quick)
    repeat = 2 if options.quick else 8
    lanes = training_lanes("training_step", chosen, repeat, precisions=("mixed_bfloat16",))
    return compared(
        GOAL,
        rates(both_ways(lanes), options),
        unit="tokens/s",
        sizes=chosen,
        bfloat16_in_processor=machine.has_bfloat16(),
    )
