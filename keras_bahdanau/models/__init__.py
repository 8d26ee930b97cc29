"""Subclassed Keras models: encoder, decoder, and both together."""

from keras_bahdanau.models.decoder import Decoder
from keras_bahdanau.models.encoder import Encoder
from keras_bahdanau.models.seq2seq import Seq2Seq

__all__ = ["Decoder", "Encoder", "Seq2Seq"]
