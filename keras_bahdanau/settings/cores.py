"""The number of processor cores that this process may use."""

import contextlib
import math
import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")  # on Linux; in a container, its own limits


def usable_cores():
    """Count the cores that the process may use.

    It respects the limits of `taskset`, of containers (`docker run --cpus=2`, `limits.cpu` of
    Kubernetes), and of OMP_NUM_THREADS, where Ray and Spark set the share of each process.
    """
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    cores = len(allowed(0)) if allowed else os.cpu_count() or 1
    share = os.environ.get("OMP_NUM_THREADS", "")
    shares = [int(share)] if share.isdecimal() and int(share) else []
    return min([cores, *shares, *_quotas(CGROUP)])


def _quotas(directory):
    """Yield the number of cores that a control group allows, if it has a limit."""
    for quota, period in (
        _numbers(directory / "cpu.max"),  # version 2, in microseconds: "max 100000" for no limit
        _numbers(directory / "cpu" / "cpu.cfs_quota_us", directory / "cpu" / "cpu.cfs_period_us"),
    ):
        if quota > 0 and period > 0:  # in version 1, -1 means no limit
            yield max(1, math.ceil(quota / period))


def _numbers(*paths):
    """Two integers from one file, or from two; (0, 0) if missing."""
    with contextlib.suppress(OSError, ValueError):
        quota, period = " ".join(path.read_text() for path in paths).split()
        return int(quota), int(period)
    return 0, 0
