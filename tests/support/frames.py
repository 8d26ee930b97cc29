"""A small untrained `Pipeline` from frames of three values to words."""

import keras
import numpy as np
from options import new_subwords

import keras_bahdanau as kb

SIZE = 3


def new_frames_pipeline():
    """Return a `Pipeline` that writes at most five tokens, different for each input."""
    keras.utils.set_random_seed(0)
    source, target = kb.sources.FeatureSource(SIZE), new_subwords()
    model = kb.Seq2Seq(
        kb.Encoder(front_end=source.front_end(4), readers=[kb.layers.BidirectionalRNN(4)]),
        kb.Decoder(target.vocabulary_size, 4, kb.layers.DecoderCell(8)),
    )
    search = kb.SearchOptions(beam_width=2, max_length=5)
    return kb.Pipeline(source, model, target, search)


def frames_of(*lengths):
    """Return random inputs of the given lengths: float32 arrays `(length, SIZE)`."""
    random = np.random.default_rng(0)
    return [random.normal(size=(length, SIZE)).astype(np.float32) for length in lengths]
