"""A graph's memory and work, as counted by hand, by TensorFlow and while it runs."""

import contextlib
import dataclasses
import functools
import math
from collections import Counter

import keras
import numpy as np
import pytest
import tensorflow as tf
from options import OPTIONS, new_model, new_subwords
from tensorflow.python.framework import op_callbacks
from toy_sources import CASES, NUMBERS

import keras_bahdanau as kb
from keras_bahdanau.exporters.saved_model.graph_costs import graph_bytes, graph_operations
from keras_bahdanau.exporters.saved_model.version import largest_batch, largest_graphs
from keras_bahdanau.exporters.tracing import portable

ROWS, LONGEST, LONGEST_TARGET = 3, 7, 4
MECHANISMS = [
    "copying by heads with coverage",
    "hard alignments, first order",
    "hard alignments, first order, monotonic",
]
PRODUCTS = {"BatchMatMulV2", "Conv2D", "MatMul"}
# Renamed tensors, shapes (known to a graph beforehand), and a loop's lists (absent outside a loop).
UNCOUNTED = {"ExpandDims", "Identity", "IdentityN", "Reshape", "Squeeze", "StopGradient"}
UNCOUNTED |= {"Pack", "Shape", "Unpack", "ZerosLike"}
IN_PART = {"GatherV2", "ResourceGather", "StridedSlice"}


def graph_of(function, *shapes):
    traced = tf.function(function, autograph=False)
    graph = traced.get_concrete_function(*map(tf.TensorSpec, shapes)).graph
    return graph.as_graph_def(add_shapes=True)


def operations(function, *shapes):
    return graph_operations(graph_of(function, *shapes), unknown=10)


def looped(body, rounds, x):
    """Apply `body` to x `rounds` times, or until no element of x is greater than 3."""
    return tf.while_loop(
        lambda x: tf.reduce_max(x) > 3, lambda x: [body(x)], [x], maximum_iterations=rounds
    )[0]


def test_the_tensors_of_a_graph_are_counted_by_their_shapes():
    root = tf.function(tf.sqrt, input_signature=[tf.TensorSpec((2, 3))])

    def graph(known, unknown):
        return root(tf.reshape(root(known), (2, 3))), tf.exp(unknown)

    # Two inputs, two roots, a power and the shape (2, 3), each with 4 bytes per value.
    expected = 4 * (6 + 10 + 6 + 6 + 10 + 2)
    assert graph_bytes(graph_of(graph, (2, 3), (None,)), unknown=10) == expected


COUNTED = {
    "product": (tf.matmul, [(2, 3), (3, 4)], 2 * 2 * 3 * 4),
    "turned": (
        functools.partial(tf.matmul, transpose_a=True, transpose_b=True),
        [(3, 2), (4, 3)],
        2 * 2 * 3 * 4,
    ),
    "products": (tf.matmul, [(5, 2, 3), (5, 3, 4)], 5 * 2 * 2 * 3 * 4),
    "turned products": (
        functools.partial(tf.matmul, transpose_b=True),
        [(5, 2, 3), (5, 4, 3)],
        5 * 2 * 2 * 3 * 4,
    ),
    "einsum": (
        lambda a, b: tf.einsum("...ik,kj->...ij", a, b),
        [(5, 2, 3), (3, 4)],
        5 * 2 * 2 * 3 * 4,
    ),
    # Filters of two places and three channels, for each of 2 * 6 places and 5 channels.
    "convolution": (
        lambda x, filters: tf.nn.conv1d(x, filters, 1, "SAME"),
        [(2, 6, 3), (2, 3, 5)],
        2 * (2 * 6 * 5) * (2 * 3),
    ),
    "each channel": (
        lambda x, filters: tf.nn.depthwise_conv2d(x, filters, [1, 1, 1, 1], "SAME"),
        [(2, 4, 4, 3), (2, 2, 3, 1)],
        2 * (2 * 4 * 4 * 3) * (2 * 2),
    ),
    "windows": (lambda x: tf.nn.max_pool2d(x, 2, 2, "SAME"), [(2, 4, 4, 3)], 4 * 96),
    "broadcast": (tf.add, [(2, 1), (1, 3)], 6),
    "sum": (lambda x: tf.raw_ops.Sum(input=x, axis=[1]), [(2, 3)], 6),
    "lookup": (lambda x: tf.raw_ops.GatherV2(params=x, indices=[0], axis=0), [(9, 3)], 3),
    "the two best": (lambda x: tf.math.top_k(x, 2), [(4, 9)], (1 + 2) * 4 * 9),
    "softmax": (tf.nn.softmax, [(2, 3)], 5 * 6),
}


@pytest.mark.parametrize("name", COUNTED)
def test_work_is_as_counted_by_hand(name):
    function, shapes, expected = COUNTED[name]
    assert operations(function, *shapes) == expected


def test_a_loop_counts_as_often_as_it_can_run():
    # Per round: x @ x and the counter; per check: the maximum of x, two comparisons and an "and".
    inner = 5 * (2 * 3 * 3 * 3 + 1) + 6 * (9 + 3)
    square = functools.partial(looped, lambda x: tf.matmul(x, x), 5)
    assert operations(square, (3, 3)) == inner
    assert operations(functools.partial(looped, square, 4), (3, 3)) == 4 * (inner + 1) + 5 * (9 + 3)


def test_a_function_counts_once_for_each_call():
    square = tf.function(lambda x: tf.matmul(x, x), input_signature=[tf.TensorSpec((3, 3))])
    assert operations(lambda x: square(square(x)), (3, 3)) == 2 * 2 * 3 * 3 * 3


