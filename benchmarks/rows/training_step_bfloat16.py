"""Row 2: our training step under `mixed_bfloat16`, compared with the best of all peers.

All peers run in float32. If the processor has bfloat16 multiplication, PyTorch (under
`torch.autocast`) and stock Keras also run in bfloat16. Addons and OpenNMT-tf run only in float32.
The result also contains the ratio to the best peer in each precision.
"""

import machine
from harness import compared, rates
from rows.lanes import bfloat16_lanes, both_ways, training_lanes
from rows.sizes import sizes

NUMBER = 2
NAME = "training-step-bfloat16"
GOAL = ">= 2.2"
ABOUT = "one training step, mixed_bfloat16: tokens/s, ours / best peer in float32 or bfloat16"


def measure(options):
    chosen = sizes(options.quick)
    repeat = 2 if options.quick else 8
    lanes = training_lanes("training_step", chosen, repeat, precisions=("mixed_bfloat16",))
    native = machine.has_bfloat16()
    if native:
        lanes += bfloat16_lanes(chosen, repeat)
    measured = rates(both_ways(lanes), options)
    found = compared(GOAL, measured, "tokens/s", sizes=chosen, bfloat16_in_processor=native)
    return {**found, "ratios_by_precision": _by_precision(measured)}


def _by_precision(measured):
    """Return the ratio to the best peer in each precision."""
    own = [one for one in measured if one.lane.ours]
    peers = {"float32": [], "bfloat16": []}
    for one in measured:
        if not one.lane.ours:
            half = "bfloat16" in one.lane.settings.get("precision", "float32")
            peers["bfloat16" if half else "float32"].append(one)
    return {
        name: compared(GOAL, [*own, *some], "tokens/s")["ratio"] for name, some in peers.items()
    }
