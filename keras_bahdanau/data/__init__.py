"""Sentence pairs from files to batches.

The names are loaded on first use, since only some of them need TensorFlow.
"""

import importlib

_MODULE_OF = {
    "BatchedPairs": "batching",
    "batches": "batching",
    "read_alignments": "reading",
    "read_lines": "reading",
    "read_pairs": "reading",
}

__all__ = [*_MODULE_OF]


def __getattr__(name):
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))
