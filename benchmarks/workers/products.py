"""Count the operations in a model's matrix products, from its weights and attention layers."""

import re

from keras_bahdanau.layers import SelfAttentionCell, SelfAttentionReader
from keras_bahdanau.layers.scores.additive import AdditiveScore
from keras_bahdanau.layers.scores.multiplicative import DotScore

# Keras numbers layers with the same name: encoder_1 is the second encoder of a process
OF_SOURCE = re.compile(r"/(encoder|key_projection|keys|values)(_\d+)?/")
ONCE = re.compile(r"/bridge(_\d+)?/")
NO_PRODUCT = ("bias", "v", "embeddings")  # v: a vector of the scores; embeddings are looked up


def operations(model, source_time, target_time, beam=None):
    """Return the multiplications and additions per target token, without elementwise operations.

    Args:
        model: Built `Seq2Seq` for text.
        source_time, target_time: Integers, the number of real tokens in a sentence.
        beam: Integer, the beam width of a search. None for a training step, in which each product
            comes with two more of the same size, one for each gradient.
    """
    source, target = products(model, source_time, target_time)
    sentence = 3 * (source + target) if beam is None else source + beam * target
    return 2 * sentence / target_time


def products(model, source_time, target_time):
    """Return the multiplications per sentence as (source, all steps of one hypothesis)."""
    source, target = 0, 0
    for weight in model.trainable_variables:
        if len(weight.shape) != 2 or weight.name in NO_PRODUCT:
            continue
        size = weight.shape[0] * weight.shape[1]
        if ONCE.search(weight.path):
            source += size
        elif OF_SOURCE.search(weight.path):
            source += size * source_time
        else:
            target += size * target_time
    if model.decoder.output_layer is None:  # the embedding is the output layer
        vocabulary, units = model.decoder.embedding.embeddings.shape
        target += vocabulary * units * target_time
    for layer in model._flatten_layers():
        if isinstance(layer, SelfAttentionReader):
            source += layer.depth * 2 * layer.units * source_time**2
        elif isinstance(layer, SelfAttentionCell):  # each step sees itself and earlier steps
            target += 2 * layer.units * target_time * (target_time + 1) // 2
        else:
            target += _compared(layer) * source_time * target_time
    return source, target


def _compared(layer):
    """Return the multiplications for one score and its term in the context."""
    if isinstance(layer, AdditiveScore):
        values_units, units = layer.key_projection.kernel.shape
        return units + values_units
    return 2 * layer.key_units if isinstance(layer, DotScore) else 0
