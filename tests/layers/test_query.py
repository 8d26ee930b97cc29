"""Queries are concatenations of any parts."""

import itertools

import numpy as np
import pytest

from keras_bahdanau.layers import Query
from keras_bahdanau.layers.names import QUERY_PARTS

RANDOM = np.random.default_rng(25)
WIDTHS = {"state": 3, "embedding": 2, "context": 4, "task": 5}
SUBSETS = [
    parts
    for size in range(1, len(QUERY_PARTS) + 1)
    for parts in itertools.combinations(QUERY_PARTS, size)
]


@pytest.mark.parametrize("parts", [*SUBSETS, ("task", "context", "state")])
@pytest.mark.parametrize("beam", [(), (6,)], ids=["one", "beam"])
def test_it_is_its_parts_side_by_side(run, parts, beam):
    vectors = {
        name: RANDOM.normal(size=(2, *beam, width)).astype("float32")
        for name, width in WIDTHS.items()
    }
    vectors["task"] = RANDOM.normal(size=(2, WIDTHS["task"])).astype("float32")
    query = Query(parts)
    found = run(query, *vectors.values())
    tasks = np.broadcast_to(vectors["task"][:, None], (2, 6, 5)) if beam else vectors["task"]
    expected = np.concatenate([{**vectors, "task": tasks}[name] for name in parts], axis=-1)
    np.testing.assert_array_equal(found, expected)
    assert query.units(**WIDTHS) == expected.shape[-1]


def test_what_is_no_part_need_not_be_there():
    state = RANDOM.normal(size=(2, 3)).astype("float32")
    np.testing.assert_array_equal(Query()(state), state)


@pytest.mark.parametrize("parts", [(), ("state", "state")])
def test_each_part_stands_once(parts):
    with pytest.raises(ValueError, match="at least one part, and no part twice. Received: query="):
        Query(parts)


def test_a_part_must_be_known():
    with pytest.raises(ValueError, match="`query` must be one of.*Received: query='values'"):
        Query(("state", "values"))
