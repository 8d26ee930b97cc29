"""Greedy search compared with greedy search in plain Python."""

import numpy as np
import pytest
import reference
from toy import END, Language, assert_found, assert_same_rows, run_search

from keras_bahdanau.search import SearchOptions, greedy_search


@pytest.mark.few(1)
@pytest.mark.parametrize("exponent", [0.0, 1.0, 0.6])
def test_it_takes_the_most_probable_token_each_time(run, exponent):
    language, limits = Language(8), [4, 4, 4, 4, 3, 2, 1, 0]
    options = SearchOptions(beam_width=1, length_normalization=exponent)
    result = run_search(run, greedy_search, language, limits, options)
    assert result.ids.shape == (8, 1, 4) and result.alignment.shape == (8, 1, 4, 3)
    for row, limit in enumerate(limits):
        expected = reference.greedy_search(language.after(row), limit, END)
        assert_found(result, row, 0, language, expected, exponent)
    assert result.finished.any() and not result.finished.all()


@pytest.mark.slow
def test_a_row_is_the_same_in_any_batch_and_buffer(run):
    language, limits = Language(4), np.array([2, 4, 0, 3])
    options = SearchOptions(beam_width=1)
    whole = run_search(run, greedy_search, language, limits, options, time=7)
    assert whole.ids.shape == (4, 1, 7) and np.isfinite(whole.scores).all()
    order = [3, 1, 0, 2]
    turned = run_search(run, greedy_search, language, limits[order], options, rows=order)
    assert_same_rows(whole, order, turned)


def test_rows_without_room_give_empty_finished_results(run):
    language = Language(2)
    result = run_search(run, greedy_search, language, [0, 0], SearchOptions(beam_width=1), time=7)
    assert result.finished.all()
    assert not any(field.any() for field in (result.ids, result.lengths, result.scores))
    assert not result.alignment.any()


def test_dtypes_are_those_of_the_contract(run):
    result = run_search(run, greedy_search, Language(2), [3, 1], SearchOptions(beam_width=1))
    found = [field.dtype.name for field in result]
    assert found == ["int32", "int32", "float32", "float32", "bool", "float32", "float32"]