def test_rounds_that_the_shapes_of_a_batch_tell_are_known():
    def as_many_as_columns(x):
        return looped(tf.exp, tf.reduce_max(tf.range(tf.shape(x)[1] + 1)), x)

    known = operations(lambda x: looped(tf.exp, 3, x), (2, 3))
    # The number of columns, the next integer, a range of that many values, and its maximum.
    assert operations(as_many_as_columns, (2, 3)) - known == 1 + 1 + 4 + 4


def test_a_loop_without_bound_is_refused():
    for rounds in (lambda x: None, lambda x: tf.cast(x[0, 0], tf.int32)):
        with pytest.raises(ValueError, match="must have `maximum_iterations`.* Received: .*While"):
            operations(lambda x, rounds=rounds: looped(tf.exp, rounds(x), x), (2, 3))


def test_work_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="must be known, .* Received: MatrixInverse 'Matrix"):
        operations(tf.linalg.inv, (3, 3))


def test_tensorflow_counts_as_many_products():
    with tf.Graph().as_default() as graph:
        given = functools.partial(tf.compat.v1.placeholder, tf.float32)
        for strides, padding in ((1, "VALID"), (2, "SAME")):
            tf.nn.conv2d(given((2, 6, 5, 3)), given((3, 2, 3, 7)), strides, padding)
        tf.matmul(given((4, 8)), given((8, 3)))
        tf.matmul(given((2, 5, 4, 8)), given((2, 5, 8, 3)))
    counted = tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
    counted["output"] = "none"
    expected = tf.compat.v1.profiler.profile(graph, options=counted).total_float_ops
    assert graph_operations(graph.as_graph_def(add_shapes=True), unknown=0) == expected > 0


@contextlib.contextmanager
def counting():
    """Counter of the work of each operation that TensorFlow runs in the block, by name."""
    work = Counter()

    def add(name, inputs, attributes, outputs, *_):
        name = name.decode() if isinstance(name, bytes) else name
        made = sum(math.prod(tensor.shape) for tensor in outputs)
        read = max((math.prod(tensor.shape) for tensor in inputs), default=0)
        if name in PRODUCTS:
            flags = dict(zip(attributes[::2], attributes[1::2], strict=True))
            last = -1 if flags.get("transpose_b") or flags.get("adj_y") else -2
            filters = inputs[1].shape
            work[name] += (
                2 * made * math.prod(filters[:-1] if name == "Conv2D" else filters[last:][:1])
            )
        elif name not in UNCOUNTED:
            work[name] += made if name in IN_PART else max(made, read)

    op_callbacks.add_op_callback(add)
    try:
        yield work
    finally:
        op_callbacks.remove_op_callback(add)


def pipeline_of(name):
    """Return an untrained pipeline for an option in the tables or for a kind of source."""
    search = {"beam_width": 2, "max_source_length": LONGEST, "max_length": LONGEST_TARGET}
    keras.utils.set_random_seed(0)
    if name in OPTIONS:
        target = new_subwords()
        source, model = target, new_model(OPTIONS[name], target)
        search |= OPTIONS[name].search
    else:
        source = CASES[name].source_of([CASES[name].input_of(numbers) for numbers in NUMBERS])
        target = new_subwords()
        sizes = dict.fromkeys(("embedding_units", "units", "attention_units"), 8)
        model = kb.presets.small(source, target, **sizes)
    # no hypothesis can end earlier
    search = kb.SearchOptions(**{**search, "min_length": LONGEST_TARGET})
    return kb.Pipeline(source, model, target, search)


def full_features(pipeline):
    """Return features in which every row has the maximum length."""
    draws = np.random.default_rng(0)

    def full(spec):
        if spec.name == "lengths":
            return tf.fill(spec.shape, pipeline.longest())
        return tf.cast(draws.integers(4, 7, spec.shape), spec.dtype)

    return keras.tree.map_structure(full, pipeline.source.batch_spec(ROWS, pipeline.longest()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "most"),
    [
        *((name, 1.1) for name in ("features", "images", "ink")),
        ("audio", 1.7),  # each step of a Fourier transform runs as one operation
        *((name, 1.1) for name in ("convolutions and a task", "joint CTC", "preset luong")),
        *((name, 1.1) for name in ("past and heads between deep LSTMs", "monotonic with coverage")),
        *((name, 1.1) for name in MECHANISMS),
    ],
)
def test_the_largest_batch_runs_what_is_counted(name, most):
    """Every operation runs separately, also in loops, so each is counted exactly once."""
    pipeline = pipeline_of(name)
    features = full_features(pipeline)
    target = tf.fill((ROWS, LONGEST_TARGET), 5)
    for graph, run in zip(
        largest_graphs(pipeline, ROWS),
        (
            lambda: pipeline.search_features(features, time=LONGEST_TARGET),
            lambda: pipeline.force_features(features, target),
        ),
        strict=True,
    ):
        with portable(pipeline.model), counting() as work:
            assert (run().lengths.numpy() == LONGEST_TARGET).all()
        assert work.total() <= graph_operations(graph, LONGEST) <= most * work.total()


@pytest.mark.slow
def test_work_grows_with_the_rows_and_the_source_and_by_the_square_of_the_target(toy_translator):
    def work(rows, **search):
        options = dataclasses.replace(toy_translator.search, **search)
        found = largest_batch(toy_translator.searching(options), rows)
        return found["max_batch_operations"]

    most = work(64)
    assert 1.99 < most / work(32) <= 2
    assert 1.5 < most / work(64, max_source_length=256) <= 2
    assert 2 < most / work(64, max_length=128) <= 4
    assert most > work(64, beam_width=1)
