"""The number of processor cores that this process may use."""

import os


def usable_cores():
    """Positive integer: the cores that the process is not kept from.

    `taskset` keeps it from some, and so does OMP_NUM_THREADS, in which Ray and Spark give each of
    their processes its share.
    """
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    cores = len(allowed(0)) if allowed else os.cpu_count() or 1
    share = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(share)) if share.isdecimal() and int(share) else cores
