"""How to create and call every public layer and model, and which outputs to expect."""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from decoders import new_decoder, new_hard_decoder
from memory import shape_of

from keras_bahdanau import layers, models
from keras_bahdanau.layers.attention.attention import AttentionState
from keras_bahdanau.layers.attention.normalizers import Hardmax

RANDOM = np.random.default_rng(12)
BATCH, SOURCE_TIME, TARGET_TIME = 2, 3, 9


def floats(*shape):
    return RANDOM.normal(size=shape).astype("float32")


VALUES = floats(BATCH, SOURCE_TIME, 6)
MASK = np.array([[True, True, True], [True, False, False]])
WEIGHTS = np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]], "float32")
MEMORY = layers.Memory(
    VALUES, MASK, summary=floats(BATCH, 6), last=floats(BATCH, 6), task=floats(BATCH, 5)
)
SOURCE = np.array([[3, 1, 4], [5, 0, 0]], "int32")
SYMBOLS = (-1, 1, 2, 6, -1, 4, 3)  # target ids for the source ids
TARGET_IN = np.array([[2, 5, 1, 6, 4, 4, 1, 3, 5], [2, 3, 0, 0, 0, 0, 0, 0, 0]], "int32")
ALIGNMENT = np.repeat(WEIGHTS[:, None], TARGET_TIME, axis=1)


def padded(array, value):
    return np.pad(array, ((0, 0), (0, 2), *((0, 0),) * (array.ndim - 2)), constant_values=value)


FRAMES = layers.Frames(VALUES, np.array([3, 1], "int32"))


def padded_frames(frames):
    return frames._replace(values=padded(frames.values, 50.0))


PIXELS = layers.Pixels(
    RANDOM.integers(0, 256, (BATCH, 12, 12, 4), np.uint8),  # a grid of 3 x 3 cells
    np.array([9, 4], "int32"),
)


def padded_pixels(pixels):
    wider = ((0, 0), (0, 0), (0, 4), (0, 0))
    return pixels._replace(values=np.pad(pixels.values, wider, constant_values=50))


def grid_model():
    """Return a Keras model from images to a grid of cells; a cell is 4 x 4 pixels."""
    inputs = keras.Input((12, 16, 4))
    return keras.Model(inputs, keras.layers.Conv2D(6, 4, 4, activation="tanh")(inputs / 255))


def padded_memory(memory):
    symbols = padded(memory.symbols, -1) if len(memory.symbols) else ()
    wider = {"values": padded(memory.values, 50.0), "mask": padded(memory.mask, False)}
    return memory._replace(**wider, symbols=symbols)


# 12 and 5 frames, which two convolutions shorten to 3 and 2; quiet, so that levels stay precise
SAMPLES = layers.Samples(1e-4 * floats(BATCH, 1920), np.array([12, 5], "int32"))


def padded_samples(samples):
    values = np.pad(samples.values, ((0, 0), (0, 999)), constant_values=50.0)
    return samples._replace(values=values)


def forecaster(**options):
    return lambda **kwargs: models.Forecaster(4, units=5, **options, **kwargs)


def padded_series(inputs):
    wider = {"past": padded(inputs["past"], 50.0), "mask": padded(inputs["mask"], False)}
    return ({**inputs, **wider},)


class Row(NamedTuple):
    """How to test a layer.

    Attributes:
        new: Function that creates the layer from the arguments that every layer has.
        inputs: Positional arguments of its call.
        outputs: Dtype of each output. "compute" means the compute dtype of the layer's policy.
        padding: Function that returns the inputs with more source padding, or None.
        drops: Whether training differs from inference.
        apart: Names of the sublayers that its call doesn't use, but other methods do.
        learns: Whether it has weights.
        shapes: Arguments of its `build`, if they can't be inferred from its call.
        functional: Whether it works in a Functional model, whose inputs must be tensors.
        cast: Function of a dtype and the inputs that casts them, if the caller has to, or None.
    """

    new: Callable
    inputs: tuple
    outputs: tuple = ("compute",)
    padding: Any = None
    drops: bool = False
    apart: tuple = ()
    learns: bool = True
    shapes: tuple = ()
    functional: bool = True
    cast: Any = None

    def inputs_for(self, layer):
        """Return the inputs in the dtypes that the layer expects under its policy."""
        return self.cast(layer.compute_dtype, *self.inputs) if self.cast else self.inputs


