"""Search over a step function, independent of model and vocabulary. Names load on first use."""

from keras_bahdanau.settings.lazy import lazy_names

_MODULE_OF = {
    "SearchOptions": "search_options",
    "SearchResult": "result",
    "SearchTree": "search_tree",
    "TreeRecorder": "search_tree",
    "beam_search": "beam",
    "greedy_search": "sequential",
    "require_deterministic": "search_options",
    "sample": "sequential",
    "search": "model_search",
    "search_model": "model_search",
}

__all__ = [*_MODULE_OF]

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
