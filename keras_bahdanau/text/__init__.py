"""Strings to token ids and back: vocabularies, subwords, word alignments.

The names are loaded on first use, since only some of them need TensorFlow.
"""

import importlib

_MODULE_OF = {
    "Tokenizer": "tokenizer",
}

__all__ = ["Tokenizer"]


def __getattr__(name):
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))
