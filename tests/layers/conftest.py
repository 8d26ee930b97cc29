"""Layers run as they stand: `tests/conformance` has the graph of each of them."""

import modes
import pytest


@pytest.fixture(params=modes.EAGER_FIRST)
def run(request, graphs):
    """`run(function, *args)`: what the function gives, as it stands and, slow, as a graph."""
    return {"eager": modes.eager, "graph": graphs}[request.param]