def row(kind, *arguments, inputs, **fields):
    """Return the row of a layer whose constructor needs no other layer."""
    options = fields.pop("options", {})
    return Row(lambda **kwargs: kind(*arguments, **options, **kwargs), inputs, **fields)


def score_row(kind, *arguments, **fields):
    inputs = (floats(BATCH, TARGET_TIME, 6), VALUES)
    return row(kind, *arguments, inputs=inputs, outputs=("float32",), **fields)


def window_row(kind, state, outputs, **fields):
    return row(
        kind,
        inputs=(floats(BATCH, 4), MASK, state),
        outputs=outputs,
        padding=lambda query, mask, state: (query, padded(mask, False), state),
        **fields,
    )


def normalizer_row(kind, state, outputs, **fields):
    def padding(scores, mask, state):
        state = padded(state, 0.0) if len(state) else state
        return padded(scores, 50.0), padded(mask, False), state

    inputs = (floats(BATCH, SOURCE_TIME), MASK, state)
    return row(kind, inputs=inputs, outputs=outputs, padding=padding, **fields)


def coverage_row(kind, state, **fields):
    def padding(keys, state):
        return padded(keys, 50.0), padded(state, 0.0) if len(state) else state

    inputs = (floats(BATCH, SOURCE_TIME, 5), state)
    return row(kind, inputs=inputs, outputs=("float32",), padding=padding, **fields)


def cell_row(kind, *arguments, states=1, **fields):
    """Return the row of a cell with a single layer."""
    inputs = (floats(BATCH, 8), tuple(floats(BATCH, 4) for _ in range(states)))
    outputs = ("compute",) * (1 + states)
    return row(kind, *arguments, inputs=inputs, outputs=outputs, **fields)


def bahdanau(**kwargs):
    return layers.BahdanauAttention(5, dropout=0.5, **kwargs)


def of_bahdanau(kind, *arguments):
    """Return a constructor for an attention that wraps a `BahdanauAttention`."""
    return lambda **kwargs: kind(bahdanau(dtype=kwargs.get("dtype")), *arguments, **kwargs)


def attention_row(new, query=(TARGET_TIME, 6), **fields):
    def padding(query, values, mask):
        return query, padded(values, 50.0), padded(mask, False)

    fields = {"drops": True, **fields}
    return Row(new, (floats(BATCH, *query), VALUES, MASK), padding=padding, **fields)


def attention_rnn_row(new_cell, states=1):
    def new(**kwargs):
        policy = {"dtype": kwargs.get("dtype")}
        attention = layers.BahdanauAttention(5, dropout=0.5, coverage="sum", **policy)
        return layers.AttentionRNN(
            new_cell(**policy),
            attention,
            **{"return_sequences": True, "return_state": True, "return_attention_scores": True},
            **kwargs,
        )

    def padding(inputs, memory, mask, memory_mask):
        return (
            padded(inputs, 50.0),
            padded(memory, 50.0),
            padded(mask, False),
            padded(memory_mask, False),
        )

    real = np.arange(TARGET_TIME) < np.array([[TARGET_TIME], [4]])
    inputs = (floats(BATCH, TARGET_TIME, 8), VALUES, real, MASK)
    outputs = (*("compute",) * (1 + states), "float32")
    return Row(new, inputs, outputs, padding, drops=True)


def hard_alignment_row(**options):
    return attention_row(
        lambda **kwargs: layers.HardAlignment("additive", 5, **options, **kwargs), drops=False
    )


