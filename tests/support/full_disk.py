"""A disk that takes only so much: the operating system's own error, without a small disk."""

import contextlib

import pytest


@contextlib.contextmanager
def full_disk(bytes_left):
    """Let no file of this process grow beyond a size."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
