"""The loop that drops finished sentences: same results with fewer rows."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from modes import eager, graphs
from row_steps import by_rows
from toy import END, START, Language, assert_same_rows

from keras_bahdanau.search import SearchOptions, search

LIMITS = [1, 4, 2, 0, 4, 3, 1, 1, 2]
graph = graphs()


def same(tokens):
    return tokens


def found_by(run, options, limits, seen=same):
    state = Language(len(LIMITS)).state(np.arange(len(limits)))
    return run(searching(options, seen), state, np.array(limits, "int32"))


@functools.cache
def searching(options, seen):
    language = Language(len(LIMITS), seed=1)

    def function(state, limits):
        places = {"start": START, "end": END, "time": 4, "source_time": language.source_time}
        step = by_rows(language, state["row"], seen)
        return search(step, state, limits, options, **places)

    return function


@pytest.mark.few(1)
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("settings", [{}, {"temperature": 1.0, "seed": 2}, {"min_length": 2}])
def test_a_graph_that_leaves_rows_out_finds_what_all_rows_find(width, settings):
    options = SearchOptions(beam_width=width, **settings)
    found, whole = (found_by(run, options, LIMITS) for run in (graph, eager))
    assert_same_rows(found, slice(None), whole)


@pytest.mark.few(1)
@pytest.mark.parametrize("width", [1, 3])
def test_rows_are_left_out_soon_after_their_end(width):
    options = SearchOptions(beam_width=width)
    for run, leaves_out in ((graph, True), (eager, False)):
        rows, step = tf.Variable(np.zeros(4, "int32")), tf.Variable(0)

        def counted(tokens, rows=rows, step=step):
            added = rows.scatter_nd_add([[step]], tf.shape(tokens)[:1])
            with tf.control_dependencies([added]), tf.control_dependencies([step.assign_add(1)]):
                return tf.identity(tokens)

        lengths = found_by(run, options, LIMITS, counted).lengths.max(axis=1)
        alive = np.array([np.sum(lengths > t) for t in range(lengths.max())])
        computed = rows.numpy()[: lengths.max()]
        if leaves_out:
            assert (computed >= alive).all() and (4 * alive > 3 * computed).all()
        else:
            assert (computed == len(LIMITS)).all() and not (4 * alive > 3 * computed).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("limits", [[], [0], [0, 0, 0], [3], [0, 2]])
def test_batches_without_rows_or_of_empty_ones(width, limits):
    options = SearchOptions(beam_width=width)
    found = found_by(graph, options, limits)
    assert found.ids.shape == (len(limits), width, 4)
    whole = found_by(eager, options, limits)
    assert_same_rows(found, slice(None), whole)
