"""Greedy search: the most probable next token, until the end token."""

from keras import ops

from keras_bahdanau.search.result import SearchResult, normalized
from keras_bahdanau.search.sequential import sequential_search
from keras_bahdanau.search.top_k import best_tokens


def greedy_search(step, state, limits, options, *, start, end, time, source_time):
    """Take the most probable token at each step.

    Args:
        step: Function `(tokens, state) -> (log_probs, weights, state)` with
            tokens `(batch,)`, log_probs `(batch, vocabulary)` and weights
            `(batch, source_time)`.
        state: Its first state: a structure of tensors `(batch, ...)`.
        limits: Int32 tensor `(batch,)`: the most tokens of each row; 0 where
            there is nothing to translate.
        options: `SearchOptions`; greedy search reads the length penalty.
        start: Integer, the token that every target begins after.
        end: Integer, the token that ends a hypothesis.
        time: Integer or int32 scalar, length of the buffers: `max(limits)` or more.
        source_time: Integer or int32 scalar, last axis of the weights.

    Returns:
        `SearchResult` with a beam axis of 1.
    """
    places = {"start": start, "end": end, "time": time, "source_time": source_time}
    result = sequential_search(step, _most_probable, state, limits, **places)
    scores = normalized(result.log_probs, result.lengths, options)
    # (time, batch, 2) -> (batch, 1, time, 2)
    of_tokens = ops.expand_dims(ops.transpose(result.of_tokens, (1, 0, 2)), axis=1)
    return SearchResult(
        ids=ops.expand_dims(ops.transpose(result.ids), axis=1),  # (time, batch) -> (batch, 1, time)
        lengths=ops.expand_dims(result.lengths, axis=1),
        scores=ops.expand_dims(scores, axis=1),
        # (time, batch, source_time) -> (batch, 1, time, source_time)
        alignment=ops.expand_dims(ops.transpose(result.alignment, (1, 0, 2)), axis=1),
        finished=ops.expand_dims(result.finished, axis=1),
        token_log_probs=of_tokens[..., 0],
        token_entropies=of_tokens[..., 1],
    )


def _most_probable(distribution, t, rows):
    best, tokens = best_tokens(distribution, 1)  # `ops.argmax` compares bits, which LiteRT can't
    return ops.squeeze(tokens, axis=-1), ops.squeeze(best, axis=-1)  # (batch, 1) -> (batch,), each
