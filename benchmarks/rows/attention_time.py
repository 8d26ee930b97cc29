"""Row 6, time: `BahdanauAttention` compared with Dense layers and `AdditiveAttention`."""

from harness import Lane, compared, rates

NUMBER = 6
NAME = "attention-time"
GOAL = ">= 2"
ABOUT = "attention only, 16 x 512 x 512 x 256, forward and backward: speed, ours / stock Keras"
SHAPE = {"batch": 16, "source_time": 512, "target_time": 512, "units": 256}
QUICK = {"batch": 2, "source_time": 24, "target_time": 16, "units": 8}


def lanes(options, warm_up=True):
    """Return the lanes of our layer and of stock Keras, each with and without XLA."""
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
