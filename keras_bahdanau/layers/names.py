"""Tables of the layers: the module of each class, and the class for each value of an option.

This file imports nothing, so that options and `--help` can list the names without loading Keras. To
add a layer, write its class, add the class name to `MODULES`, and add a line to the table of its
family.
"""

MODULES = {  # module of the package -> its classes
    "attention.attention": ("Attention", "BahdanauAttention", "LuongAttention"),
    "attention.base": ("Attended", "AttentionBase"),
    "attention.composed": ("MultiHeadAttention", "PastAttention"),
    "attention.coverage": (
        *("Coverage", "CoverageBase", "GridCoverage", "LocationConvolution", "NoCoverage"),
    ),
    "attention.fixed": ("FixedContext", "ForcedAlignment"),
    "attention.hard_alignment": ("HardAlignment",),
    "attention.monotonic": ("Monotonic", "MonotonicChunkwise"),
    "attention.normalizers": ("Hardmax", "Normalizer", "Sigmoid", "Softmax"),
    "attention.pooling": ("AttentionPooling",),
    "attention.windows": (
        *("Everywhere", "LocalMedian", "LocalMonotonic", "LocalPredictive", "Window"),
    ),
    "bridge": ("IdentityBridge", "StateBridge", "ZeroBridge"),
    "cells.causal_attention": ("SelfAttentionCell",),
    "cells.cell": ("Cell", "ProjectedCell"),
    "cells.gated": ("GRUCell", "LSTMCell", "RecurrentCell", "ResetBeforeGRUCell", "SimpleCell"),
    "cells.keras_cell": ("KerasCell",),
    "cells.layer_norm": ("LayerNormGRUCell", "LayerNormLSTMCell"),
    "cells.parallel": ("MinGRUCell", "MinLSTMCell", "ParallelCell", "SRUCell", "SSRUCell"),
    "cells.stack": ("CellStack",),
    "decoder_cells.attention_rnn": ("AttentionRNN",),
    "decoder_cells.bahdanau": ("ConditionalCell", "DecoderCell"),
    "decoder_cells.blocks": ("BlockCell",),
    "decoder_cells.decoder_cell": ("DecoderState", "Step"),
    "decoder_cells.luong": ("InputFeedingCell", "UnfedCell"),
    "distribution": ("PointerGenerator",),
    "front_ends.audio_frames": ("AudioFrames", "Samples"),
    "front_ends.frames": ("FrameConvolutions", "FrameProjection", "Frames"),
    "front_ends.front_end": ("GridCells",),
    "front_ends.image_patches": ("ImagePatches", "Pixels", "Stage"),
    "front_ends.keras_grid": ("KerasGrid",),
    "front_ends.shape_context": ("ShapeContext",),
    "front_ends.token_embedding": ("TokenEmbedding",),
    "initializers": ("BlockOrthogonal", "Orthogonal"),
    "memory": ("Memory", "ProjectedMemory", "Query"),
    "readers.convolutional": ("ConvolutionalReader",),
    "readers.reader": ("ScannedRNN",),
    "readers.recurrent": ("BidirectionalRNN", "PyramidalRNN", "UnidirectionalRNN"),
    "readers.row_rnn": ("RowRNN",),
    "readers.self_attention": ("SelfAttentionReader",),
    "readout": ("AttentionalReadout", "Emission", "MaxoutReadout", "PlainReadout", "Readout"),
    "scores.additive": ("AdditiveScore", "ConcatScore", "PairScore"),
    "scores.location": ("LocationScore",),
    "scores.multiplicative": (
        *("CosineScore", "DotScore", "GeneralScore", "HiddenScore", "ScaledDotScore"),
    ),
    "scores.score": ("Score",),
    "sublayers": ("FeedForward", "WordDropout"),
}
MODULE_OF = {name: module for module, classes in MODULES.items() for name in classes}

