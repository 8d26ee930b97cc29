"""Layers in `keras.ops`: attention, cells, one decoder step, the loop over time."""

from keras_bahdanau.layers.attention.attention import Attention, BahdanauAttention, LuongAttention
from keras_bahdanau.layers.attention.base import Attended, AttentionBase
from keras_bahdanau.layers.attention.by_name import ATTENTIONS
from keras_bahdanau.layers.attention.fixed import FixedContext, ForcedAlignment
from keras_bahdanau.layers.attention.hard_alignment import HardAlignment
from keras_bahdanau.layers.attention.multi_head import MultiHeadAttention
from keras_bahdanau.layers.attention.past import PastAttention
from keras_bahdanau.layers.bridge import BRIDGES, IdentityBridge, StateBridge, ZeroBridge
from keras_bahdanau.layers.cells import (
    CELLS,
    BlockOrthogonal,
    Cell,
    CellStack,
    GRUCell,
    KerasCell,
    LayerNormGRUCell,
    LayerNormLSTMCell,
    LSTMCell,
    MinGRUCell,
    MinLSTMCell,
    ParallelCell,
    ProjectedCell,
    RecurrentCell,
    ResetBeforeGRUCell,
    SelfAttentionCell,
    SimpleCell,
    SRUCell,
    SSRUCell,
)
from keras_bahdanau.layers.coverage import (
    COVERAGES,
    Coverage,
    CoverageBase,
    GridCoverage,
    LocationConvolution,
    NoCoverage,
)
from keras_bahdanau.layers.decoder_cells import (
    DECODER_CELLS,
    BlockCell,
    ConditionalCell,
    DecoderCell,
    DecoderState,
    InputFeedingCell,
    Step,
    UnfedCell,
)
from keras_bahdanau.layers.emission import Emission, Emitted
from keras_bahdanau.layers.front_ends.audio_frames import AudioFrames, Samples
from keras_bahdanau.layers.front_ends.frame_convolutions import FrameConvolutions
from keras_bahdanau.layers.front_ends.frame_projection import FrameProjection, Frames
from keras_bahdanau.layers.front_ends.image_patches import ImagePatches, Pixels
from keras_bahdanau.layers.front_ends.keras_grid import KerasGrid
from keras_bahdanau.layers.front_ends.shape_context import ShapeContext
from keras_bahdanau.layers.front_ends.token_embedding import TokenEmbedding
from keras_bahdanau.layers.memory import Memory, ProjectedMemory
from keras_bahdanau.layers.normalizers import (
    NORMALIZERS,
    Drawn,
    Hard,
    Monotonic,
    MonotonicChunkwise,
    Normalizer,
    Sigmoid,
    Softmax,
    masked_softmax,
)
from keras_bahdanau.layers.pointer_generator import Copying, PointerGenerator, log_mixture
from keras_bahdanau.layers.query import Query
from keras_bahdanau.layers.readers import READERS
from keras_bahdanau.layers.readers.convolutional import ConvolutionalReader
from keras_bahdanau.layers.readers.pyramidal import PyramidalRNN
from keras_bahdanau.layers.readers.recurrent import BidirectionalRNN, UnidirectionalRNN
from keras_bahdanau.layers.readers.row_rnn import RowRNN
from keras_bahdanau.layers.readers.self_attention import SelfAttentionReader
from keras_bahdanau.layers.readout import (
    READOUTS,
    AttentionalReadout,
    MaxoutReadout,
    PlainReadout,
    Readout,
)
from keras_bahdanau.layers.recurrence import scan
from keras_bahdanau.layers.scores import (
    SCORES,
    AdditiveScore,
    ConcatScore,
    CosineScore,
    DotScore,
    GeneralScore,
    LocationScore,
    PairScore,
    ScaledDotScore,
    Score,
)
from keras_bahdanau.layers.sublayers import FeedForward
from keras_bahdanau.layers.summaries import SUMMARIES
from keras_bahdanau.layers.windows import (
    WINDOWS,
    Everywhere,
    LocalMedian,
    LocalMonotonic,
    LocalPredictive,
    Window,
)
from keras_bahdanau.layers.word_dropout import WordDropout

__all__ = [
    "ATTENTIONS",
    "BRIDGES",
    "CELLS",
    "COVERAGES",
    "DECODER_CELLS",
    "NORMALIZERS",
    "READERS",
    "READOUTS",
    "SCORES",
    "SUMMARIES",
    "WINDOWS",
    "AdditiveScore",
    "Attended",
    "Attention",
    "AttentionBase",
    "AttentionalReadout",
    "AudioFrames",
    "BahdanauAttention",
    "BidirectionalRNN",
    "BlockCell",
    "BlockOrthogonal",
    "Cell",
    "CellStack",
    "ConcatScore",
    "ConditionalCell",
    "ConvolutionalReader",
    "Copying",
    "CosineScore",
    "Coverage",
    "CoverageBase",
    "DecoderCell",
    "DecoderState",
    "DotScore",
    "Drawn",
    "Emission",
    "Emitted",
    "Everywhere",
    "FixedContext",
    "ForcedAlignment",
    "FrameConvolutions",
    "FrameProjection",
    "FeedForward",
    "Frames",
    "GRUCell",
    "GeneralScore",
    "Hard",
    "HardAlignment",
    "IdentityBridge",
    "ImagePatches",
    "InputFeedingCell",
    "KerasCell",
    "KerasGrid",
    "LSTMCell",
    "LayerNormGRUCell",
    "LayerNormLSTMCell",
    "LocalMedian",
    "LocalMonotonic",
    "LocalPredictive",
    "GridCoverage",
    "LocationConvolution",
    "LocationScore",
    "LuongAttention",
    "MaxoutReadout",
    "Memory",
    "MinGRUCell",
    "MinLSTMCell",
    "Monotonic",
    "MonotonicChunkwise",
    "MultiHeadAttention",
    "NoCoverage",
    "Normalizer",
    "PairScore",
    "ParallelCell",
    "PastAttention",
    "Pixels",
    "PlainReadout",
    "PointerGenerator",
    "ProjectedCell",
    "ProjectedMemory",
    "PyramidalRNN",
    "Query",
    "Readout",
    "RecurrentCell",
    "ResetBeforeGRUCell",
    "RowRNN",
    "SRUCell",
    "SSRUCell",
    "Samples",
    "ScaledDotScore",
    "Score",
    "SelfAttentionCell",
    "SelfAttentionReader",
    "ShapeContext",
    "Sigmoid",
    "SimpleCell",
    "Softmax",
    "StateBridge",
    "Step",
    "TokenEmbedding",
    "UnfedCell",
    "UnidirectionalRNN",
    "Window",
    "WordDropout",
    "ZeroBridge",
    "log_mixture",
    "masked_softmax",
    "scan",
]