def decoder_cell_row(kind, cell="gru", states=1, fed=(), **options):
    """Return the row of a decoder cell whose attention uses coverage."""

    def new(**kwargs):
        attention = bahdanau(coverage="sum", dtype=kwargs.get("dtype"))
        return kind(4, attention, cell=cell, **options, **kwargs)

    def padding(inputs, state, prepared):
        attention_state = state.attention._replace(coverage=padded(state.attention.coverage, 0.0))
        memory, keys = padded_memory(prepared.memory), padded(prepared.keys, 50.0)
        return (
            inputs,
            state._replace(attention=attention_state),
            layers.ProjectedMemory(memory, keys),
        )

    def cast(dtype, inputs, state, prepared):
        """Cast all inputs but the attention's state."""
        halves = tf.nest.map_structure(
            lambda array: tf.cast(array, dtype) if array.dtype == "float32" else array,
            (inputs, state, prepared),
        )
        return inputs, halves[1]._replace(attention=state.attention), halves[2]

    attention_state = AttentionState(window=(), normalizer=(), coverage=WEIGHTS)
    state = layers.DecoderState(
        (tuple(floats(BATCH, 4) for _ in range(states)),), attention_state, output=fed
    )
    step = ("compute", "compute", "float32", "float32", "compute")
    return Row(
        new,
        inputs=(
            floats(BATCH, 8),
            state,
            layers.ProjectedMemory(MEMORY, floats(BATCH, SOURCE_TIME, 5)),
        ),
        outputs=(*step, *["compute"] * states, "float32", *["compute"] * bool(len(fed))),
        padding=padding,
        drops=True,
        apart=("key_projection", "bridge"),  # those of `prepare` and `initial_state`
        shapes=((BATCH, 8), None, shape_of(6, task_units=5)),
        cast=cast,
    )


def block_cell_row():
    """Return the row of a `BlockCell` of two blocks whose attentions have no state."""

    def new(**kwargs):
        attention = bahdanau(dtype=kwargs.get("dtype"))
        return layers.BlockCell(4, attention, depth=2, dropout=0.5, **kwargs)

    def padding(inputs, state, prepared):
        keys = tuple(padded(each, 50.0) for each in prepared.keys)
        return inputs, state, layers.ProjectedMemory(padded_memory(prepared.memory), keys)

    nothing = AttentionState(window=(), normalizer=(), coverage=())
    state = layers.DecoderState(((floats(BATCH, 4),), (floats(BATCH, 4),)), (nothing, nothing))
    keys = (floats(BATCH, SOURCE_TIME, 5), floats(BATCH, SOURCE_TIME, 5))
    return Row(
        new,
        inputs=(floats(BATCH, 8), state, layers.ProjectedMemory(MEMORY, keys)),
        outputs=("compute", "compute", "float32", "float32", *["compute"] * 3),
        padding=padding,
        drops=True,
        apart=("key_projection", "bridge"),  # those of `prepare` and `initial_state`
        shapes=((BATCH, 8), None, shape_of(6, task_units=5)),
        cast=lambda dtype, *inputs: tf.nest.map_structure(
            lambda array: tf.cast(array, dtype) if array.dtype == "float32" else array, inputs
        ),
    )


def reader_row(reader, *arguments):
    """Return the row of a reader of `VALUES`; the second sentence is shorter."""
    return row(
        reader,
        *(4, *arguments),
        inputs=(VALUES, np.array([3, 1], "int32")),
        padding=lambda inputs, lengths: (padded(inputs, 50.0), lengths),
    )


def readout_row(kind, **fields):
    widths = (4, 6, 8)
    inputs = tuple(floats(BATCH, TARGET_TIME, width) for width in widths)
    return row(kind, 4, 0.5, inputs=inputs, drops=True, **fields)


def encoder(**options):
    return lambda **kwargs: models.Encoder(7, 5, 4, dropout=0.5, **options, **kwargs)


