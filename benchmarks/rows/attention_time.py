"""Row 6, time: `BahdanauAttention` on whole sequences against Dense + `AdditiveAttention`."""

from harness import Lane, compared, rates

NUMBER = 6
NAME = "attention-time"
GOAL = ">= 2"
ABOUT = "attention alone, 16 x 512 x 512 x 256, forward and backward: speed, ours / stock Keras"
SHAPE = {"batch": 16, "source_time": 512, "target_time": 512, "units": 256}
QUICK = {"batch": 2, "source_time": 24, "target_time": 16, "units": 8}


def lanes(options, warm_up=True):
    """Ours and stock Keras, plain and under XLA."""
    shape = QUICK if options.quick else SHAPE
    return [
        Lane(
            f"{worker} jit={jit}",
            worker,
            "attention",
            {**shape, "jit": jit, "warm_up": warm_up},
            ours=ours,
        )
        for worker, ours in (("ours", True), ("keras_layers", False))
        for jit in (False, True)
    ]


def measure(options):
    return compared(GOAL, rates(lanes(options), options), unit="passes/s")
