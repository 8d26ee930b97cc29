"""The number of processor cores that this process may use."""

import os


def usable_cores():
    """Positive integer: the cores that the process is not kept from, as by `taskset`."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(allowed(0)) if allowed else os.cpu_count() or 1
