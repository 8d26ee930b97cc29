"""Row 3: how much of the machine's matrix-product speed a training step reaches, in one run.

The step's operations are counted by `sizes.operations`; the peak is the best library's large
square product of the same precision, taking turns with the step.
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
        same_parameters=False,  # a matrix product has none
        operations_of_a_step=operations(chosen),
        sizes=chosen,
    )
