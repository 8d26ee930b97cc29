"""Simulate a full disk, with the operating system's own error."""

import contextlib

import pytest


@contextlib.contextmanager
def full_disk(bytes_left):
    """Limit the size of each file that this process writes to `bytes_left` bytes."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
