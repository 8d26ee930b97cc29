"""The number of processor cores that this process may use."""

import contextlib
import math
import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")  # on Linux; contains the container's limits in a container


def usable_cores():
    """Return the number of cores that this process may use.

    The number respects limits set by `taskset`, by containers (`docker run --cpus=2`, or
    `limits.cpu` in Kubernetes), and by OMP_NUM_THREADS, which Ray and Spark set for each process.
    """
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    cores = len(allowed(0)) if allowed else os.cpu_count() or 1
    share = os.environ.get("OMP_NUM_THREADS", "")
    shares = [int(share)] if share.isdecimal() and int(share) else []
    return min([cores, *shares, *_quotas(CGROUP)])


def _quotas(directory):
    """Yield the number of cores that a control group allows, if there is a limit."""
    for quota, period in (
        _numbers(directory / "cpu.max"),  # version 2, in microseconds: "max 100000" for no limit
        _numbers(directory / "cpu" / "cpu.cfs_quota_us", directory / "cpu" / "cpu.cfs_period_us"),
    ):
        if quota > 0 and period > 0:  # in version 1, -1 means no limit
            yield max(1, math.ceil(quota / period))


def _numbers(*paths):
    """Read two integers from one file, or from two files. Return (0, 0) if they are missing."""
    with contextlib.suppress(OSError, ValueError):
        quota, period = " ".join(path.read_text() for path in paths).split()
        return int(quota), int(period)
    return 0, 0
