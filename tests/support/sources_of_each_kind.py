"""Sources for text with each type of vocabulary, and for frames, images, sound and ink."""

import numpy as np
from toy_sources import CASES

from keras_bahdanau.sources import FeatureSource, ImageSource, TextSource
from keras_bahdanau.text import Subwords

SENTENCES = ["a man in a hat.", "one two three four", "the cat sat on the mat", "A ☃ B"]
TEXTS = ("bpe", "unigram", "char", "grapheme", "word")
KINDS = (*TEXTS, "frames", *(name for name in CASES if name not in ("text", "features")))


def new_source(kind):
    if kind == "frames":
        return FeatureSource(3)
    if kind == "images":
        return ImageSource(16, 48, channels=3)
    if kind not in TEXTS:
        return CASES[kind].source_of([])
    normalization = "none" if kind == "grapheme" else "nmt_nfkc"  # "none": every space is a token
    settings = {"model_type": kind, "normalization": normalization}
    return TextSource(Subwords.train(SENTENCES, 60, exact=False, **settings))


def padded(source, inputs):
    """Return the padded features of all inputs, as NumPy computes them."""
    rows = source.rows(inputs)
    return rows.padded(np.arange(len(inputs)), (len(inputs), int(rows.lengths.max(initial=1))))