# Families: value of an option -> class, or (class, its arguments).
SCORES = {
    "additive": "AdditiveScore",
    "concat": "ConcatScore",
    "cosine": "CosineScore",
    "dot": "DotScore",
    "general": "GeneralScore",
    "location": "LocationScore",
    "pair": "PairScore",
    "pair-tanh": ("PairScore", {"activation": "tanh"}),
    "scaled-dot": "ScaledDotScore",
}
ATTENTIONS = {
    None: "FixedContext",
    "bahdanau": "BahdanauAttention",
    "forced": "ForcedAlignment",
    **dict.fromkeys(SCORES, "Attention"),
}
WINDOWS = {
    "everywhere": "Everywhere",
    "local-m": "LocalMonotonic",
    "local-p": "LocalPredictive",
    "local-median": "LocalMedian",
}
NORMALIZERS = {
    "softmax": "Softmax",
    "softmax-sharp": ("Softmax", {"beta": 2.0}),
    "sigmoid": "Sigmoid",
    "monotonic": "Monotonic",
    "monotonic-hard": ("Monotonic", {"hard": True}),
    "mocha": "MonotonicChunkwise",
    "mocha-hard": ("MonotonicChunkwise", {"hard": True}),
}
COVERAGES = {
    None: "NoCoverage",
    "sum": "Coverage",
    "convolution": "LocationConvolution",
    "grid": "GridCoverage",
}
PARALLEL_CELLS = {  # cells without a recurrent matrix product
    "ssru": "SSRUCell",
    "sru": "SRUCell",
    "min-gru": "MinGRUCell",
    "min-lstm": "MinLSTMCell",
}
CELLS = {
    "simple": "SimpleCell",
    "gru": "GRUCell",
    "gru-reset-before": "ResetBeforeGRUCell",
    "lstm": "LSTMCell",
    "layer-norm-gru": "LayerNormGRUCell",
    "layer-norm-lstm": "LayerNormLSTMCell",
    **PARALLEL_CELLS,
}
DECODER_CELLS = {
    "before": "DecoderCell",
    "after": "InputFeedingCell",
    "between": "ConditionalCell",
    "apart": "UnfedCell",
    "blocks": "BlockCell",
}
BRIDGES = {"summary": "StateBridge", "zeros": "ZeroBridge", "identity": "IdentityBridge"}
READOUTS = {
    "tanh": "Readout",
    "maxout": "MaxoutReadout",
    "attentional": "AttentionalReadout",
    "plain": "PlainReadout",
}
READERS = {
    "bidirectional": "BidirectionalRNN",
    "unidirectional": "UnidirectionalRNN",
    "pyramidal": "PyramidalRNN",
    "rows": "RowRNN",
    "transformer": "SelfAttentionReader",
    "convolutional": "ConvolutionalReader",
    "convolutional-tanh": ("ConvolutionalReader", {"activation": "tanh"}),
}

QUERY_PARTS = ("state", "embedding", "context", "task")

# The public names of `keras_bahdanau.layers`, by family, in the order of the reference. The other
# classes of a family are created by name: `CELLS.get("sru", units)`.
PUBLIC = {
    "Attention": (
        *("ATTENTIONS", "Attention", "BahdanauAttention", "LuongAttention", "MultiHeadAttention"),
        *("PastAttention", "HardAlignment", "AttentionPooling", "AttentionRNN", "AttentionBase"),
    ),
    "Scores": ("SCORES", "Score", "AdditiveScore"),
    "Windows": ("WINDOWS", "Window", "LocalMonotonic", "LocalPredictive", "LocalMedian"),
    "Normalizers": (
        *("NORMALIZERS", "Normalizer", "Softmax", "Sigmoid", "Monotonic", "MonotonicChunkwise"),
        "masked_softmax",
    ),
    "Coverage": ("COVERAGES", "Coverage", "LocationConvolution", "GridCoverage"),
    "Memory": ("Memory", "ProjectedMemory"),
    "Recurrent cells": (
        *("CELLS", "Cell", "GRUCell", "LSTMCell", "SelfAttentionCell", "KerasCell", "CellStack"),
        "scan",
    ),
    "Decoder cells": (
        *("DECODER_CELLS", "DecoderCell", "InputFeedingCell", "ConditionalCell", "UnfedCell"),
        *("BlockCell", "DecoderState"),
    ),
    "Readers": (
        *("READERS", "BidirectionalRNN", "UnidirectionalRNN", "RowRNN", "SelfAttentionReader"),
        "ConvolutionalReader",
    ),
    "Front ends": (
        *("TokenEmbedding", "FrameProjection", "FrameConvolutions", "ImagePatches", "KerasGrid"),
        *("AudioFrames", "Frames", "Pixels", "Samples"),
    ),
}
