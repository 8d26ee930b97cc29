"""The embedded demo: a generated English-French corpus with gold word alignments."""

from keras_bahdanau.demo.corpus import generate, split, write
from keras_bahdanau.demo.grammar import Example

__all__ = ["Example", "generate", "run", "split", "write"]


def run(*args, **kwargs):
    """The whole demo: see `keras_bahdanau.demo.tour.run`."""
    from keras_bahdanau.demo import tour  # TensorFlow, which the corpus does not need

    return tour.run(*args, **kwargs)
