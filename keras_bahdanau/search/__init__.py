"""Search over a step function: it knows no model and no vocabulary."""

from keras_bahdanau.search.beam import beam_search
from keras_bahdanau.search.greedy import greedy_search
from keras_bahdanau.search.options import SearchOptions
from keras_bahdanau.search.result import SearchResult


def search(step, state, limits, options, **places):
    """Greedy search for a beam of 1, beam search for a wider one: same arguments, same result."""
    method = greedy_search if options.beam_width == 1 else beam_search
    return method(step, state, limits, options, **places)


__all__ = ["SearchOptions", "SearchResult", "beam_search", "greedy_search", "search"]
