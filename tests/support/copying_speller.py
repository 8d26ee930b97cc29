"""A model of characters with random weights that writes many unknown ones, and its .tflite file."""

import keras
import numpy as np

import keras_bahdanau as kb
from keras_bahdanau.text import Subwords
from keras_bahdanau.text.vocabulary import UNKNOWN

TEXTS = ["abc dé", "Zürich", "ÄÖb cX", "<V> kÉ  c", "", " ", "☃", "a\tb"]
TEXTS += ["e" * 30, "ÅÄÖÉ" * 4, "Æ" * 400]  # too long for the file; one token; more than 512 bytes
LINES = [one for one in TEXTS if len(one) != 30]  # for programs, with more white space
LINES += ["aa\x85b☃c", "a\u3000É\u2003☃ b", "É▁☃", "a\x0bb\x1cÄ", "\0Ä\0", "Äa\u00a0", "☃" * 200]
LENGTHS = {"max_source_length": 20, "max_target_length": 10}


def translator():
    """Some of its tokens are unknown, at any place, and attend to any other."""
    keras.utils.set_random_seed(1)
    settings = {"model_type": "char", "normalization": "none", "exact": False, "symbols": ["<V>"]}
    subwords, _ = Subwords.train_pair([("abc dé", "abc dé f")], 24, **settings)
    sizes = {"units": 16, "attention_units": 8, "embedding_units": 8}
    options = {"hard_alignment": "none", "tie_embeddings": False}
    fast = {"encoder": "convolutional", "bridge": "zeros", "cell": "ssru"}  # to trace and convert
    model = kb.presets.characters(subwords, subwords, **sizes, **options, **fast)
    model.build()
    bias = model.decoder.output_layer.bias
    bias.assign(2.0 * (np.arange(bias.shape[0]) == UNKNOWN))
    for weight in model.trainable_variables:
        if "attention" in weight.path or "embedding" in weight.path:
            weight.assign(4 * weight)  # so that it looks somewhere
    search = kb.SearchOptions(beam_width=4, max_length=10, replace_unknown=True)
    return kb.Translator(subwords, model, subwords, search)


def export(path, signatures=("greedy", "nbest", "prefix"), model=None):
    """Write its file, with the signatures for greedy search, lists and prefixes.

    A `model` that `translator` gave keeps the graphs of its searches for what the test asks next.
    """
    model, settings = model or translator(), {"signatures": signatures, "allow_differences": True}
    kb.export_litert(model, path, **LENGTHS, **settings)
