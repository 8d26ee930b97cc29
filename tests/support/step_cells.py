"""Decoder cells and readers whose loops over time have custom gradients."""

import keras
import numpy as np
from keras import ops

from keras_bahdanau import layers
from keras_bahdanau.layers import Attention, DecoderCell
from keras_bahdanau.layers.attention.base import new_memory
from keras_bahdanau.layers.memory import Memory, masked_mean
from keras_bahdanau.layers.names import CELLS, COVERAGES, NORMALIZERS, SCORES, WINDOWS

BATCH, SOURCE_TIME, TARGET_TIME, WIDTH = 3, 5, 4, 32
LENGTHS = BATCH, SOURCE_TIME, TARGET_TIME
RANDOM = np.random.default_rng(76)
VALUES = RANDOM.normal(size=(BATCH, SOURCE_TIME, WIDTH))
INPUTS = RANDOM.normal(size=(BATCH, TARGET_TIME, WIDTH))
MASK = np.arange(SOURCE_TIME) < np.array([[5], [3], [0]])  # the last row is all padding


@keras.saving.register_keras_serializable(package="step_cells")
class Zoneout(keras.layers.Layer):
    """A user-defined cell: random units, drawn with a Keras seed generator, keep their state."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = self.state_size = units
        self.inner = keras.layers.GRUCell(units, dtype=self.dtype_policy)
        self.seed_generator = keras.random.SeedGenerator(3)

    def build(self, inputs_shape):
        self.inner.build(inputs_shape)

    def call(self, inputs, states):
        output, (after,) = self.inner(inputs, states)
        draws = keras.random.uniform(ops.shape(after), seed=self.seed_generator)
        return output, [ops.where(draws < 0.4, states[0], after)]

    def get_config(self):
        return {**super().get_config(), "units": self.units}


def new(attention="bahdanau", **options):
    return DecoderCell(WIDTH, attention, **options)


def additive(**options):
    return new(Attention("additive", units=WIDTH, **options))


def stack_of_keras_cells(units):
    cells = [keras.layers.LSTMCell(units), keras.layers.GRUCell(units)]
    return layers.CellStack([*map(layers.KerasCell, cells)])


DECODER_CELLS = {
    "gru": new,
    **{f"cell {name}": lambda name=name: new(cell=name) for name in CELLS if name != "gru"},
    **{f"score {name}": lambda name=name: new(Attention(name, units=WIDTH)) for name in SCORES},
    **{f"window {name}": lambda name=name: additive(window=name) for name in WINDOWS},
    **{f"normalizer {name}": lambda name=name: additive(normalizer=name) for name in NORMALIZERS},
    **{f"coverage {name}": lambda name=name: additive(coverage=name) for name in COVERAGES},
    "query of context and input": lambda: new(query=("state", "context", "embedding")),
    "context gate": lambda: new(context_gate=True),
    "dropout once a sentence": lambda: new(recurrent_dropout=0.3, context_dropout=0.3),
    "dropout of weights": lambda: additive(dropout=0.3),
    "residual stack": lambda: new(depth=3, residual=True, cell="lstm"),
    "previous state": lambda: new(readout_state="previous"),
    "heads": lambda: new(layers.MultiHeadAttention(Attention("general"), heads=4)),
    "heads of additive": lambda: new(layers.MultiHeadAttention(Attention("additive"), heads=2)),
    "past": lambda: new(layers.PastAttention(Attention("additive", units=WIDTH), length=3)),
    "no attention": lambda: new(None),
    "input feeding": lambda: layers.InputFeedingCell(WIDTH, "general", cell="lstm", depth=2),
    "conditional": lambda: layers.DECODER_CELLS.get("between", WIDTH),
    "apart": lambda: layers.UnfedCell(WIDTH, recurrent_dropout=0.2),
    "apart with coverage": lambda: layers.UnfedCell(WIDTH, Attention("additive", coverage="sum")),
    "hard": lambda: layers.UnfedCell(
        WIDTH, layers.HardAlignment("general", order=1, monotonic=True, reach=2)
    ),
    "blocks": lambda: layers.BlockCell(
        WIDTH, Attention("additive", coverage="sum"), cell="gru", depth=2, dropout=0.2
    ),
    "self-attention": lambda: layers.BlockCell(
        WIDTH,
        Attention("additive", coverage="sum"),
        cell=layers.SelfAttentionCell(WIDTH, heads=2, length=4),
        bridge="zeros",
    ),
    "Keras' GRU": lambda: new(cell=keras.layers.GRUCell(WIDTH)),
    "Keras' cells": lambda: new(cell=stack_of_keras_cells(WIDTH)),
    "a user's cell that draws": lambda: new(cell=Zoneout(WIDTH)),
}


READERS = {
    **{name: lambda name=name: layers.CELLS.get(name, WIDTH) for name in CELLS},
    "dropout": lambda: layers.GRUCell(WIDTH, recurrent_dropout=0.3),
    "Keras' LSTM": lambda: layers.KerasCell(keras.layers.LSTMCell(WIDTH)),
    "a user's cell that draws": lambda: layers.KerasCell(Zoneout(WIDTH)),
}


def assert_close(found, expected, tolerance):
    """Assert that arrays are close; `tolerance` is relative to an array's largest element."""
    assert len(found) == len(expected)
    scales = [np.max(np.abs(target), initial=0.0) for target in expected]
    for array, target, scale in zip(found, expected, scales, strict=True):
        assert np.all(np.isfinite(array))
        scale = max(scale, 1e-2 * max(scales))  # some are 0 up to rounding
        np.testing.assert_allclose(array / scale, target / scale, rtol=0, atol=tolerance)


def build(cell):
    """Build a decoder cell for `VALUES` and `INPUTS`."""
    values, summary = (None, None, WIDTH), (None, WIDTH)
    shape = Memory(values, values[:-1], summary, summary, task=(None, 0))
    cell.build((None, WIDTH), memory_shape=shape)
    return cell


def teacher_forced(cell):
    """Return a function of values and inputs that runs a decoder cell's steps in training."""

    def function(values, inputs):
        values, inputs = ops.cast(values, cell.compute_dtype), ops.cast(inputs, cell.compute_dtype)
        memory = new_memory(values, ops.convert_to_tensor(MASK))
        memory = memory._replace(summary=masked_mean(memory.values, memory.mask))
        prepared = cell.prepare(memory, training=True)
        return cell.teacher_forced(inputs, prepared, True, training=True)

    return function


def seeds_of(layer):
    """Return a function that resets the seeds of a layer to their current values."""
    states = [
        layer_.seed_generator.state
        for layer_ in layer._flatten_layers()
        if hasattr(layer_, "seed_generator")
    ]
    states += [x.random.state for x in layer._flatten_layers() if hasattr(x, "random")]
    before = [ops.convert_to_numpy(state.value) for state in states]

    def reset():
        for state, value in zip(states, before, strict=True):
            state.assign(value)

    return reset
