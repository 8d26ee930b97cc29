"""Row 3 in bfloat16: row 2's step over the bfloat16 GEMM peak. Told, but not one of the goals."""

from rows import gemm_share

NUMBER = 3
NAME = "gemm-share-bfloat16"
GOAL = gemm_share.GOAL
ABOUT = "row 2's step: its operations/s / the machine's bfloat16 GEMM peak"


def measure(options):
    return gemm_share.measure(options, precision="bfloat16", policy="mixed_bfloat16")
