"""Row 6, the attention layer in any model: memory of a pass, in a new process for each sample."""

import dataclasses

from harness import Lane, costs
from rows.attention_layer_time import cases, of_all, systems

NUMBER = 6
NAME = "attention-layer-memory"
GOAL = "<= 1"
ROUNDS = 1  # memory varies little, and each sample needs its own process
ABOUT = "attention only, 64 to 4096 values, one query or as many: peak memory, ours / best peer"


def measure(options):
    options = dataclasses.replace(options, rounds=min(options.rounds, ROUNDS))
    by_case = {}
    for name, shape in cases(options.quick).items():
        del shape["repeat"]
        shape["warm_up"] = False
        lanes = [
            Lane(system, worker, "attention", {**shape, **way}, ours=worker == "ours")
            for system, worker, way in systems()
        ]
        by_case[name] = costs(lanes, options)
    return of_all(GOAL, by_case, unit="bytes")
