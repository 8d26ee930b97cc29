"""Row 3: the fraction of the machine's matrix-product speed that a training step reaches.

`sizes.operations` counts the operations of the step. The peak is the speed of large square
products in the same precision with the fastest library. Both are measured in the same run, in
turns.
"""

from harness import Lane, compared, rates
from rows.lanes import both_ways, own_lanes
from rows.sizes import operations, sizes

NUMBER = 3
NAME = "gemm-share"
GOAL = ">= 0.7"
ABOUT = "row 1's step: its operations/s / the machine's float32 GEMM peak"
LIBRARIES = (("numpy", "ours"), ("tensorflow", "ours"), ("torch", "pytorch"))


def measure(options, precision="float32", policy="float32"):
    chosen = sizes(options.quick)
    tokens = chosen["batch"] * chosen["target_time"]
    repeat = 2 if options.quick else 8
    steps = both_ways(own_lanes("training_step", chosen, repeat, precisions=(policy,)))
    settings = {"precision": precision, **({"sizes": [64, 128]} if options.quick else {})}
    peaks = [
        Lane(
            f"{library} GEMM",
            "gemm",
            "gemm",
            {"library": library, **settings},
            environment=environment,
            repeat=5,
        )
        for library, environment in LIBRARIES
    ]
    measured = rates([*steps, *peaks], options)
    for one in measured:
        scale = (operations(chosen) / tokens if one.lane.ours else 1) / 1e9
        one.samples = [sample * scale for sample in one.samples]
    return compared(
        GOAL,
        measured,
        unit="GFLOP/s",
        same_parameters=False,  # a matrix product has no parameters
        operations_of_a_step=operations(chosen),
        sizes=chosen,
    )
