"""Normalizers: from scores to weights."""

from functools import partial

from keras_bahdanau.layers.normalizers.hard import Hard
from keras_bahdanau.layers.normalizers.monotonic import Monotonic, MonotonicChunkwise
from keras_bahdanau.layers.normalizers.normalizer import Drawn, Normalizer
from keras_bahdanau.layers.normalizers.softmax import Sigmoid, Softmax, masked_softmax
from keras_bahdanau.layers.registry import Registry

__all__ = [
    "NORMALIZERS",
    "Drawn",
    "Hard",
    "Monotonic",
    "MonotonicChunkwise",
    "Normalizer",
    "Sigmoid",
    "Softmax",
    "masked_softmax",
]

NORMALIZERS = Registry(
    "normalizer",
    {
        "softmax": Softmax,
        "softmax-sharp": partial(Softmax, beta=2.0),
        "sigmoid": Sigmoid,
        "monotonic": Monotonic,
        "monotonic-hard": partial(Monotonic, hard=True),
        "mocha": MonotonicChunkwise,
        "mocha-hard": partial(MonotonicChunkwise, hard=True),
        "hard": Hard,
    },
)
