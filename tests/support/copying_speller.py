"""A character model with random weights that writes many unknown tokens, and its .tflite file."""

import keras
import numpy as np

import keras_bahdanau as kb
from keras_bahdanau.text import Subwords
from keras_bahdanau.text.vocabulary import UNKNOWN

TEXTS = ["abc dé", "Zürich", "ÄÖb cX", "<V> kÉ  c", "", " ", "☃", "a\tb"]
TEXTS += ["e" * 30, "ÅÄÖÉ" * 4, "Æ" * 400]  # too long for the file; one token; more than 512 bytes
LINES = [one for one in TEXTS if len(one) != 30]  # for programs, with more kinds of white space
LINES += ["aa\x85b☃c", "a\u3000É\u2003☃ b", "É▁☃", "a\x0bb\x1cÄ", "\0Ä\0", "Äa\u00a0", "☃" * 200]
LENGTHS = {"max_source_length": 20, "max_target_length": 10}


def translator():
    """Return a `Translator` that writes unknown tokens anywhere, and attends to any position."""
    keras.utils.set_random_seed(1)
    settings = {"model_type": "char", "normalization": "none", "exact": False, "symbols": ["<V>"]}
    subwords, _ = Subwords.train_pair([("abc dé", "abc dé f")], 24, **settings)
    sizes = {"units": 16, "attention_units": 8, "embedding_units": 8}
    options = {"hard_alignment": "none", "tie_embeddings": False}
    fast = {"encoder": "convolutional", "bridge": "zeros", "cell": "ssru"}  # quick to convert
    model = kb.presets.characters(subwords, subwords, **sizes, **options, **fast)
    model.build()
    bias = model.decoder.output_layer.bias
    bias.assign(2.0 * (np.arange(bias.shape[0]) == UNKNOWN))
    for weight in model.trainable_variables:
        if "attention" in weight.path or "embedding" in weight.path:
            weight.assign(4 * weight)  # makes the attention weights far from uniform
    search = kb.SearchOptions(beam_width=4, max_length=10, replace_unknown=True)
    return kb.Translator(subwords, model, subwords, search)


def export(path, signatures=("greedy", "nbest", "prefix"), model=None):
    """Write the .tflite file, by default with signatures for greedy search, lists and prefixes.

    Pass the result of `translator()` as `model` to reuse its traced searches after the export.
    """
    model, settings = model or translator(), {"signatures": signatures, "allow_differences": True}
    kb.export_litert(model, path, **LENGTHS, **settings)
