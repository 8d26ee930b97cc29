"""The embedded demo: a generated English-French corpus with gold word alignments."""

from keras_bahdanau.demo.corpus import generate, split, write
from keras_bahdanau.demo.grammar import Example

__all__ = ["Example", "generate", "split", "write"]
