"""Subclassed Keras models: encoder, decoder, both together, and several of these."""

from keras_bahdanau.models.decoder import Decoder
from keras_bahdanau.models.encoder import Encoder
from keras_bahdanau.models.ensemble import Ensemble
from keras_bahdanau.models.hard_decoder import HardDecoder
from keras_bahdanau.models.seq2seq import Seq2Seq
from keras_bahdanau.models.training_output import TrainingOutput
from keras_bahdanau.models.word_distillation import WordDistillation

__all__ = [
    "Decoder",
    "Encoder",
    "Ensemble",
    "HardDecoder",
    "Seq2Seq",
    "TrainingOutput",
    "WordDistillation",
]
