"""Search over a step function: it knows no model and no vocabulary.

The names are loaded on first use, since the options need not wait for Keras.
"""

import importlib

_MODULE_OF = {
    "SearchOptions": "search_options",
    "SearchResult": "result",
    "beam_search": "beam",
    "greedy_search": "greedy",
    "require_deterministic": "search_options",
    "sample": "sampling",
    "search": "dispatch",
}

__all__ = [
    "SearchOptions",
    "SearchResult",
    "beam_search",
    "greedy_search",
    "require_deterministic",
    "sample",
    "search",
]


def __getattr__(name):
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))