def encoder_row(**options):
    outputs = "compute", "bool", *["compute"] * 3, *["int32"] * ("symbols" in options)
    return Row(encoder(**options), (SOURCE,), outputs, lambda ids: (padded(ids, 0),), drops=True)


def decoder(**options):
    def new(**kwargs):
        attention = {"attention": layers.BahdanauAttention(5, dtype=kwargs.get("dtype"))}
        return new_decoder(7, 5, 4, **{"dropout": 0.5, **attention, **options, **kwargs})

    return new


def hard_decoder(**kwargs):
    score = layers.AdditiveScore(5, dtype=kwargs.get("dtype"))
    attention = layers.HardAlignment(score, order=1, dtype=kwargs.get("dtype"))
    return new_hard_decoder(7, 5, 4, attention, dropout=0.5, **kwargs)


def decoder_row(*alignment, memory=MEMORY, **options):
    def padding(target_in, memory, *alignment):
        wider = (np.pad(part, ((0, 0), (0, 2), (0, 2))) for part in alignment)
        return padded(target_in, 0), padded_memory(memory), *wider

    inputs = (TARGET_IN, memory, *alignment)
    return Row(decoder(**options), inputs, ("float32",), padding, drops=True)


def seq2seq(**options):
    return lambda **kwargs: models.Seq2Seq(
        encoder()(dtype=kwargs.get("dtype")),
        decoder(tie_embeddings=True)(dtype=kwargs.get("dtype")),
        **options,
        **kwargs,
    )


def copying(**kwargs):
    dtype = {"dtype": kwargs.get("dtype")}
    parts = encoder(symbols=SYMBOLS)(**dtype), decoder(copy=True)(**dtype)
    return models.Seq2Seq(*parts, **kwargs)


def ensemble(**kwargs):
    dtype = {"dtype": kwargs.get("dtype")}
    return models.Ensemble([seq2seq(name=name)(**dtype) for name in ("one", "two")], **kwargs)


def of_frames(**kwargs):
    """Return an `Encoder` that is created from a front end and readers."""
    dtype = {"dtype": kwargs.get("dtype")}
    return models.Encoder(
        front_end=layers.FrameProjection(6, 5, **dtype),
        readers=[layers.UnidirectionalRNN(4, **dtype), layers.BidirectionalRNN(4, **dtype)],
        dropout=0.5,
        **kwargs,
    )


def model_row(new):
    def padding(inputs):
        return (tuple(padded(ids, 0) for ids in inputs),)

    return Row(new, ((SOURCE, TARGET_IN),), ("float32",), padding, drops=True)


