"""Row 3 in bfloat16: the speed of row 2's step divided by the bfloat16 GEMM peak."""

from rows import gemm_share

NUMBER = 3
NAME = "gemm-share-bfloat16"
GOAL = gemm_share.GOAL
ABOUT = "row 2's step: its operations/s / the machine's bfloat16 GEMM peak"


def measure(options):
    return gemm_share.measure(options, precision="bfloat16", policy="mixed_bfloat16")
