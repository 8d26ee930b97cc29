"""Layers are tested eagerly by default: `tests/conformance` tests each of them in a graph."""

import modes
import pytest


@pytest.fixture(params=modes.EAGER_FIRST)
def run(request, graphs):
    """Function `run(function, *args)` that calls the function eagerly or, if slow, as a graph."""
    return {"eager": modes.eager, "graph": graphs}[request.param]
