"""Layers in `keras.ops`: attention, cells, one decoder step, the loop over time."""

from keras_bahdanau.layers.attention import BahdanauAttention, Memory, masked_softmax
from keras_bahdanau.layers.bridge import StateBridge
from keras_bahdanau.layers.cells import GRUCell, LSTMCell
from keras_bahdanau.layers.decoder_cell import DecoderCell, DecoderState
from keras_bahdanau.layers.fixed_context import FixedContext
from keras_bahdanau.layers.readout import Readout
from keras_bahdanau.layers.recurrence import scan
from keras_bahdanau.layers.scores import AdditiveScore

__all__ = [
    "AdditiveScore",
    "BahdanauAttention",
    "DecoderCell",
    "DecoderState",
    "FixedContext",
    "GRUCell",
    "LSTMCell",
    "Memory",
    "Readout",
    "StateBridge",
    "masked_softmax",
    "scan",
]
