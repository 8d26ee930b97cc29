"""Layers in `keras.ops`: attention, cells, one decoder step, the loop over time."""

from keras_bahdanau.layers.attention.attention import Attention, BahdanauAttention, LuongAttention
from keras_bahdanau.layers.attention.base import Attended, AttentionBase
from keras_bahdanau.layers.attention.by_name import ATTENTIONS
from keras_bahdanau.layers.attention.fixed import FixedContext, ForcedAlignment
from keras_bahdanau.layers.attention.multi_head import MultiHeadAttention
from keras_bahdanau.layers.attention.past import PastAttention
from keras_bahdanau.layers.bridge import BRIDGES, StateBridge, ZeroBridge
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
    RecurrentCell,
    ResetBeforeGRUCell,
    SimpleCell,
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
    ConditionalCell,
    DecoderCell,
    DecoderState,
    InputFeedingCell,
    Step,
)
from keras_bahdanau.layers.front_ends.frame_projection import FrameProjection, Frames
from keras_bahdanau.layers.front_ends.token_embedding import TokenEmbedding
from keras_bahdanau.layers.memory import Memory, ProjectedMemory
from keras_bahdanau.layers.normalizers import (
    NORMALIZERS,
    Drawn,
    Hard,
    Monotonic,
    Normalizer,
    Softmax,
    masked_softmax,
)
from keras_bahdanau.layers.query import Query
from keras_bahdanau.layers.readers import READERS
from keras_bahdanau.layers.readers.convolutional import ConvolutionalReader
from keras_bahdanau.layers.readers.recurrent import BidirectionalRNN, UnidirectionalRNN
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
from keras_bahdanau.layers.summaries import SUMMARIES
from keras_bahdanau.layers.windows import (
    WINDOWS,
    Everywhere,
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
    "BahdanauAttention",
    "BidirectionalRNN",
    "BlockOrthogonal",
    "Cell",
    "CellStack",
    "ConcatScore",
    "ConditionalCell",
    "ConvolutionalReader",
    "CosineScore",
    "Coverage",
    "CoverageBase",
    "DecoderCell",
    "DecoderState",
    "DotScore",
    "Drawn",
    "Everywhere",
    "FixedContext",
    "ForcedAlignment",
    "FrameProjection",
    "Frames",
    "GRUCell",
    "GeneralScore",
    "Hard",
    "InputFeedingCell",
    "KerasCell",
    "LSTMCell",
    "LayerNormGRUCell",
    "LayerNormLSTMCell",
    "LocalMonotonic",
    "LocalPredictive",
    "GridCoverage",
    "LocationConvolution",
    "LocationScore",
    "LuongAttention",
    "MaxoutReadout",
    "Memory",
    "Monotonic",
    "MultiHeadAttention",
    "NoCoverage",
    "Normalizer",
    "PairScore",
    "PastAttention",
    "PlainReadout",
    "ProjectedMemory",
    "Query",
    "Readout",
    "RecurrentCell",
    "ResetBeforeGRUCell",
    "ScaledDotScore",
    "Score",
    "SimpleCell",
    "Softmax",
    "StateBridge",
    "Step",
    "TokenEmbedding",
    "UnidirectionalRNN",
    "Window",
    "WordDropout",
    "ZeroBridge",
    "masked_softmax",
    "scan",
]
