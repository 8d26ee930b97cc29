"""The memory of a source, its summary in one vector, and the query that attends to it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bahdanau.layers.names import QUERY_PARTS
from keras_bahdanau.settings import checks


class Memory(NamedTuple):
    """Output of an encoder, one row per source: everything that a decoder can attend to.

    Attributes:
        values: Float tensor `(batch, source_time, values_units)`, the annotations h_j, zero at
            padding.
        mask: Bool tensor `(batch, source_time)`, True where a token is real.
        summary: Float tensor `(batch, summary_units)`, for the first decoder state.
        last: Float tensor `(batch, values_units)`, the states after the last token, which are the
            context of a decoder without attention.
        task: Float tensor `(batch, embedding_units)`, the embedding of the first source token,
            which may be a language or task token (Johnson et al. 2017).
        symbols: Int32 tensor `(batch, source_time)`, the target id that copying a position would
            write, or -1 if it has none; or () for a model that does not copy.
    """

    values: Any
    mask: Any
    summary: Any
    last: Any
    task: Any
    symbols: Any = ()


class ProjectedMemory(NamedTuple):
    """Memory with its projections, computed once per source. The first axis is always the batch."""

    memory: Any  # `Memory`
    keys: Any  # keys of the scores, in the attention's own structure of tensors
    dropout_masks: Any = ()  # drawn once per sentence
    alignment: Any = ()  # float (batch, target_time, source_time), known weights


def checked_memory(target_in_shape, memory):
    """Return a `Memory` of tensors or shapes, from a `Memory` or a plain list made by Keras.

    Raises ValueError if `memory` does not have the form of a memory.
    """
    is_memory = isinstance(memory, list | tuple) and len(memory) in (5, 6)
    shape = memory[0] if is_memory else memory  # the values, or their shape
    shape = getattr(shape, "shape", shape)
    if not is_memory or not hasattr(shape, "__len__") or len(shape) != 3:
        sizes = isinstance(shape, list | tuple) and all(isinstance(n, int | None) for n in shape)
        received = f"shape {tuple(shape)}" if sizes else f"a {type(memory).__name__}"
        raise ValueError(
            "The memory of a Decoder must be the output of an Encoder, with values (batch, "
            f"source_time, units). Received: {received}. Call decoder(target_in, encoder(source))."
        )
    if not hasattr(target_in_shape, "__len__") or len(target_in_shape) != 2:
        raise ValueError(
            "The target of a Decoder must be token ids (batch, target_time). Received: "
            f"target_in.shape={target_in_shape}. Pass integer ids, with 0 at padding."
        )
    return Memory(*memory)


def masked_mean(values, mask):
    """Return the mean `(batch, values_units)` of the real values, summed in float32.

    The mean is zero for a row without real values. Padding may be NaN.
    """
    # mask (batch, source_time, 1), values (batch, source_time, values_units)
    real = ops.where(ops.expand_dims(mask, axis=-1), ops.cast(values, "float32"), 0.0)
    # -> (batch, 1)
    count = ops.maximum(ops.sum(ops.cast(mask, "float32"), axis=1, keepdims=True), 1.0)
    return ops.cast(ops.sum(real, axis=1) / count, values.dtype)


def first_value(values, mask):
    """Return the value of the first token, or zero if there is none; padding is on the right."""
    return _at_position(values, ops.minimum(_count(mask), 1) - 1)


def last_value(values, mask):
    """Return the value of the last token, or zero if there is none; padding is on the right."""
    return _at_position(values, _count(mask) - 1)


def last_real_value(values, mask):
    """Return the value of the last token, or zero if there is none; padding may be anywhere."""
    steps = ops.arange(1, ops.shape(mask)[1] + 1, dtype="int32")  # (source_time,)
    return _at_position(values, ops.max(ops.where(mask, steps, 0), axis=1, initial=0) - 1)


def _count(mask):
    return ops.sum(ops.cast(mask, "int32"), axis=1)


def _at_position(values, positions):
    """Return the value at one position in each row, or zero where the position is -1."""
    # -> (1, source_time)
    steps = ops.expand_dims(ops.arange(ops.shape(values)[1], dtype="int32"), axis=0)
    chosen = ops.equal(steps, ops.expand_dims(positions, axis=1))  # -> (batch, source_time)
    # (batch, source_time, 1) selects from (batch, source_time, units) -> (batch, units)
    return ops.sum(
        ops.where(ops.expand_dims(chosen, axis=-1), values, ops.zeros_like(values)), axis=1
    )


class Summary(NamedTuple):
    """Function that summarizes a source in one vector, and the width of this vector."""

    make: Callable  # (reader, values, mask) -> (batch, summary_units)
    units: Callable  # (reader) -> summary_units


def _mean(reader, values, mask):
    return masked_mean(values, mask)


def _last(reader, values, mask):
    return reader.last(values, mask)


def _backward(reader, values, mask):
    return reader.first_backward(values, mask)


def _output_units(reader):
    return reader.output_units


def _backward_units(reader):
    if not hasattr(reader, "first_backward"):
        raise ValueError(
            "`summary='backward'` needs a reader with a backward direction. Received: "
            f"a {type(reader).__name__}. Use kind='bidirectional', or summary='mean' or 'last'."
        )
    return reader.units


SUMMARIES = {
    "mean": Summary(_mean, _output_units),
    "last": Summary(_last, _output_units),
    "backward": Summary(_backward, _backward_units),
}


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Query(keras.layers.Layer):
    """Query made of one or more of four vectors, concatenated.

    "state"      the decoder's state (Bahdanau et al. 2015: s_{i-1})
    "embedding"  the embedding of the token that the step reads, y_{i-1}
    "context"    the context of the previous step, c_{i-1}
    "task"       the embedding of the first source token, a language or task token

    `parts` is a tuple of different names. Each vector is `(batch, [n,] units)`, or () if it is not
    used. The task never has the axis n.
    """

    def __init__(self, parts=("state",), **kwargs):
        super().__init__(**kwargs)
        self.parts = tuple(parts)
        for name in self.parts:
            checks.choice("query", name, QUERY_PARTS)
        if not self.parts or len(set(self.parts)) < len(self.parts):
            raise ValueError(
                "`query` must name at least one part, and no part twice. Received: "
                f"query={self.parts!r}. Choose from {', '.join(QUERY_PARTS)}."
            )

    def build(self, *shapes):
        pass

    def units(self, **widths):
        """Return the width of the query, from the widths of all four vectors."""
        return sum(widths[name] for name in self.parts)

    def call(self, state, embedding=(), context=(), task=()):
        if "task" in self.parts and len(state.shape) == 3:
            # -> (batch, n, task_units)
            task = ops.repeat(ops.expand_dims(task, axis=1), ops.shape(state)[1], axis=1)
        vectors = {"state": state, "embedding": embedding, "context": context, "task": task}
        chosen = [vectors[name] for name in self.parts]
        return ops.concatenate(chosen, axis=-1) if len(chosen) > 1 else chosen[0]

    def get_config(self):
        return {**super().get_config(), "parts": self.parts}
