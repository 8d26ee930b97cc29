"""The built-in demo, and its generated English-French corpus with gold word alignments."""

from keras_bahdanau.demo.corpus import generate, split, write
from keras_bahdanau.demo.grammar import Example

__all__ = ["Example", "generate", "run", "split", "write"]


def run(*args, **kwargs):
    """Run the demo: see `keras_bahdanau.demo.tour.run`."""
    from keras_bahdanau.demo import tour  # loads TensorFlow

    return tour.run(*args, **kwargs)
