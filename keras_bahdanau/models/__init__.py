"""Subclassed Keras models: encoder, decoder, sequence-to-sequence model, ensemble and forecaster.

`attention_weights` reads the attention weights inside any Keras model.
"""

from keras_bahdanau.models.decoder import Decoder, DecoderOutput
from keras_bahdanau.models.encoder import Encoder
from keras_bahdanau.models.ensemble import Ensemble
from keras_bahdanau.models.forecast_heads import (
    ForecastHead,
    GaussianHead,
    PointHead,
    QuantileHead,
)
from keras_bahdanau.models.forecaster import Forecaster
from keras_bahdanau.models.hard_decoder import HardDecoder
from keras_bahdanau.models.inspection import attention_weights
from keras_bahdanau.models.losses import WordDistillation
from keras_bahdanau.models.seq2seq import Seq2Seq
from keras_bahdanau.models.step_model import Prepared, SourceLimits, StepModel
from keras_bahdanau.models.training_output import TrainingOutput

__all__ = [
    "Decoder",
    "DecoderOutput",
    "Encoder",
    "Ensemble",
    "ForecastHead",
    "Forecaster",
    "GaussianHead",
    "HardDecoder",
    "PointHead",
    "Prepared",
    "QuantileHead",
    "Seq2Seq",
    "SourceLimits",
    "StepModel",
    "TrainingOutput",
    "WordDistillation",
    "attention_weights",
]