TABLE = {
    "AdditiveScore": score_row(layers.AdditiveScore, 5),
    "AdditiveScore, bias": score_row(layers.AdditiveScore, 5, True),
    "ConcatScore": score_row(layers.ConcatScore, 5),
    "CosineScore": score_row(layers.CosineScore),
    "DotScore": score_row(layers.DotScore, learns=False),
    "GeneralScore": score_row(layers.GeneralScore),
    "LocationScore": score_row(layers.LocationScore, 4),
    "PairScore": score_row(layers.PairScore),
    "PairScore, tanh": score_row(layers.PairScore, "tanh"),
    "ScaledDotScore": score_row(layers.ScaledDotScore, learns=False),
    #
    "Everywhere": window_row(layers.Everywhere, (), ("bool",), learns=False, functional=False),
    "LocalMonotonic": window_row(
        layers.LocalMonotonic,
        np.array([0, 7], "float32"),
        ("bool", "float32"),
        learns=False,
        functional=False,
    ),
    "LocalMedian": window_row(
        layers.LocalMedian,
        np.array([0, 7], "float32"),
        ("bool", "float32"),
        learns=False,
        functional=False,
    ),
    "LocalPredictive": window_row(layers.LocalPredictive, (), ("bool", "float32")),
    "Softmax": normalizer_row(layers.Softmax, (), ("float32",), learns=False),
    "Sigmoid": normalizer_row(layers.Sigmoid, (), ("float32",), learns=False),
    "Monotonic": normalizer_row(layers.Monotonic, WEIGHTS, ("float32", "float32"), drops=True),
    "Hardmax": normalizer_row(Hardmax, (), ("float32",), learns=False),
    "MonotonicChunkwise": normalizer_row(
        layers.MonotonicChunkwise, WEIGHTS, ("float32", "float32"), drops=True
    ),
    "NoCoverage": coverage_row(layers.NoCoverage, (), learns=False),
    "Coverage": coverage_row(layers.Coverage, WEIGHTS),
    "LocationConvolution": coverage_row(layers.LocationConvolution, WEIGHTS),
    "GridCoverage": coverage_row(layers.GridCoverage, WEIGHTS, options={"grid_height": 2}),
    #
    "Attention": attention_row(
        lambda **kwargs: layers.Attention("general", dropout=0.5, coverage="sum", **kwargs)
    ),
    "BahdanauAttention": attention_row(bahdanau),
    "BahdanauAttention, one query": attention_row(bahdanau, query=(4,)),
    "LuongAttention": attention_row(
        lambda **kwargs: layers.LuongAttention(dropout=0.5, window="local-p", **kwargs)
    ),
    "MultiHeadAttention": attention_row(of_bahdanau(layers.MultiHeadAttention, 2)),
    "PastAttention": attention_row(of_bahdanau(layers.PastAttention, 3, 4)),
    "AttentionPooling": row(
        layers.AttentionPooling,
        5,
        inputs=(VALUES, MASK),
        padding=lambda values, mask: (padded(values, 50.0), padded(mask, False)),
        options={"dropout": 0.5},
        drops=True,
    ),
    "AttentionRNN": attention_rnn_row(lambda **kwargs: layers.GRUCell(4, **kwargs)),
    "AttentionRNN, of Keras' cells": attention_rnn_row(
        lambda **kwargs: [keras.layers.LSTMCell(4, **kwargs), keras.layers.GRUCell(4, **kwargs)],
        states=3,
    ),
    "HardAlignment": hard_alignment_row(order=1),
    "HardAlignment, zeroth": hard_alignment_row(),
    "HardAlignment, zeroth, monotonic": hard_alignment_row(monotonic=True),
    "FixedContext": attention_row(layers.FixedContext, drops=False, learns=False),
    "FixedContext, one query": attention_row(
        layers.FixedContext, query=(4,), drops=False, learns=False
    ),
    #
    "SimpleCell": cell_row(layers.SimpleCell, 4),
    "GRUCell": cell_row(layers.GRUCell, 4),
    "ResetBeforeGRUCell": cell_row(layers.ResetBeforeGRUCell, 4),
    "LSTMCell": cell_row(layers.LSTMCell, 4, states=2),
    "LayerNormGRUCell": cell_row(layers.LayerNormGRUCell, 4),
    "LayerNormLSTMCell": cell_row(layers.LayerNormLSTMCell, 4, states=2),
    "SSRUCell": cell_row(layers.SSRUCell, 4),
    "SRUCell": cell_row(layers.SRUCell, 4),
    "MinGRUCell": cell_row(layers.MinGRUCell, 4),
    "MinLSTMCell": cell_row(layers.MinLSTMCell, 4),
    "KerasCell": Row(
        lambda **kwargs: layers.KerasCell(keras.layers.LSTMCell(4), **kwargs),
        *cell_row(layers.LSTMCell, states=2)[1:],
    ),
    "SelfAttentionCell": Row(
        lambda **kwargs: layers.SelfAttentionCell(4, heads=2, length=3, **kwargs),
        (floats(BATCH, 8), (floats(BATCH, 12), floats(BATCH, 12), np.ones((BATCH, 3), "float32"))),
        outputs=("compute",) * 4,
    ),
    "CellStack": Row(
        lambda **kwargs: layers.CellStack(
            [kind(4, dtype=kwargs.get("dtype")) for kind in (layers.GRUCell, layers.LSTMCell)],
            residual=True,
            **kwargs,
        ),
        (floats(BATCH, 8), ((floats(BATCH, 4),), (floats(BATCH, 4), floats(BATCH, 4)))),
        outputs=("compute",) * 4,
    ),
    #
    "DecoderCell": decoder_cell_row(layers.DecoderCell),
    "DecoderCell, gate": decoder_cell_row(layers.DecoderCell, context_gate=True),
    "DecoderCell, LSTM": decoder_cell_row(layers.DecoderCell, "lstm", states=2),
    "InputFeedingCell": decoder_cell_row(layers.InputFeedingCell, fed=floats(BATCH, 4)),
    "InputFeedingCell, the context fed": decoder_cell_row(
        layers.InputFeedingCell, fed=floats(BATCH, 6), attentional="context", output="state"
    ),
    "ConditionalCell": decoder_cell_row(layers.ConditionalCell),
    "UnfedCell": decoder_cell_row(layers.UnfedCell),
    "BlockCell": block_cell_row(),
    "Query": row(
        layers.Query,
        ("embedding", "state"),
        inputs=(floats(BATCH, 4), floats(BATCH, 8)),
        learns=False,
    ),
    "StateBridge": row(
        layers.StateBridge, ((4, 4),), inputs=(floats(BATCH, 6),), outputs=("compute", "compute")
    ),
    "IdentityBridge": row(
        layers.IdentityBridge,
        ((4, 4),),
        inputs=(floats(BATCH, 8),),
        outputs=("compute", "compute"),
        learns=False,
    ),
    "ZeroBridge": row(layers.ZeroBridge, (4,), inputs=(floats(BATCH, 6),), learns=False),
    "Readout": readout_row(layers.Readout),
    "MaxoutReadout": readout_row(layers.MaxoutReadout),
    "AttentionalReadout": readout_row(layers.AttentionalReadout),
    "PlainReadout": readout_row(layers.PlainReadout, learns=False),
    "Emission": readout_row(layers.Emission),
    "PointerGenerator": row(
        layers.PointerGenerator,
        inputs=tuple(floats(BATCH, TARGET_TIME, width) for width in (4, 6, 8)),
        outputs=("float32",),
    ),
    #
    "TokenEmbedding": row(
        layers.TokenEmbedding,
        *(7, 5),
        inputs=(SOURCE,),
        outputs=("compute", "bool"),
        padding=lambda ids: (padded(ids, 0),),
    ),
    "FrameProjection": row(
        layers.FrameProjection,
        *(6, 5),
        inputs=(FRAMES,),
        outputs=("compute", "bool"),
        padding=lambda frames: (padded_frames(frames),),
    ),
    "FrameConvolutions": row(
        layers.FrameConvolutions,
        *(6, 5, (3, 4)),
        options={"augmentation": 0.5, "planes": 2},
        inputs=(FRAMES,),
        outputs=("compute", "bool"),
        padding=lambda frames: (padded_frames(frames),),
        drops=True,
    ),
    "ShapeContext": row(
        layers.ShapeContext,
        *(5, 2),
        inputs=(VALUES / 10, MASK),  # frames contain positions divided by 10
        padding=lambda frames, mask: (padded(frames, 50.0), padded(mask, False)),
    ),
    "ImagePatches": row(
        layers.ImagePatches,
        *(12, 4, 5),
        options={"convolutions": (4, 6, 6), "cell": 4, "augmentation": 0.5},
        inputs=(PIXELS,),
        outputs=("compute", "bool"),
        padding=lambda pixels: (padded_pixels(pixels),),
        drops=True,
    ),
    "ImagePatches, columns": row(
        layers.ImagePatches,
        *(12, 4, 5),
        options={"convolutions": (4, 6), "cell": 4, "columns": True},
        inputs=(PIXELS,),
        outputs=("compute", "bool"),
        padding=lambda pixels: (padded_pixels(pixels),),
    ),
    "KerasGrid, a small model": Row(
        lambda **kwargs: layers.KerasGrid(grid_model(), 5, **kwargs),
        inputs=(PIXELS,),
        outputs=("compute", "bool"),
        padding=lambda pixels: (padded_pixels(pixels),),
    ),
    "AudioFrames": row(
        layers.AudioFrames,
        *(5, 20, (3, 4)),
        inputs=(SAMPLES,),
        outputs=("compute", "bool"),
        padding=lambda samples: (padded_samples(samples),),
    ),
    "BidirectionalRNN": reader_row(layers.BidirectionalRNN),
    "BidirectionalRNN, LSTM": reader_row(layers.BidirectionalRNN, "lstm"),
    "ConvolutionalReader": reader_row(layers.ConvolutionalReader),
    "RowRNN, two rows": row(
        layers.RowRNN,
        4,
        options={"grid_height": 2},
        inputs=(np.repeat(VALUES, 2, axis=1), np.array([6, 3], "int32")),
        padding=lambda inputs, lengths: (padded(inputs, 50.0), lengths),
    ),
    "RowRNN, one row": reader_row(layers.RowRNN, "layer-norm-lstm"),
    "PyramidalRNN": reader_row(layers.PyramidalRNN),
    "SelfAttentionReader": reader_row(layers.SelfAttentionReader, 2, 2, 6, 0.5),
    "UnidirectionalRNN": reader_row(layers.UnidirectionalRNN, "layer-norm-gru"),
    "FeedForward": row(layers.FeedForward, 4, 6, 0.5, inputs=(VALUES,), drops=True),
    "WordDropout": row(layers.WordDropout, 0.5, inputs=(VALUES,), drops=True, learns=False),
    #
    "Encoder": encoder_row(),
    "Encoder, LSTM": encoder_row(cell="lstm"),
    "Encoder, convolutional": encoder_row(kind="convolutional", depth=2),
    "Encoder, unidirectional": encoder_row(
        kind="unidirectional",
        cell="layer-norm-gru",
        depth=2,
        summary="last",
        residual=True,
        recurrent_dropout=0.5,
        word_dropout=0.5,
    ),
    "Encoder, symbols": encoder_row(symbols=SYMBOLS),
    "Encoder, whole parts": Row(
        of_frames,
        (FRAMES,),
        ("compute", "bool", *["compute"] * 3),
        lambda frames: (padded_frames(frames),),
        drops=True,
    ),
    "Decoder": decoder_row(),
    "Decoder, LSTM": decoder_row(cell="lstm", tie_embeddings=True),
    "Decoder, no attention": decoder_row(attention=None),
    "Decoder, forced alignment": decoder_row(ALIGNMENT, attention="forced"),
    "HardDecoder": Row(hard_decoder, *decoder_row()[1:]),
    "Decoder, copying": decoder_row(
        memory=MEMORY._replace(symbols=np.array([[6, 1, -1], [4, -1, -1]], "int32")), copy=True
    ),
    "Seq2Seq": model_row(seq2seq(share_embeddings=True)),
    "Seq2Seq, copying": model_row(copying),
    "Ensemble": model_row(ensemble),
    "Forecaster": Row(
        forecaster(),
        ({"past": VALUES, "mask": MASK},),
        ("float32",),
        padding=padded_series,
        functional=False,  # tests/models tests it in a Functional model
    ),
    "Forecaster, of quantiles": Row(
        forecaster(head="quantiles", scaling="mean", teacher_forcing=0.5, season=3),
        ({"past": VALUES, "mask": MASK, "future_covariates": floats(BATCH, 4, 2)},),
        ("float32",),
        padding=padded_series,
        functional=False,
    ),
}
