"""One source of each kind, with its edge cases and examples."""

import pytest
from sources_of_each_kind import KINDS, new_source, padded


@pytest.fixture(scope="session", params=KINDS)
def source(request):
    return new_source(request.param)


@pytest.fixture(scope="session")
def inputs(source):
    return [*source.edge_cases, *source.examples]


@pytest.fixture(scope="session")
def features(source, inputs):
    """The features of all inputs, computed with NumPy."""
    return padded(source, inputs)
