"""Searches in LiteRT with every constraint and penalty, using built-in operations."""

import numpy as np
import pytest
from steps import litert
from toy_chain import END, SOURCE_TIME, START, Chain

from keras_bahdanau.search import SearchOptions, search


@pytest.mark.few(1)
@pytest.mark.parametrize("width", [1, 3])
def test_every_option_of_a_search_without_chance_converts(width):
    chain, time = Chain(3, seed=1), 5
    options = SearchOptions(
        beam_width=width,
        length_penalty="gnmt",
        coverage_penalty=0.3,
        min_length=3,
        no_repeat_ngram=2,
        write_symbols=False,
    )

    def function(row, limits, source_mask, prefix):
        return search(
            chain.step,
            {"row": row, "t": 0 * row},
            limits,
            options,
            start=START,
            end=END,
            time=time,
            source_time=SOURCE_TIME,
            source_mask=source_mask,
            prefix=prefix,
            symbols=[1],
        )

    given = (
        np.array([0, 1, 2], "int32"),
        np.array([5, 3, 0], "int32"),
        np.array([[True, True, True], [True, True, False], [False, False, False]]),
        np.array([[0, 2, 0], [1, 1, 1], [2, 0, 0]], "int32"),
    )
    for one, other in zip(litert(function, *given), function(*given), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
